// SPDX-License-Identifier: MIT
// Many messages, several of them on their way, in both directions at once.
#include <algorithm>
#include <cstring>

#include "support.hpp"

using namespace adverb;

namespace {

/// One direction of a stream of messages whose first eight bytes count them.
template <transport Transport>
class stream {
 public:
  static constexpr std::uint64_t depth = 16;
  static constexpr std::uint64_t signal_every = 4;

  stream(const queue_pair<Transport>& from, const queue_pair<Transport>& to,
         const loopback_end& receiving)
      : from_{&from}, to_{&to}, receiving_{&receiving} {
    for (std::uint64_t slot = 0; slot < depth; ++slot) post_receive(slot);
  }

  /// Keeps as many messages on their way as there are receives.
  void send_some(std::uint64_t count) {
    while (sent_ < count && sent_ < received_ + depth && sent_ < done_ + depth) {
      const std::array<std::uint64_t, 1> number{sent_};
      const auto request = send(inline_data{std::span{number}}).id(sent_);
      ++sent_;
      from_->post(sent_ % signal_every == 0 ? request.signaled() : request).check();
    }
  }
  void take(const completion& found) {
    found.check();
    if (const auto message = found.success().receive()) {
      CHECK(found.id() == received_ % depth);
      CHECK(message.length() == sizeof(std::uint64_t));
      std::uint64_t number = 0;
      std::memcpy(&number, receiving_->bytes.data() + found.id() * sizeof number, sizeof number);
      CHECK(number == received_);
      ++received_;
      post_receive(found.id());
    } else {
      done_ += signal_every;
      CHECK(found.id() == done_ - 1);
    }
  }
  [[nodiscard]] std::uint64_t received() const { return received_; }
  [[nodiscard]] std::uint64_t done() const { return done_; }

 private:
  void post_receive(std::uint64_t slot) const {
    to_->post(receive(receiving_->region.slice(slot * 8, 8)).id(slot)).check();
  }

  const queue_pair<Transport>* from_;
  const queue_pair<Transport>* to_;
  const loopback_end* receiving_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t done_ = 0;
};

/// Streams so many messages each way at once. Every number arrives, once and in order.
template <transport Transport>
void check_both_ways(std::uint64_t count) {
  const loopback<Transport> link;
  stream<Transport> there{link.near_pair, link.far_pair, link.far_end};
  stream<Transport> back{link.far_pair, link.near_pair, link.near_end};
  auto last = std::chrono::steady_clock::now();
  while (there.received() < count || back.received() < count || there.done() < count ||
         back.done() < count) {
    there.send_some(count);
    back.send_some(count);
    // A completion queue has the receives of one stream and the sends of the other, and the order
    // between two queues is not defined: a wait for one alone may never end.
    const auto take = [](const loopback_end& end, stream<Transport>& sends,
                         stream<Transport>& receives) {
      std::array<completion, 1> found;
      if (end.queue.poll(found).empty()) return false;
      found[0].check();
      (found[0].success().receive() ? receives : sends).take(found[0]);
      return true;
    };
    const bool near_had_one = take(link.near_end, there, back);
    const bool far_had_one = take(link.far_end, back, there);
    const auto now = std::chrono::steady_clock::now();
    if (near_had_one || far_had_one) last = now;
    if (now - last > std::chrono::seconds{10}) FAIL("no completion within ten seconds");
  }
  CHECK(there.received() == count);
  CHECK(back.received() == count);
}

}  // namespace

TEST_CASE("A thousand RC messages arrive each way if every fourth is signaled",
          "[ibv_post_send][ibv_post_recv][ibv_poll_cq]") {
  check_both_ways<transport::rc>(1000);
}

TEST_CASE("A thousand UC messages arrive each way if every fourth is signaled",
          "[ibv_post_send][ibv_post_recv][ibv_poll_cq]") {
  check_both_ways<transport::uc>(1000);
}

TEST_CASE("A thousand UD messages arrive if several are posted at a time") {
  const loopback<transport::ud> link;
  const address_handle way{link.domain, link.to_far};
  const datagram_destination there{way, link.far_endpoint.number, link.far_endpoint.queue_key};
  constexpr std::uint32_t at_once = 10;
  for (std::uint32_t first = 0; first < 1000; first += at_once) {
    for (std::uint32_t slot = 0; slot < at_once; ++slot)
      link.far_pair.post(receive(link.far_end.region.slice(slot * 64, 64)).id(slot)).check();
    for (std::uint32_t slot = 0; slot < at_once; ++slot) {
      const auto request =
          send_with_immediate(immediate{first + slot}, link.near_end.region.slice(0, slot))
              .to(there);
      link.near_pair.post(slot + 1 == at_once ? request.signaled() : request).check();
    }
    next_success(link.near_end.queue);
    for (std::uint32_t slot = 0; slot < at_once; ++slot) {
      const completion found = next_success(link.far_end.queue);
      CHECK(found.id() == slot);
      CHECK(found.success().receive().immediate() == immediate{first + slot});
      CHECK(found.success().receive().length() == slot + 40);
    }
  }
}

TEST_CASE("Sixteen concurrent reads and writes complete in the order of posting") {
  loopback<transport::rc> link;
  const auto remote = link.far_end.remote();
  link.far_end.fill(0, 16000, 4);
  for (std::uint64_t id = 0; id < 16; id += 2) {
    link.near_pair
        .post(read(remote.slice(id * 1000, 1000), link.near_end.region.slice(id * 1000, 1000))
                  .id(id)
                  .signaled(),
              write(remote.slice(16000 + id * 500, 1000), link.near_end.region.slice(20000, 1000))
                  .id(id + 1)
                  .signaled())
        .check();
  }
  for (std::uint64_t id = 0; id < 16; ++id) CHECK(next_success(link.near_end.queue).id() == id);
  for (std::uint64_t id = 0; id < 16; id += 2)
    CHECK(link.near_end.holds(id * 1000, 1000, static_cast<unsigned>(4 + id * 7000)));
}
