// SPDX-License-Identifier: MIT
// Draining connections: the requests that mark the end of their queues are never taken for the
// program's, nor for those of another connection.
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <utility>
#include <vector>

#include <support/catch.hpp>

#include "cm_bench.hpp"

namespace {

namespace cm = adverb::cm;

using ids = std::vector<std::uint64_t>;
using rc_connection = cm::connection<adverb::transport::rc>;

struct fixture : cm_bench {
  adverb::context device = adverb::open_device();
  adverb::completion_queue shared{device, 64};

  [[nodiscard]] rc_connection connected_to_shared() const {
    return far().create_queue_pair({.send_cq = shared, .recv_cq = shared}).connect();
  }
  /// The same after the peer is gone.
  [[nodiscard]] rc_connection ended() const {
    rc_connection connection = connected_to_shared();
    connection.disconnect();
    return connection;
  }
  /// The ids of the requests that marked the ends of the queues in the last drain.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> markers() const {
    return {last<called::post_send>().requests.at(0).wr.wr_id,
            last<called::post_recv>().requests.at(0).wr.wr_id};
  }
  /// A marker that a drain which gave up has left in the queue.
  void leave(std::uint64_t marker, const rc_connection& connection) {
    ibv_wc completion{};
    completion.wr_id = marker;
    completion.status = IBV_WC_WR_FLUSH_ERR;
    completion.qp_num = connection.queue_pair().native_handle()->qp_num;
    machine.complete(shared.native_handle(), completion);
  }
};

ids drained(rc_connection& connection) {
  ids found;
  connection.drain([&](const adverb::completion& each) { found.push_back(each.id()); });
  return found;
}
/// The same with other things on the stack.
ids drained_from_deeper(rc_connection& connection) {
  volatile char more[4096]{};
  more[0] = more[1];
  return drained(connection);
}

}  // namespace

TEST_CASE_METHOD(fixture, "the markers of every drain have the same two ids", "[ibv_poll_cq]") {
  rc_connection connection = connected_to_shared();
  connection.disconnect();
  CHECK(drained(connection).empty());
  const auto marks = markers();
  CHECK(marks.first != marks.second);
  CHECK(drained_from_deeper(connection).empty());
  CHECK(markers() == marks);
}

TEST_CASE_METHOD(fixture, "a drain discards a marker that another drain left", "[ibv_poll_cq]") {
  rc_connection first = ended();
  rc_connection second = ended();
  CHECK(drained(first).empty());
  const auto [end_of_sends, end_of_receives] = markers();
  leave(end_of_sends, first);
  leave(end_of_receives, first);
  second.queue_pair().post(adverb::send().id(1)).check();
  second.queue_pair().post(adverb::receive().id(2)).check();
  machine.forget_calls();
  CHECK(drained(second) == ids{1, 2});
  CHECK(machine.count<called::post_send>() == 1);
  CHECK(machine.count<called::post_recv>() == 1);

  // Nor one of its own from before.
  leave(end_of_sends, second);
  leave(end_of_receives, second);
  machine.forget_calls();
  CHECK(drained(second).empty());
  CHECK(machine.count<called::post_send>() == 1);
  CHECK(machine.count<called::post_recv>() == 1);
}

TEST_CASE_METHOD(fixture, "a drain ends at its own markers, not at those of another pair",
                 "[ibv_poll_cq]") {
  rc_connection first = ended();
  rc_connection second = ended();
  CHECK(drained(first).empty());
  const auto [end_of_sends, end_of_receives] = markers();
  auto draining = second.start_drain();
  ids found;
  const auto note = [&](const adverb::completion& each) { found.push_back(each.id()); };
  // Its marks are posted and, as on Soft-RoCE, not flushed before ERR is set again, which fails.
  second.queue_pair().native_handle()->state = IBV_QPS_RTS;
  machine.fail<called::modify_qp>(EINVAL);
  std::error_code code;
  CHECK_FALSE(draining.finish(note, code));
  CHECK(code);

  leave(end_of_sends, first);
  leave(end_of_receives, first);
  CHECK_FALSE(draining.finish(note));
  leave(end_of_sends, second);
  CHECK_FALSE(draining.finish(note));
  leave(end_of_receives, second);
  CHECK(draining.finish(note));
  CHECK(found.empty());
}

TEST_CASE_METHOD(fixture, "a drain ends within its limit although other pairs keep the queue busy",
                 "[ibv_poll_cq]") {
  rc_connection busy = connected_to_shared();
  rc_connection connection = connected_to_shared();
  connection.queue_pair().post(adverb::send().id(1)).check();
  connection.disconnect();
  ids own;
  const auto another_comes = [&](const adverb::completion& each) {
    if (each.queue_pair() == connection.queue_pair().number()) own.push_back(each.id());
    leave(7, busy);
  };
  leave(7, busy);
  connection.drain(another_comes);
  CHECK(own == ids{1});

  // Nor does it go on when the end does not come.
  machine.answer_post({.result = ENOMEM, .bad_request = 0});
  machine.answer_post({.result = ENOMEM, .bad_request = 0});
  adverb::failure why;
  connection.drain(another_comes, std::chrono::milliseconds{0}, why);
  CHECK(why.code() == std::errc::timed_out);
}
