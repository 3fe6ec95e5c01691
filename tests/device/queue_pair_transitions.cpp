// SPDX-License-Identifier: MIT
// On the real device: what the builders demand is enough, and queries return what was set.
#include <string>

#include <support/reported.hpp>

#include "support.hpp"

using namespace adverb;
using namespace std::chrono_literals;

namespace {

struct transition_bench {
  context device = open_device();
  protection_domain domain{device};
  completion_queue queue{device, 16};

  template <transport Transport>
  [[nodiscard]] auto fresh() const {
    return queue_pair<Transport>::create(domain, {.send_cq = queue, .recv_cq = queue});
  }
  template <transport Transport>
  [[nodiscard]] auto waiting() const {
    auto pair = fresh<Transport>();
    return initialised(pair);
  }
};

/// The state of the pair: by its type, by the C library, and by the kernel.
template <transport Transport, qp_state State>
void check_state(const queue_pair<Transport, State>& pair) {
  REQUIRE(pair);
  CHECK(static_cast<qp_state>(pair.native_handle()->state) == State);
  CHECK(pair.query().state() == State);
}

template <transport Transport>
void check_connection() {
  const transition_bench bench;
  auto fresh = bench.fresh<Transport>();
  check_state(fresh);
  auto waiting = fresh.init().port(first_port).apply();
  check_state(waiting);
  auto receiving = waiting.rtr().remote(waiting.endpoint()).apply();
  check_state(receiving);
  auto ready = receiving.rts().apply();
  check_state(ready);
  auto failed = ready.error();
  check_state(failed);
  auto again = failed.reset();
  check_state(again);
  auto waiting_again = again.init().port(first_port).apply();
  check_state(waiting_again);
  auto from_init = waiting_again.error();
  check_state(from_init);
}

}  // namespace

TEST_CASE("The required attributes bring an RC pair from RESET to RTS, to ERR and back",
          "[ibv_modify_qp]") {
  check_connection<transport::rc>();
}

TEST_CASE("The required attributes bring a UC pair from RESET to RTS, to ERR and back") {
  check_connection<transport::uc>();
}

TEST_CASE("The required attributes bring a UD pair from RESET to RTS, to ERR and back") {
  const transition_bench bench;
  auto fresh = bench.fresh<transport::ud>();
  check_state(fresh);
  auto waiting = fresh.init().port(first_port).queue_key(queue_key{0x1234}).apply();
  check_state(waiting);
  auto receiving = waiting.rtr().apply();
  check_state(receiving);
  auto ready = receiving.rts().apply();
  check_state(ready);
  CHECK(ready.query().queue_key() == queue_key{0x1234});
  auto failed = ready.error();
  check_state(failed);
  const auto again = failed.reset();
  check_state(again);
}

TEST_CASE("RTR accepts address, queue pair number and PSN of the peer separately") {
  const transition_bench bench;
  auto waiting = bench.waiting<transport::rc>();
  const endpoint mine = waiting.endpoint();
  const auto receiving = waiting.rtr()
                             .address(waiting.address_of(mine))
                             .remote_queue_pair(mine.number)
                             .remote_psn(mine.psn)
                             .apply();
  check_state(receiving);
}

TEST_CASE("Every attribute that is set can be queried", "[ibv_modify_qp][ibv_query_qp]") {
  const transition_bench bench;
  auto fresh = bench.fresh<transport::rc>();
  auto waiting = fresh.init()
                     .port(first_port)
                     .pkey_index(pkey_index{0})
                     .allow(access_right::remote_read | access_right::remote_write)
                     .psn(psn{0xfffffe})
                     .apply();
  queue_pair_attributes found = waiting.query();
  CHECK(found.port() == first_port);
  CHECK(found.pkey_index() == pkey_index{0});
  CHECK(found.allowed().contains(access_right::remote_read | access_right::remote_write));
  CHECK(!found.allowed().contains(access_right::remote_atomic));

  endpoint peer = waiting.endpoint();
  CHECK(peer.number == waiting.number());
  CHECK(peer.psn == psn{0xfffffe});
  CHECK(peer.mtu == bench.device.query_port(first_port).active_mtu());
  peer.psn = psn{0xabcdef};
  auto receiving = waiting.rtr()
                       .remote(peer)
                       .path_mtu(mtu::bytes_512)
                       .max_destination_read_atomic(3)
                       .rnr_timer(1ms)
                       .apply();
  found = receiving.query();
  CHECK(found.path_mtu() == mtu::bytes_512);
  CHECK(found.remote_queue_pair() == peer.number);
  CHECK(found.rq_psn() == psn{0xabcdef});
  CHECK(found.rnr_timer() == rnr_timer{1ms});
  CHECK(found.max_destination_read_atomic() ==
        (holds(device_facts::responder_resources_are_rounded_up, bench.device) ? 4 : 3));
  CHECK(gid{found.native().ah_attr.grh.dgid} == peer.gid);

  const auto ready = receiving.rts()
                         .acknowledge_timeout(10ms)
                         .retry_count(3)
                         .rnr_retry_count(2)
                         .max_initiator_read_atomic(2)
                         .apply();
  found = ready.query();
  CHECK(found.sq_psn() == psn{0xfffffe});
  CHECK(found.acknowledge_timeout() == acknowledge_timeout{10ms});
  CHECK(found.retry_count() == 3);
  CHECK(found.rnr_retry_count() == 2);
  CHECK(found.max_initiator_read_atomic() == 2);
}

TEST_CASE("A pair is at least as large as requested", "[ibv_create_qp][ibv_query_qp]") {
  const transition_bench bench;
  const auto pair = queue_pair<transport::rc>::create(bench.domain, {.send_cq = bench.queue,
                                                                     .recv_cq = bench.queue,
                                                                     .max_send_wr = 10,
                                                                     .max_recv_wr = 11,
                                                                     .max_send_sge = 3,
                                                                     .max_recv_sge = 2,
                                                                     .max_inline_data = 40,
                                                                     .signal_all_sends = true});
  const queue_pair_attributes found = pair.query();
  CHECK(found.max_send_wr() >= 10);
  CHECK(found.max_recv_wr() >= 11);
  CHECK(found.max_send_sge() >= 3);
  CHECK(found.max_recv_sge() >= 2);
  CHECK(found.max_inline_data() >= 40);
  CHECK(found.signals_all_sends());
}

TEST_CASE("Creating a pair beyond the limits of the device fails and names the limit") {
  const transition_bench bench;
  const std::uint32_t limit = bench.device.query_device().max_work_requests();
  const failure why = reported([&](auto&&... policy) {
    const auto pair = queue_pair<transport::rc>::create(
        bench.domain, {.send_cq = bench.queue, .recv_cq = bench.queue, .max_send_wr = limit + 1},
        policy...);
    CHECK(!pair);
  });
  CHECK(why.explanation() == "max_send_wr is " + std::to_string(limit + 1) +
                                 ", the device allows " + std::to_string(limit));
}

TEST_CASE("RTR with an empty source GID fails and lists the usable GIDs") {
  const transition_bench bench;
  auto fresh = bench.fresh<transport::rc>();
  auto chosen = bench.waiting<transport::rc>();
  const endpoint peer = chosen.endpoint();
  auto waiting = fresh.init().port(first_port).gid(gid_index{200}).apply();
  const failure why = reported([&](auto&&... policy) {
    const auto receiving = waiting.rtr().remote(peer).apply(policy...);
    CHECK(!receiving);
  });
  CHECK(why.verb() == "ibv_modify_qp");
  const std::string what = why.what();
  CHECK(what.find("ibv_modify_qp INIT->RTR on ") == 0);
  CHECK(what.find("sgid index 200 is empty; usable: ") != std::string::npos);
  CHECK(what.find(std::string{to_text(peer.gid).view()}) != std::string::npos);
  // The pair is whole, and still in INIT.
  check_state(waiting);
}

TEST_CASE("More reads in progress than the device allows fail and name the limit", "[optional]") {
  const transition_bench bench;
  auto waiting = bench.waiting<transport::rc>();
  const std::uint32_t limit = bench.device.query_device().max_destination_read_atomic();
  if (limit >= 255) {
    tell_skip("reads in progress over the limit", "this device allows as many as can be asked for");
    return;
  }
  const auto asked = static_cast<std::uint8_t>(limit + 1);
  if (holds(device_facts::responder_resources_are_not_checked, bench.device)) {
    CHECK(waiting.rtr().remote(waiting.endpoint()).max_destination_read_atomic(asked).apply());
    return;
  }
  const failure why = reported([&](auto&&... policy) {
    const auto receiving = waiting.rtr()
                               .remote(waiting.endpoint())
                               .max_destination_read_atomic(asked)
                               .apply(policy...);
    CHECK(!receiving);
  });
  CHECK(why.explanation() == "max_destination_read_atomic is " + std::to_string(asked) +
                                 ", the device allows " + std::to_string(limit));
  auto receiving = waiting.rtr().remote(waiting.endpoint()).apply();
  check_state(receiving);
}

TEST_CASE("A missing partition key index fails and names the size of the table") {
  const transition_bench bench;
  auto fresh = bench.fresh<transport::uc>();
  const std::uint32_t length = bench.device.query_port(first_port).pkey_table_length();
  failure why;
  const auto waiting =
      fresh.init().port(first_port).pkey_index(static_cast<pkey_index>(length)).apply(why);
  if (holds(device_facts::pkey_index_is_not_checked, bench.device)) {
    CHECK(waiting);
    return;
  }
  REQUIRE(!waiting);
  CHECK(why.explanation() == "P_Key index " + std::to_string(length) + " is not in the table of " +
                                 std::to_string(length));
  check_state(fresh);
}

TEST_CASE("INIT with a missing port fails and lists the ports") {
  const transition_bench bench;
  auto fresh = bench.fresh<transport::rc>();
  failure why;
  const auto waiting = fresh.init().port(port_number{77}).gid(gid_index{0}).apply(why);
  REQUIRE(!waiting);
  CHECK(why.explanation() == "the device has one port, number 1");
}

TEST_CASE("RTR refuses an invalid path MTU") {
  const transition_bench bench;
  auto waiting = bench.waiting<transport::rc>();
  std::error_code code;
  const auto receiving =
      waiting.rtr().remote(waiting.endpoint()).path_mtu(static_cast<mtu>(6)).apply(code);
  CHECK(!receiving);
  CHECK(code == std::errc::invalid_argument);
  check_state(waiting);
}

TEST_CASE("The transition from RESET to ERR fails with an explanation") {
  const transition_bench bench;
  auto fresh = bench.fresh<transport::rc>();
  failure why;
  const auto failed = fresh.error(why);
  CHECK(!failed);
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation() ==
        "Linux has no transition from RESET to ERR: nothing is posted in RESET");
  check_state(fresh);
}

TEST_CASE("connect brings two pairs up and can be repeated after a failure") {
  const transition_bench bench;
  auto waiting = bench.waiting<transport::rc>();
  const endpoint peer = waiting.endpoint();
  const announced_attributes announced = waiting.announced();
  const auto too_many =
      static_cast<std::uint8_t>(bench.device.query_device().max_initiator_read_atomic() + 1);
  failure why;
  CHECK(!waiting.connect(peer, {.max_initiator_read_atomic = too_many}, why));
  CHECK(std::string{why.what()}.find("ibv_modify_qp RTR->RTS on ") == 0);
  CHECK(why.explanation().find("max_initiator_read_atomic is ") == 0);
  check_state(waiting);
  CHECK(waiting.announced() == announced);
  CHECK(waiting.query().allowed().contains(every_right - access_right::local_write));
  const auto pair = waiting.connect(peer);
  check_state(pair);
  CHECK(pair.query().sq_psn() == announced.psn);
}

TEST_CASE("A pair of the C API is adopted in its current state") {
  const transition_bench bench;
  auto waiting = bench.waiting<transport::uc>();
  const announced_attributes announced = waiting.announced();
  ibv_qp* const native = waiting.release();
  std::error_code code;
  const queue_pair<transport::rc> wrong{adopt, native, code};
  CHECK(code == std::errc::invalid_argument);
  queue_pair<transport::uc, qp_state::init> adopted{adopt, native, announced};
  const auto receiving = adopted.rtr().remote(adopted.endpoint()).apply();
  check_state(receiving);
}
