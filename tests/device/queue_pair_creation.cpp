// SPDX-License-Identifier: MIT
// New queue pairs of each transport, and their attributes in each state.
#include "support.hpp"

using namespace adverb;

namespace {

struct creation_bench {
  context device = open_device();
  protection_domain domain{device};
  completion_queue sends{device, 16};
  completion_queue receives{device, 32};

  template <transport Transport>
  [[nodiscard]] auto create(queue_pair_options options) const {
    options.send_cq = sends;
    options.recv_cq = receives;
    return queue_pair<Transport>::create(domain, options);
  }
};

/// Properties of every new pair.
template <transport Transport>
void check_new(const creation_bench& bench, const queue_pair<Transport, qp_state::reset>& pair) {
  REQUIRE(pair);
  CHECK(pair.number() != qp_number{0});
  CHECK(pair.context().native_handle() == bench.device.native_handle());
  CHECK(pair.protection_domain().native_handle() == bench.domain.native_handle());
  CHECK(pair.send_cq().native_handle() == bench.sends.native_handle());
  CHECK(pair.recv_cq().native_handle() == bench.receives.native_handle());
  CHECK(!pair.srq());
  CHECK(pair.native_handle()->qp_type == static_cast<ibv_qp_type>(Transport));
  CHECK(pair.query().state() == qp_state::reset);
}

template <transport Transport>
void check_with_defaults() {
  const creation_bench bench;
  const auto pair = bench.create<Transport>({});
  check_new(bench, pair);
  CHECK(pair.user_context() == nullptr);
  const queue_pair_attributes found = pair.query();
  CHECK(found.max_send_wr() >= 1);
  CHECK(found.max_recv_wr() >= 1);
  CHECK(found.max_send_sge() >= 1);
  CHECK(found.max_recv_sge() >= 1);
  CHECK(!found.signals_all_sends());
}

queue_pair_options all_options(void* user) {
  return {.max_send_wr = 20,
          .max_recv_wr = 30,
          .max_send_sge = 3,
          .max_recv_sge = 2,
          .max_inline_data = 48,
          .signal_all_sends = true,
          .user_context = user};
}

template <transport Transport>
void check_with_options(const queue_pair_options& options) {
  const creation_bench bench;
  const auto pair = bench.create<Transport>(options);
  check_new(bench, pair);
  CHECK(pair.user_context() == options.user_context);
  const queue_pair_attributes found = pair.query();
  CHECK(found.max_send_wr() >= 20);
  CHECK(found.max_recv_wr() >= 30);
  CHECK(found.max_send_sge() >= 3);
  CHECK(found.max_recv_sge() >= 2);
  CHECK(found.max_inline_data() >= 48);
  CHECK(found.signals_all_sends());
}

template <transport Transport>
void check_extended(queue_pair_options options) {
  options.send_operations = basic_operations(Transport);
  check_with_options<Transport>(options);
}

}  // namespace

TEST_CASE("An RC pair is created with default options", "[ibv_create_qp][ibv_destroy_qp]") {
  check_with_defaults<transport::rc>();
}
TEST_CASE("A UC pair is created with default options", "[ibv_create_qp]") {
  check_with_defaults<transport::uc>();
}
TEST_CASE("A UD pair is created with default options", "[ibv_create_qp]") {
  check_with_defaults<transport::ud>();
}

TEST_CASE("An RC pair is created with every option", "[ibv_create_qp][ibv_query_qp]") {
  int user = 0;
  check_with_options<transport::rc>(all_options(&user));
}
TEST_CASE("A UC pair is created with every option", "[ibv_create_qp][ibv_query_qp]") {
  int user = 0;
  check_with_options<transport::uc>(all_options(&user));
}
TEST_CASE("A UD pair is created with every option", "[ibv_create_qp][ibv_query_qp]") {
  int user = 0;
  check_with_options<transport::ud>(all_options(&user));
}

TEST_CASE("An extended RC pair is created with every option", "[ibv_create_qp_ex][ibv_query_qp]") {
  int user = 0;
  check_extended<transport::rc>(all_options(&user));
}
TEST_CASE("An extended UC pair is created with every option", "[ibv_create_qp_ex][ibv_query_qp]") {
  int user = 0;
  check_extended<transport::uc>(all_options(&user));
}
TEST_CASE("An extended UD pair is created with every option", "[ibv_create_qp_ex][ibv_query_qp]") {
  int user = 0;
  check_extended<transport::ud>(all_options(&user));
}

TEST_CASE("extended fails on a pair without send operations") {
  const loopback<transport::rc> link;
  failure why;
  (void)link.near_pair.extended(why);
  CHECK(why.code() == std::errc::operation_not_supported);
}

TEST_CASE("Two pairs have different numbers") {
  const creation_bench bench;
  const auto first = bench.create<transport::rc>({});
  const auto second = bench.create<transport::rc>({});
  CHECK(first.number() != second.number());
}

TEST_CASE("A UD pair reports its attributes in each state", "[ibv_modify_qp][ibv_query_qp]") {
  const creation_bench bench;
  auto fresh = bench.create<transport::ud>({});
  auto waiting = fresh.init().port(first_port).queue_key(queue_key{0x1234}).apply();
  CHECK(waiting.query().state() == qp_state::init);
  CHECK(waiting.query().queue_key() == queue_key{0x1234});
  CHECK(waiting.query().port() == first_port);
  waiting.change().queue_key(queue_key{0x2345}).apply();
  CHECK(waiting.query().queue_key() == queue_key{0x2345});
  auto receiving = waiting.rtr().queue_key(queue_key{0x3456}).apply();
  CHECK(receiving.query().state() == qp_state::rtr);
  CHECK(receiving.query().queue_key() == queue_key{0x3456});
  auto ready = receiving.rts().queue_key(queue_key{0x4567}).apply();
  CHECK(ready.query().state() == qp_state::rts);
  CHECK(ready.query().queue_key() == queue_key{0x4567});
  ready.change().queue_key(queue_key{0x5678}).apply();
  CHECK(ready.query().queue_key() == queue_key{0x5678});
  auto drained = ready.drain().apply();
  CHECK(drained.query().state() == qp_state::sqd);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  while (drained.query().is_draining() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  drained.change().queue_key(queue_key{0x6789}).apply();
  CHECK(drained.query().queue_key() == queue_key{0x6789});
  auto failed = drained.error();
  CHECK(failed.query().state() == qp_state::error);
  CHECK(failed.reset().query().state() == qp_state::reset);
}

TEST_CASE("A UC pair reports its attributes in each state", "[ibv_modify_qp][ibv_query_qp]") {
  const creation_bench bench;
  auto fresh = bench.create<transport::uc>({});
  auto waiting =
      fresh.init().port(first_port).allow(access_right::remote_write).psn(psn{0xfffffe}).apply();
  CHECK(waiting.query().allowed().contains(access_right::remote_write));
  CHECK(!waiting.query().allowed().contains(access_right::remote_read));
  waiting.change().allow(access_rights{}).apply();
  CHECK(!waiting.query().allowed().contains(access_right::remote_write));
  const endpoint peer = waiting.endpoint();
  auto receiving =
      waiting.rtr().remote(peer).path_mtu(mtu::bytes_256).allow(access_right::remote_write).apply();
  CHECK(receiving.query().state() == qp_state::rtr);
  CHECK(receiving.query().path_mtu() == mtu::bytes_256);
  CHECK(receiving.query().remote_queue_pair() == peer.number);
  CHECK(receiving.query().rq_psn() == psn{0xfffffe});
  CHECK(receiving.query().allowed().contains(access_right::remote_write));
  const auto ready = receiving.rts().apply();
  CHECK(ready.query().state() == qp_state::rts);
  CHECK(ready.query().sq_psn() == psn{0xfffffe});
}
