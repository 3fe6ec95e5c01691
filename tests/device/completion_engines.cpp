// SPDX-License-Identifier: MIT
// Traffic, events and failures over classic and over extended completion queues, on the real
// device: one body for both engines.
#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

#include "either_engine.hpp"

using namespace adverb;

namespace {

using extended = extended_completion_queue<>;

template <class Queue>
struct datagram_link : queue_link<transport::ud, Queue> {
  address_handle way{this->domain, this->to_far};
  datagram_destination far_side{.address = way,
                                .queue_pair = this->far_endpoint.number,
                                .queue_key = this->far_endpoint.queue_key};
};

}  // namespace

TEMPLATE_TEST_CASE("RC: a message completes on both sides",
                   "[ibv_create_cq_ex][ibv_start_poll][ibv_end_poll][ibv_wc_read_opcode]"
                   "[ibv_wc_read_byte_len][ibv_wc_read_qp_num][ibv_wc_read_wc_flags]"
                   "[ibv_cq_ex_to_cq][ibv_poll_cq]",
                   completion_queue, extended) {
  queue_link<transport::rc, TestType> link;
  link.near_end.bytes[0] = std::byte{42};
  int job = 0;
  link.far_pair.post(receive(link.far_end.region.slice(0, 2000)).id(&job)).check();
  link.near_pair.post(send(link.near_end.region.slice(0, 1000)).signaled().id(42)).check();
  take(link.near_end.queue, [&](const auto& sent) {
    sent.check();
    CHECK(sent.id() == 42);
    CHECK(sent.status() == completion_status::success);
    CHECK(sent.queue_pair() == link.near_pair.number());
    CHECK(sent.success().opcode() == completion_opcode::send);
    CHECK(!sent.success().receive());
  });
  take(link.far_end.queue, [&](const auto& received) {
    CHECK(received.template pointer<int>() == &job);
    CHECK(received.queue_pair() == link.far_pair.number());
    const auto success = received.success();
    REQUIRE(success);
    CHECK(success.opcode() == completion_opcode::receive);
    const auto message = success.receive();
    REQUIRE(message);
    CHECK(message.length() == 1000);
    CHECK(!message.immediate());
    CHECK(!message.invalidated_key());
    CHECK(!message.announces_write());
  });
  CHECK(link.far_end.bytes[0] == std::byte{42});
}

TEMPLATE_TEST_CASE("RC: immediate data arrives with messages and writes",
                   "[ibv_wc_read_imm_data][ibv_wc_read_wc_flags][ibv_wc_read_opcode]",
                   completion_queue, extended) {
  queue_link<transport::rc, TestType> link;
  link.far_pair.post(receive(link.far_end.region.slice(0, 64)), receive()).check();
  const auto target = link.far_end.region.template remote<std::byte, access_right::remote_write>();
  link.near_pair
      .post(send_with_immediate(immediate{0x11223344}, link.near_end.region.slice(0, 8)),
            write_with_immediate(target.slice(100, 16), immediate{0xfffffffe},
                                 link.near_end.region.slice(0, 16)))
      .check();
  take(link.far_end.queue, [](const auto& received) {
    const auto message = received.success().receive();
    REQUIRE(message);
    CHECK(message.immediate() == immediate{0x11223344});
    CHECK(message.length() == 8);
    CHECK(!message.announces_write());
  });
  take(link.far_end.queue, [](const auto& received) {
    const auto message = received.success().receive();
    REQUIRE(message);
    CHECK(message.immediate() == immediate{0xfffffffe});
    CHECK(message.length() == 16);
    CHECK(message.announces_write());
    CHECK(received.success().opcode() == completion_opcode::receive_write_with_immediate);
  });
}

TEMPLATE_TEST_CASE("RC: the completion reports the opcode of a one-sided operation",
                   "[ibv_wc_read_opcode]", completion_queue, extended) {
  queue_link<transport::rc, TestType> link;
  constexpr access_rights rights =
      access_right::remote_write | access_right::remote_read | access_right::remote_atomic;
  const auto target = link.far_end.region.template remote<std::byte, rights>();
  const auto word = link.far_end.region.template remote<std::uint64_t, rights>().at(0);
  const auto result = link.near_end.region.slice(0, 8);
  const auto posted_as = [&](const auto& request, completion_opcode opcode) {
    link.near_pair.post(request.signaled().id(static_cast<std::uint64_t>(opcode))).check();
    take(link.near_end.queue, [&](const auto& done) {
      done.check();
      CHECK(done.id() == static_cast<std::uint64_t>(opcode));
      CHECK(done.success().opcode() == opcode);
      CHECK(!done.success().receive());
    });
  };
  posted_as(write(target.slice(0, 64), link.near_end.region.slice(0, 64)),
            completion_opcode::write);
  posted_as(read(target.slice(0, 64), link.near_end.region.slice(0, 64)), completion_opcode::read);
  posted_as(compare_and_swap(word, {.expected = 0, .desired = 7}, result),
            completion_opcode::compare_and_swap);
  posted_as(fetch_and_add(word, 1, result), completion_opcode::fetch_and_add);
}

TEMPLATE_TEST_CASE("UD: the completion of a datagram names its sender",
                   "[ibv_wc_read_src_qp][ibv_wc_read_wc_flags][ibv_wc_read_byte_len]",
                   completion_queue, extended) {
  datagram_link<TestType> link;
  link.far_pair.post(receive(link.far_end.region.slice(0, 600)).id(4)).check();
  link.near_pair
      .post(send_with_immediate(immediate{0x01020304}, link.near_end.region.slice(0, 500))
                .signaled()
                .id(5)
                .to(link.far_side))
      .check();
  take(link.near_end.queue, [](const auto& sent) { CHECK(sent.id() == 5); });
  take(link.far_end.queue, [&](const auto& received) {
    CHECK(received.id() == 4);
    const auto message = received.success().receive();
    REQUIRE(message);
    CHECK(message.length() == 500 + 40);
    CHECK(message.source_queue_pair() == link.near_pair.number());
    CHECK(message.has_grh());
    CHECK(message.immediate() == immediate{0x01020304});
  });
}

TEMPLATE_TEST_CASE("UD: on Ethernet, paths have no LIDs",
                   "[ibv_wc_read_slid][ibv_wc_read_sl][ibv_wc_read_dlid_path_bits]",
                   completion_queue, extended) {
  datagram_link<TestType> link;
  REQUIRE(link.context.query_port(first_port).link_layer() == link_layer::ethernet);
  link.far_pair.post(receive(link.far_end.region.slice(0, 64))).check();
  link.near_pair.post(send().to(link.far_side)).check();
  take(link.far_end.queue, [&](const auto& received) {
    const auto message = received.success().receive();
    REQUIRE(message);
    CHECK(message.source_lid() == lid{0});
    CHECK(message.service_level() == service_level{0});
    CHECK(message.path_bits() == 0);
    CHECK(!message.ip_checksum_ok());
  });
}

TEMPLATE_TEST_CASE("A queue pair in ERR flushes its receives with their status",
                   "[ibv_wc_read_vendor_err][ibv_wc_read_qp_num]", completion_queue, extended) {
  queue_link<transport::rc, TestType> link;
  link.near_pair.post(receive().id(1), receive().id(2)).check();
  const auto failed = link.near_pair.error();
  link.near_pair = {};
  for (const std::uint64_t id : {1U, 2U})
    take(link.near_end.queue, [&](const auto& flushed) {
      CHECK(flushed.id() == id);
      CHECK(flushed.status() == completion_status::flushed);
      CHECK(!flushed.success());
      CHECK(flushed.queue_pair() == failed.number());
      failure why;
      flushed.check(why);
      CHECK(why.code() == completion_status::flushed);
      CHECK(why.verb() == "work request");
    });
}

TEMPLATE_TEST_CASE("RC: wait returns available completions and those that arrive",
                   "[ibv_req_notify_cq][ibv_get_cq_event][ibv_ack_cq_events]", completion_queue,
                   extended) {
  queue_link<transport::rc, TestType> link;
  link.far_pair.post(receive().id(1), receive().id(2)).check();
  link.near_pair.post(send().signaled()).check();
  take_success(link.near_end.queue);
  wait_for(link.far_end.queue, [](const auto& received) { CHECK(received.id() == 1); });
  std::thread sender{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    link.near_pair.post(send()).check();
  }};
  wait_for(link.far_end.queue, [](const auto& received) { CHECK(received.id() == 2); });
  sender.join();
}

TEMPLATE_TEST_CASE("UD: a datagram raises an event that names its queue",
                   "[ibv_req_notify_cq][ibv_get_cq_event][ibv_ack_cq_events]", completion_queue,
                   extended) {
  datagram_link<TestType> link;
  link.far_pair.post(receive(link.far_end.region.slice(0, 64)).id(1)).check();
  link.far_pair.post(receive(link.far_end.region.slice(64, 64)).id(2)).check();
  std::vector<std::uint64_t> ids;
  const auto note = [&](const auto& received) { ids.push_back(received.id()); };
  link.far_end.queue.arm_and_poll(up_to<1>, note);
  CHECK(ids.empty());
  for (std::uint64_t id = 1; id <= 2; ++id) {
    link.near_pair.post(send().to(link.far_side)).check();
    const auto named = link.far_channel.next_event();
    REQUIRE(named);
    CHECK(named->native_handle() == completion_queue_ref{link.far_end.queue}.native_handle());
    link.far_end.queue.arm_and_poll(up_to<1>, note);
    CHECK(ids.back() == id);
  }
}

TEMPLATE_TEST_CASE("wait ends at its timeout and leaves the queue armed", "[ibv_req_notify_cq]",
                   completion_queue, extended) {
  queue_link<transport::rc, TestType> link;
  const auto wait = [&](auto timeout) {
    return link.far_end.queue.wait(up_to<1>, [](const auto& each) { each.check(); }, timeout);
  };
  const auto start = std::chrono::steady_clock::now();
  CHECK(wait(std::chrono::milliseconds{30}) == 0);
  CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds{30});
  link.far_pair.post(receive()).check();
  link.near_pair.post(send().signaled()).check();
  take_success(link.near_end.queue);
  CHECK(link.far_channel.next_event());
  CHECK(wait(std::chrono::seconds{0}) == 1);
}

TEMPLATE_TEST_CASE("RC: a loop polls completions until another thread stops it", "",
                   completion_queue, extended) {
  queue_link<transport::rc, TestType> link;
  constexpr std::uint64_t messages = 200;
  for (std::uint64_t id = 1; id <= 16; ++id) link.far_pair.post(receive().id(id)).check();
  std::atomic<bool> stopped = false;
  const auto serve = [&](const auto& loop) {
    std::uint64_t served = 0;
    const std::size_t count = loop([&](const auto& received) {
      received.check();
      CHECK(received.id() == served % 16 + 1);
      link.far_pair.post(receive().id(received.id())).check();
      if (++served == messages) stopped = true;
    });
    CHECK(served == messages);
    CHECK(count == messages);
  };
  // Catch2 asserts in one thread at a time.
  std::atomic<std::uint64_t> sent = 0;
  const auto send_all = [&] {
    for (std::uint64_t message = 0; message < messages; ++message) {
      link.near_pair.post(send().signaled()).check();
      sent += link.near_end.queue.busy_poll(
          up_to<1>, [](const auto& done) { done.check(); }, long_enough);
    }
  };
  const auto stop = [&] { return stopped.load(); };
  SECTION("spinning") {
    std::thread sender{send_all};
    serve([&](const auto& note) { return link.far_end.queue.poll_until(up_to<1>, note, stop); });
    sender.join();
    CHECK(sent == messages);
  }
  SECTION("asleep") {
    std::thread sender{send_all};
    serve([&](const auto& note) {
      return link.far_end.queue.wait_until(up_to<1>, note, stop, long_enough);
    });
    sender.join();
    CHECK(sent == messages);
  }
}

TEMPLATE_TEST_CASE("RC: a stopped loop leaves unpolled completions in the queue", "",
                   completion_queue, extended) {
  queue_link<transport::rc, TestType> link;
  for (std::uint64_t id = 1; id <= 3; ++id) {
    link.far_pair.post(receive().id(id)).check();
    link.near_pair.post(send().signaled()).check();
    take_success(link.near_end.queue);
  }
  std::uint64_t last = 0;
  const auto note = [&](const auto& received) { last = received.id(); };
  CHECK(link.far_end.queue.poll_until(up_to<1>, note, [&] { return last == 2; }) == 2);
  CHECK(link.far_end.queue.wait_until(up_to<1>, note, [&] { return last == 2; }, long_enough) == 0);
  take(link.far_end.queue, [](const auto& received) { CHECK(received.id() == 3); });
}

TEMPLATE_TEST_CASE("A sleeping loop without completions stops after its interval", "",
                   completion_queue, extended) {
  queue_link<transport::rc, TestType> link;
  int asked = 0;
  CHECK(link.far_end.queue.wait_until(
            up_to<1>, [](const auto& each) { each.check(); }, [&] { return ++asked == 3; },
            std::chrono::milliseconds{5}) == 0);
}

TEMPLATE_TEST_CASE("A single-threaded completion queue carries traffic", "[ibv_create_cq_ex]",
                   completion_queue, extended) {
  queue_link<transport::rc, TestType> link{{.single_threaded = true}};
  link.far_pair.post(receive().id(3)).check();
  link.near_pair.post(send().signaled()).check();
  take_success(link.near_end.queue);
  take(link.far_end.queue, [](const auto& received) { CHECK(received.id() == 3); });
}

TEMPLATE_TEST_CASE("A completion queue grows and shrinks as long as its completions fit",
                   "[ibv_resize_cq]", completion_queue, extended) {
  queue_link<transport::rc, TestType> link;
  for (std::uint64_t id = 1; id <= 5; ++id) link.far_pair.post(receive().id(id)).check();
  for (int index = 0; index < 4; ++index) link.near_pair.post(send()).check();
  link.near_pair.post(send().signaled()).check();
  take_success(link.near_end.queue);

  const TestType& queue = link.far_end.queue;
  queue.resize(500);
  CHECK(queue.capacity() >= 500);
  const std::size_t grown = queue.capacity();
  failure why;
  queue.resize(4, why);
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation() == "the queue may hold more than 4 completions: poll them first");
  CHECK(queue.capacity() == grown);
  queue.resize(5);
  CHECK(queue.capacity() >= 5);
  CHECK(queue.capacity() < grown);
  for (std::uint64_t id = 1; id <= 5; ++id)
    take(queue, [&](const auto& received) { CHECK(received.id() == id); });
}

TEMPLATE_TEST_CASE("resize refuses 0 and sizes beyond the device", "[ibv_resize_cq]",
                   completion_queue, extended) {
  const context device = open_device();
  const TestType queue{device, 16};
  const std::size_t limit = device.query_device().max_completion_queue_entries();
  failure why;
  queue.resize(limit + 1, why);
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation() == std::to_string(limit + 1) +
                                 " entries were requested, the device allows " +
                                 std::to_string(limit));
  queue.resize(0, why);
  CHECK(why.explanation() == "a completion queue needs room for at least one completion");
  CHECK(queue.capacity() >= 16);
  CHECK(queue.capacity() < limit);
}
