// SPDX-License-Identifier: MIT
// Datagrams and messages of UC between two machines over a link that loses packets: each message
// arrives whole or not at all, and a receiver can count the missing ones.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>
#include <support/numbered_bytes.hpp>

#include "cm/bad_link.hpp"
#include "cm/support.hpp"

using namespace adverb;
using namespace cm_test;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t packet = 4096;

/// The size of a message, which fits into so many packets.
[[nodiscard]] std::size_t size_of(std::uint32_t number, std::size_t packets) {
  constexpr std::array<std::size_t, 5> sizes{0, 1, 1000, packet - 1, packet};
  if (packets == 1 || number % 3 == 0) return sizes[number % sizes.size()];
  return packet * (1 + number % packets) - number % 100;
}

/// Memory for messages that are sent or received at a time, in slots of one size.
struct slots {
  slots(protection_domain_ref domain, std::size_t count, std::size_t slot_size)
      : size{slot_size},
        bytes(count * slot_size),
        region{domain, bytes, access_right::local_write | access_right::remote_write} {}

  [[nodiscard]] std::span<std::byte> at(std::size_t number) {
    return std::span{bytes}.subspan(number * size, size);
  }
  [[nodiscard]] mutable_buffer buffer(std::size_t number, std::size_t length) const {
    return region.slice(number * size, length);
  }

  std::size_t size;
  std::vector<std::byte> bytes;
  memory_region region;
};

/// The messages that have arrived.
struct arrivals {
  explicit arrivals(std::uint32_t messages) : times(messages) {}

  /// Counts a message, whose bytes must be whole.
  void count(std::uint32_t number, std::span<const std::byte> bytes, std::size_t packets) {
    expect(number < times.size(), "the number of a message");
    expect(bytes.size() == size_of(number, packets) && channel_test::is_filled(bytes, number),
           "a message that arrives is whole");
    ++(++times[number] == 1 ? distinct : repeated);
    in_order = in_order && number >= last;
    last = number;
  }
  [[nodiscard]] std::size_t missing() const { return times.size() - distinct; }

  std::vector<int> times;
  std::size_t distinct = 0;
  std::size_t repeated = 0;
  std::uint32_t last = 0;
  bool in_order = true;
};

/// Calls `take` with each completion until none has come for a while.
template <class Take>
void take_the_rest(completion_queue_ref queue, const Take& take) {
  std::array<completion, 16> found;
  auto quiet = std::chrono::steady_clock::now() + 300ms;
  while (std::chrono::steady_clock::now() < quiet) {
    const std::span<completion> some = queue.poll(found);
    for (const completion& each : some) {
      each.check();
      take(each);
    }
    if (!some.empty())
      quiet = std::chrono::steady_clock::now() + 300ms;
    else
      std::this_thread::yield();
  }
}

/// Sends numbered messages, a few at a time: `post` posts one with its bytes and its number as id.
template <class Packets, class Post>
void send_numbered(std::uint32_t messages, const Packets& packets_of, slots& memory,
                   completion_queue_ref queue, const Post& post) {
  constexpr std::uint32_t at_a_time = 8;
  for (std::uint32_t number = 0; number < messages + at_a_time; ++number) {
    if (number >= at_a_time) CHECK(next_success(queue).id() == number - at_a_time);
    if (number >= messages) continue;
    const std::size_t slot = number % at_a_time;
    const std::size_t length = size_of(number, packets_of(number));
    channel_test::fill(memory.at(slot).first(length), number);
    post(number, memory.buffer(slot, length));
  }
}

/// Prints what has arrived, and checks that some of it did.
void judge(std::string_view condition, const arrivals& all) {
  std::cout << "| " << condition << " | " << all.times.size() << " | " << all.distinct << " | "
            << all.missing() << " | " << all.repeated << " |" << std::endl;
  expect(all.distinct != 0 && all.missing() != 0, "some messages arrive, and some are lost");
}

void check_datagrams(const std::string& how, bool repeats) {
  constexpr std::uint32_t messages = 300;
  two_sides<transport::ud>(
      [&](const cm::listener<transport::ud>& listener) {
        auto request = listener.next_request(10s);
        auto ready = request.create_queue_pair({.max_recv_wr = 2 * messages});
        const std::size_t slot = grh_size + packet;
        slots memory{ready.protection_domain(), 2 * messages, slot};
        for (std::size_t each = 0; each < 2 * messages; ++each)
          ready.queue_pair().post(receive(memory.buffer(each, slot)).id(each)).check();
        const auto here = ready.accept_datagrams();
        meet("sent");
        arrivals all{messages};
        take_the_rest(here.recv_cq(), [&](const completion& done) {
          const received_message message = done.success().receive();
          const auto bytes =
              datagram_payload(memory.at(static_cast<std::size_t>(done.id())), message);
          all.count(static_cast<std::uint32_t>(message.immediate().value()), bytes, 1);
        });
        judge("UD, " + how, all);
        expect((all.repeated != 0) == repeats, "a datagram arrives as often as its packet");
      },
      [&](const cm::socket_address& address) {
        const auto here = cm::datagram_endpoint::create(device_address(), {.max_send_wr = 16});
        const cm::datagram_peer peer = here.resolve_peer(address);
        slots memory{here.protection_domain(), 8, packet};
        {
          const bad_link prepared{"loss 0%"};
          const worse_link lossy{how};
          send_numbered(
              messages, [](std::uint32_t) { return std::size_t{1}; }, memory, here.send_cq(),
              [&](std::uint32_t number, const mutable_buffer& bytes) {
                here.queue_pair()
                    .post(send_with_immediate(immediate{number}, bytes)
                              .signaled()
                              .id(number)
                              .to(peer))
                    .check();
              });
          std::this_thread::sleep_for(50ms);
        }
        meet("sent");
      });
}

/// Sends messages of UC and writes with immediate in turn.
void check_messages_of_uc(const std::string& how, bool repeats) {
  constexpr std::uint32_t messages = 160;
  constexpr std::size_t packets = 5;
  const context device = open_device();
  // The packets of a write.
  const std::size_t of_write =
      holds(device_facts::lost_end_of_write_stops_uc, device) ? 1 : packets;
  const auto packets_of = [=](std::uint32_t number) {
    return number % 2 == 1 ? of_write : packets;
  };
  constexpr std::size_t slot = packet * (packets + 1);
  two_sides_of(
      [](const cm::socket_address& address) {
        return cm::listener<transport::uc>::create(device_address(address.port()));
      },
      [&](const cm::listener<transport::uc>& listener) {
        auto request = listener.next_request(10s);
        auto ready = request.create_queue_pair({.max_recv_wr = messages});
        // A message that is lost leaves its receive to the next one. Writes have places of their
        // own.
        slots memory{ready.protection_domain(), 2 * messages, slot};
        for (std::size_t each = 0; each < messages; ++each)
          ready.queue_pair().post(receive(memory.buffer(each, slot)).id(each)).check();
        auto connection =
            ready.accept({.private_data = cm::private_data::of(
                              memory.region.remote<std::byte, access_right::remote_write>())});
        meet("sent");
        arrivals all{messages};
        take_the_rest(connection.recv_cq(), [&](const completion& done) {
          const received_message message = done.success().receive();
          const auto number = static_cast<std::uint32_t>(message.immediate().value());
          expect(message.announces_write() == (number % 2 == 1), "the operation of a message");
          const std::size_t at =
              number % 2 == 1 ? messages + number : static_cast<std::size_t>(done.id());
          all.count(number, memory.at(at).first(message.length()), packets_of(number));
        });
        judge("UC, " + how, all);
        expect(repeats || (all.in_order && all.repeated == 0),
               "messages arrive in order, and once");
        expect(all.distinct > messages / 4, "messages arrive after losses");
        meet("judged");
        connection.wait_disconnected(30s);
      },
      [&](const cm::socket_address& address) {
        auto far = cm::connector<transport::uc>::resolve(address);
        auto ready = far.create_queue_pair({.max_send_wr = 16});
        slots memory{ready.protection_domain(), 8, slot};
        auto connection = ready.connect();
        using places = remote_buffer<std::byte, access_right::remote_write>;
        const auto there = connection.private_data().as<places>().value();
        {
          const bad_link prepared{"loss 0%"};
          const worse_link lossy{how};
          send_numbered(
              messages, packets_of, memory, connection.send_cq(),
              [&](std::uint32_t number, const mutable_buffer& bytes) {
                const auto pair = connection.queue_pair();
                const immediate data{number};
                if (number % 2 == 1)
                  pair.post(write_with_immediate(there.slice((messages + number) * slot, slot),
                                                 data, bytes)
                                .signaled()
                                .id(number))
                      .check();
                else
                  pair.post(send_with_immediate(data, bytes).signaled().id(number)).check();
              });
          std::this_thread::sleep_for(50ms);
        }
        meet("sent");
        meet("judged");
        connection.disconnect();
      });
}

}  // namespace

TEST_CASE("Datagrams that arrive over a link which loses packets are whole",
          "[ibv_post_send][ibv_post_recv][optional]") {
  if (!on_two_hosts()) return tell_skip("a bad link", "there is one machine");
  need_datagrams();
  check_datagrams("loss 20%", false);
}

TEST_CASE(
    "Datagrams over a link which repeats and reorders packets arrive as often as their packets",
    "[ibv_post_send][ibv_post_recv][optional]") {
  if (!on_two_hosts()) return tell_skip("a bad link", "there is one machine");
  need_datagrams();
  check_datagrams("delay 2ms 1ms loss 10% duplicate 10% reorder 25% 50%", true);
}

TEST_CASE("Messages of UC over a link which loses packets arrive whole and in order, or not at all",
          "[ibv_post_send][ibv_post_recv][optional]") {
  if (!on_two_hosts()) return tell_skip("a bad link", "there is one machine");
  need_datagrams();
  check_messages_of_uc("loss 5%", false);
}

TEST_CASE(
    "Messages of UC over a link which repeats and reorders packets arrive whole, or not at all",
    "[ibv_post_send][ibv_post_recv][optional]") {
  if (!on_two_hosts()) return tell_skip("a bad link", "there is one machine");
  need_datagrams();
  // A repeated packet may be a whole message, which then arrives twice.
  check_messages_of_uc("delay 2ms loss 1% duplicate 5% reorder 2% 50%", true);
}
