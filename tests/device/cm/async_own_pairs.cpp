// SPDX-License-Identifier: MIT
// Asynchronous connections over queue pairs that were connected without librdmacm.
#include <cerrno>
#include <cstddef>
#include <optional>
#include <system_error>
#include <utility>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <support/catch.hpp>

#include "cm/async_side.hpp"

using namespace async_test;

namespace {

/// Two queue pairs on the queue of a loop that are connected to each other.
struct pairs {
  pairs() = default;

  [[nodiscard]] queue_pair<transport::rc, qp_state::init> create() {
    const completion_queue_ref queue = loop.queue(device);
    auto fresh = queue_pair<transport::rc>::create(
        loop.domain(device),
        {.send_cq = queue, .recv_cq = queue, .max_send_wr = 4, .max_recv_wr = 8});
    return fresh.init().port(first_port).allow(access_right::remote_read).apply();
  }
  void connect() {
    auto near = create();
    auto far = create();
    const endpoint near_end = near.endpoint();
    here.emplace(loop, near.connect(far.endpoint()), small);
    there.emplace(loop, far.connect(near_end), small);
  }

  context device = open_device();
  async::event_loop loop;
  std::optional<async::connection> here;
  std::optional<async::connection> there;
};

}  // namespace

TEST_CASE("Connections without librdmacm exchange messages, and end when they are flushed",
          "[ibv_modify_qp][ibv_post_send][ibv_post_recv]") {
  pairs both;
  both.connect();
  int answers = 0;
  async::event has_sent_all{both.loop};
  const auto answer = [&]() -> async::task<> {
    while (true) {
      const async::message message = co_await both.there->next();
      if (message.bytes().empty()) break;
      co_await both.there->send(message.buffer());
    }
    // The end of this side would drop the last request of the peer if it is not acknowledged.
    static_cast<void>(co_await has_sent_all.wait());
    co_await both.there->disconnect();
  };
  const auto ask = [&]() -> async::task<> {
    const text_memory memory{*both.here, "hello"};
    for (int each = 0; each < 20; ++each) {
      co_await both.here->send(memory.region.buffer().slice(0, 5));
      const async::message echoed = co_await both.here->next();
      if (text_of(echoed) == "hello") ++answers;
    }
    co_await both.here->perform(send());
    has_sent_all.set();
    co_await both.here->disconnect();
    std::error_code code;
    co_await both.here->perform(send()).report_to(code);
    CHECK(code == std::errc::operation_canceled);
  };
  both.loop.spawn(answer());
  both.loop.spawn(ask());
  both.loop.run();
  CHECK(answers == 20);
  CHECK(both.here->established() == nullptr);
  both.here.reset();
  both.there.reset();
  both.loop.run();
  CHECK(both.loop.connections() == 0);
}

TEST_CASE("A connection without librdmacm ends when its peer is gone, and its request fails",
          "[ibv_poll_cq]") {
  pairs both;
  auto near = both.create();
  auto far = both.create();
  const endpoint near_end = near.endpoint();
  both.here.emplace(both.loop, near.connect(far.endpoint(), {.retry_count = 1}), small);
  both.there.emplace(both.loop, far.connect(near_end), small);
  failure why;
  std::error_code waiting;
  const auto wait = [&]() -> async::task<> {
    static_cast<void>(co_await both.here->next().report_to(waiting));
  };
  const auto ask = [&]() -> async::task<> {
    co_await both.there->disconnect();
    both.there.reset();
    co_await both.here->perform(send()).report_to(why);
  };
  both.loop.spawn(wait());
  both.loop.spawn(ask());
  both.loop.run();
  CHECK(why.code() == completion_status::retries_exceeded);
  CHECK(waiting == completion_status::retries_exceeded);
}

TEST_CASE("A queue pair that is moved to ERR outside the loop ends its connection with ECONNRESET",
          "[ibv_modify_qp]") {
  pairs both;
  both.connect();
  std::error_code waiting;
  const auto wait = [&]() -> async::task<> {
    static_cast<void>(co_await both.here->next().report_to(waiting));
  };
  both.loop.spawn(wait());
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  REQUIRE(ibv_modify_qp(both.here->queue_pair().native_handle(), &attributes, IBV_QP_STATE) == 0);
  both.loop.run();
  CHECK(waiting == std::errc::connection_reset);
}

TEST_CASE("A queue pair on another completion queue is refused with an explanation",
          "[ibv_create_qp]") {
  const context device = open_device();
  async::event_loop loop;
  const completion_queue other{device, 16};
  const protection_domain domain{device};
  const auto make = [&] {
    auto fresh = queue_pair<transport::rc>::create(domain, {.send_cq = other, .recv_cq = other});
    return fresh.init().port(first_port).apply();
  };
  auto near = make();
  auto far = make();
  failure why;
  CHECK(!async::connection{loop, near.connect(far.endpoint()), small, why});
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation() ==
        "its completion queues are not that of the loop: create it with device_loop::queue");
}

TEST_CASE("A queue pair that is too small for the options is refused", "[ibv_query_qp]") {
  pairs both;
  auto near = both.create();
  auto far = both.create();
  failure why;
  SECTION("for the requests in progress") {
    async::connection_options options = small;
    options.max_send_wr = 100'000;
    CHECK(!async::connection{both.loop, near.connect(far.endpoint()), options, why});
  }
  SECTION("for the receives") {
    async::connection_options options = small;
    options.receives = 1000;
    CHECK(!async::connection{both.loop, near.connect(far.endpoint()), options, why});
  }
  CHECK(why);
  both.loop.run();
  CHECK(both.loop.connections() == 0);
}

TEST_CASE("A queue pair with the shared receive queue of the loop takes its messages from there",
          "[ibv_create_srq][ibv_post_srq_recv]") {
  const context device = open_device();
  async::event_loop loop{{.shared_receives = 4, .shared_block_size = 64}};
  const completion_queue_ref queue = loop.queue(device);
  async::connection_options sharing = small;
  sharing.shared = true;
  const auto make = [&](bool shared) {
    queue_pair_options options{.send_cq = queue, .recv_cq = queue, .max_send_wr = 4};
    if (shared) options.srq = loop.shared_receives(device);
    options.max_recv_wr = shared ? 0 : 8;
    auto fresh = queue_pair<transport::rc>::create(loop.domain(device), options);
    return fresh.init().port(first_port).apply();
  };
  auto near = make(false);
  auto far = make(true);
  const endpoint near_end = near.endpoint();
  SECTION("its messages arrive") {
    const async::connection here{loop, near.connect(far.endpoint()), small};
    const async::connection there{loop, far.connect(near_end), sharing};
    int count = 0;
    const auto take = [&]() -> async::task<> {
      const text_memory memory{here, "hello"};
      for (int each = 0; each < 10; ++each) {
        co_await here.send(memory.region.buffer().slice(0, 5));
        const async::message came = co_await there.next();
        if (text_of(came) == "hello") ++count;
      }
    };
    loop.spawn(take());
    loop.run();
    CHECK(count == 10);
  }
  SECTION("a queue pair without it is refused") {
    failure why;
    CHECK(!async::connection{loop, near.connect(far.endpoint()), sharing, why});
    CHECK(why.explanation() ==
          "its shared receive queue is not that of the loop: create it with "
          "device_loop::shared_receives");
  }
}
