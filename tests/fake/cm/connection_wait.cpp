// SPDX-License-Identifier: MIT
// Waiting for completions of a connection, which ends with it.
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <vector>

#include <support/catch.hpp>
#include <support/reported.hpp>

#include "cm_bench.hpp"
#include "interrupting.hpp"

namespace {

namespace cm = adverb::cm;
using namespace std::chrono_literals;

using ids = std::vector<std::uint64_t>;

struct fixture : cm_bench {
  cm::connection<adverb::transport::rc> connection = connected();
  adverb::completion_queue_ref queue = connection.recv_cq();
  std::array<adverb::completion, 2> batch;

  void raise(rdma_cm_event_type type) {
    manager.raise(connection.identifier().native_handle(), {type, 0});
  }
  void complete(std::uint64_t id) {
    ibv_wc completion{};
    completion.wr_id = id;
    machine.complete(queue.native_handle(), completion);
  }
  template <class... Limit>
  [[nodiscard]] ids waited(Limit... limit) {
    ids found;
    for (const adverb::completion& each : connection.wait(queue, batch, limit...))
      found.push_back(each.id());
    return found;
  }
};

}  // namespace

TEST_CASE_METHOD(fixture, "wait returns available completions, up to the size of the span",
                 "[ibv_poll_cq]") {
  for (const std::uint64_t id : ids{1, 2, 3}) complete(id);
  CHECK(waited() == ids{1, 2});
  CHECK(waited() == ids{3});
  CHECK(waited(0s).empty());
  CHECK_FALSE(connection.has_ended());
}

TEST_CASE_METHOD(fixture, "wait returns a completion that arrives while it arms the queue",
                 "[ibv_req_notify_cq]") {
  machine.before<called::req_notify_cq>([&] { complete(7); });
  CHECK(waited() == ids{7});
}

TEST_CASE_METHOD(fixture, "wait returns earlier completions before the end of the connection",
                 "[rdma_get_cm_event]") {
  raise(RDMA_CM_EVENT_DISCONNECTED);
  complete(1);
  CHECK(waited() == ids{1});
  CHECK(waited().empty());
  CHECK(connection.has_ended());
  complete(2);
  CHECK(waited() == ids{2});
  CHECK(waited().empty());
}

TEST_CASE_METHOD(fixture, "wait returns if the connection ends while it arms the queue",
                 "[rdma_get_cm_event]") {
  machine.before<called::req_notify_cq>([&] { raise(RDMA_CM_EVENT_DEVICE_REMOVAL); });
  CHECK(waited().empty());
  CHECK(connection.has_ended());
}

TEST_CASE_METHOD(fixture, "other events do not end the wait") {
  raise(RDMA_CM_EVENT_TIMEWAIT_EXIT);
  raise(RDMA_CM_EVENT_ADDR_CHANGE);
  CHECK(waited(20ms).empty());
  CHECK_FALSE(connection.has_ended());
  CHECK_FALSE(connection.next_event());
}

TEST_CASE_METHOD(fixture, "a signal handler ends the wait without an error") {
  const interrupting signals;
  std::error_code code = std::make_error_code(std::errc::io_error);
  CHECK(connection.wait(queue, batch, adverb::timeout::endless(), code).empty());
  CHECK_FALSE(code);
  CHECK_FALSE(connection.has_ended());
}

TEST_CASE_METHOD(fixture, "wait reports the failures of the queue and of the channel") {
  const adverb::completion_queue silent{adverb::context_ref{manager.context()}, 4};
  CHECK(reported([&](auto&&... policy) {
          (void)connection.wait(silent, batch, 1s, policy...);
        }).explanation() == "the queue has no completion channel");
  CHECK(failing<called::poll_cq>(EIO, [&](auto&&... policy) {
          (void)connection.wait(queue, batch, 1s, policy...);
        }).verb() == "ibv_poll_cq");
  CHECK(reported(
            [&] {
              raise(RDMA_CM_EVENT_ADDR_CHANGE);
              machine.fail<called::rdma_get_cm_event>(EIO);
            },
            [&](auto&&... policy) { (void)connection.wait(queue, batch, 1s, policy...); })
            .verb() == "rdma_get_cm_event");
  connection.close();
  CHECK(reported([&](auto&&... policy) {
          (void)connection.wait(queue, batch, 1s, policy...);
        }).code() == std::errc::invalid_argument);
}
