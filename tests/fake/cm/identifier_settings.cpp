// SPDX-License-Identifier: MIT
// The settings of an identifier: each value reaches the C API as it is.
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>

#include <support/catch.hpp>

#include "cm_bench.hpp"
#include "render.hpp"

namespace {

namespace cm = adverb::cm;
using namespace std::chrono_literals;

using fixture = identifier_bench;

}  // namespace

TEST_CASE_METHOD(fixture, "each setter passes its option name and the size that librdmacm expects",
                 "[rdma_set_option]") {
  CHECK_THAT(log_of([&] {
               id.set_type_of_service(0x68);
               id.set_reuse_address(true);
               id.set_address_family_only(true);
               id.set_reuse_address(false);
               id.set_address_family_only(false);
               id.set_acknowledge_timeout(1s);
             }),
             is_log(R"(
    rdma_set_option id0 level=ID optname=ID_TOS optval=0x68 optlen=1
    rdma_set_option id0 level=ID optname=ID_REUSEADDR optval=1 optlen=4
    rdma_set_option id0 level=ID optname=ID_AFONLY optval=1 optlen=4
    rdma_set_option id0 level=ID optname=ID_REUSEADDR optval=0 optlen=4
    rdma_set_option id0 level=ID optname=ID_AFONLY optval=0 optlen=4
    rdma_set_option id0 level=ID optname=ID_ACK_TIMEOUT optval=0x12 optlen=1)"));
}

TEST_CASE_METHOD(fixture, "set_path passes one path record in wire format", "[rdma_set_option]") {
  cm::path_record path;
  path.destination_lid = adverb::lid{7};
  const ibv_path_data expected = path.native();
  CHECK_THAT(log_of([&] { id.set_path(path); }),
             is_log("rdma_set_option id0 level=IB optname=IB_PATH optval=" +
                    fake::hex_bytes(&expected, sizeof expected) + " optlen=72"));
}

TEST_CASE_METHOD(fixture, "an identifier returns each path that librdmacm found") {
  CHECK(id.path_count() == 0);
  std::array<ibv_sa_path_rec, 2> found{};
  found[0].hop_limit = 1;
  found[1].hop_limit = 2;
  rdma_route& route = id.native_handle()->route;
  route.path_rec = found.data();
  route.num_paths = found.size();
  CHECK(id.path_count() == 2);
  CHECK(id.path().hop_limit == 1);
  CHECK(id.path(1).hop_limit == 2);
  route.path_rec = nullptr;
  route.num_paths = 0;
}

TEST_CASE_METHOD(fixture, "an identifier sets its enhancements and returns those of the peer",
                 "[rdma_set_local_ece][rdma_get_remote_ece]") {
  CHECK_THAT(log_of([&] {
               id.set_local_ece({.vendor_id = 0x15b3, .options = 0x77});
               (void)id.remote_ece();
             }),
             is_log(R"(
    rdma_set_local_ece id0 vendor_id=0x15b3 options=0x77
    rdma_get_remote_ece id0)"));
  CHECK(id.remote_ece() == adverb::ece{.vendor_id = 0x1234, .options = 0x5});

  adverb::failure why;
  machine.fail<called::rdma_get_remote_ece>(EIO);
  CHECK(id.remote_ece(why) == adverb::ece{});
  CHECK(why.code() == std::errc::io_error);
}

TEST_CASE_METHOD(fixture, "notify passes the event type unchanged", "[rdma_notify]") {
  CHECK_THAT(log_of([&] {
               id.notify(adverb::async_event_type::communication_established);
               id.notify(adverb::async_event_type::path_migrated);
             }),
             is_log(R"(
    rdma_notify id0 event=COMM_EST
    rdma_notify id0 event=PATH_MIG)"));
}

TEST_CASE_METHOD(fixture, "reject_ece sends private data", "[rdma_reject_ece]") {
  id.bind(here);
  id.listen(1);
  manager.request(id.native_handle());
  const cm::identifier request = channel.next_event()->take_request();
  CHECK_THAT(log_of([&] { request.reject_ece(cm::private_data::of("no")); }), is_log(R"(
    rdma_reject_ece id1 private_data="\x02\x00no")"));
}

TEST_CASE_METHOD(fixture, "an identifier returns the queue pair attributes with their mask",
                 "[rdma_init_qp_attr]") {
  id.bind(here);
  cm::queue_pair_settings settings;
  CHECK_THAT(log_of([&] { settings = id.settings_for(adverb::qp_state::init); }),
             is_log("rdma_init_qp_attr id0 qp_state=INIT"));
  CHECK(settings.values.qp_state == IBV_QPS_INIT);
  CHECK(settings.given.bits() ==
        (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));

  adverb::failure why;
  machine.fail<called::rdma_init_qp_attr>(EIO);
  CHECK(id.settings_for(adverb::qp_state::init, why).given == adverb::qp_attributes{});
  CHECK(why.verb() == "rdma_init_qp_attr");
}

TEST_CASE_METHOD(fixture, "each setting that fails names the verb and the identifier",
                 "[rdma_set_option][rdma_set_local_ece][rdma_get_remote_ece][rdma_notify]") {
  const std::string rest = " on rdma_cm identifier: EIO (Input/output error)";
  const auto option_failed = [&](const auto& operation) {
    CHECK(message_of<called::rdma_set_option>(EIO, operation) == "rdma_set_option" + rest);
  };
  option_failed([&](auto&&... policy) { id.set_type_of_service(1, policy...); });
  option_failed([&](auto&&... policy) { id.set_reuse_address(true, policy...); });
  option_failed([&](auto&&... policy) { id.set_address_family_only(true, policy...); });
  option_failed([&](auto&&... policy) { id.set_acknowledge_timeout(1s, policy...); });
  option_failed([&](auto&&... policy) { id.set_path({}, policy...); });
  CHECK(message_of<called::rdma_set_local_ece>(EIO, [&](auto&&... policy) {
          id.set_local_ece({}, policy...);
        }) == "rdma_set_local_ece" + rest);
  CHECK(message_of<called::rdma_get_remote_ece>(EIO, [&](auto&&... policy) {
          (void)id.remote_ece(policy...);
        }) == "rdma_get_remote_ece" + rest);
  CHECK(message_of<called::rdma_notify>(EIO, [&](auto&&... policy) {
          id.notify(adverb::async_event_type::communication_established, policy...);
        }) == "rdma_notify" + rest);
}
