// SPDX-License-Identifier: MIT
// What is set of an identifier, and what it is told of: each value reaches the C API as it is.
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>

#include <support/catch.hpp>
#include <support/reported.hpp>

#include "cm_bench.hpp"

namespace {

namespace cm = adverb::cm;
using namespace std::chrono_literals;

struct fixture : identifier_bench {
  /// Checks what the last option was, and gives back its value.
  template <class Value>
  [[nodiscard]] Value option(int level, int name) const {
    const auto call = last<called::rdma_set_option>();
    CHECK(call.id == id.native_handle());
    CHECK(call.level == level);
    CHECK(call.name == name);
    Value value{};
    REQUIRE(call.value.size() == sizeof value);
    std::memcpy(&value, call.value.data(), sizeof value);
    return value;
  }
};

}  // namespace

TEST_CASE_METHOD(fixture, "an option goes under its name, in the size that librdmacm wants",
                 "[rdma_set_option]") {
  id.set_type_of_service(0x68);
  CHECK(option<std::uint8_t>(RDMA_OPTION_ID, RDMA_OPTION_ID_TOS) == 0x68);
  for (const bool on : {true, false}) {
    id.set_reuse_address(on);
    CHECK(option<int>(RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR) == (on ? 1 : 0));
    id.set_address_family_only(on);
    CHECK(option<int>(RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY) == (on ? 1 : 0));
  }
  const adverb::acknowledge_timeout time{1s};
  id.set_acknowledge_timeout(time);
  CHECK(option<std::uint8_t>(RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT) == time.code());
}

TEST_CASE_METHOD(fixture, "a path that is given goes as one record of the wire",
                 "[rdma_set_option]") {
  cm::path_record path;
  path.destination_lid = adverb::lid{7};
  id.set_path(path);
  const auto told = option<ibv_path_data>(RDMA_OPTION_IB, RDMA_OPTION_IB_PATH);
  const ibv_path_data expected = path.native();
  CHECK(std::memcmp(&told, &expected, sizeof told) == 0);
}

TEST_CASE_METHOD(fixture, "each path that librdmacm found is told") {
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

TEST_CASE_METHOD(fixture, "enhancements are told, and those of the peer are heard",
                 "[rdma_set_local_ece][rdma_get_remote_ece]") {
  id.set_local_enhancements({.vendor_id = 0x15b3, .options = 0x77});
  const auto told = last<called::rdma_set_local_ece>();
  CHECK(told.id == id.native_handle());
  CHECK(told.options.vendor_id == 0x15b3);
  CHECK(told.options.options == 0x77);
  CHECK(told.options.comp_mask == 0);
  CHECK(id.remote_enhancements() ==
        adverb::connection_enhancements{.vendor_id = 0x1234, .options = 0x5});

  adverb::failure why;
  machine.fail<called::rdma_get_remote_ece>(EIO);
  CHECK(id.remote_enhancements(why) == adverb::connection_enhancements{});
  CHECK(why.code() == std::errc::io_error);
}

TEST_CASE_METHOD(fixture, "an event of the queue pair is passed on as it is", "[rdma_notify]") {
  for (const auto& [event, native] :
       {std::pair{adverb::async_event_type::communication_established, IBV_EVENT_COMM_EST},
        std::pair{adverb::async_event_type::path_migrated, IBV_EVENT_PATH_MIG}}) {
    id.notify(event);
    CHECK(last<called::rdma_notify>().id == id.native_handle());
    CHECK(last<called::rdma_notify>().event == native);
  }
}

TEST_CASE_METHOD(fixture, "a request is rejected for its enhancements, with words",
                 "[rdma_reject_ece]") {
  id.bind(here);
  id.listen(1);
  manager.request(id.native_handle());
  const cm::identifier request = channel.next_event()->take_request();
  const std::array bytes{std::byte{'n'}, std::byte{'o'}};
  request.reject_enhancements(cm::private_data{bytes});
  CHECK(last<called::rdma_reject_ece>().id == request.native_handle());
  CHECK(last<called::rdma_reject_ece>().private_data == "no");
  CHECK(machine.count<called::rdma_reject>() == 0);
}

TEST_CASE_METHOD(fixture, "what a queue pair is to be set to is told with what of it counts",
                 "[rdma_init_qp_attr]") {
  id.bind(here);
  const cm::queue_pair_settings settings = id.settings_for(adverb::qp_state::init);
  CHECK(last<called::rdma_init_qp_attr>().id == id.native_handle());
  CHECK(last<called::rdma_init_qp_attr>().state == IBV_QPS_INIT);
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
  const auto what = [&]<class Call>(std::in_place_type_t<Call>, const auto& operation) {
    return std::string{reported([&] { machine.fail<Call>(EIO); }, operation).what()};
  };
  const std::string rest = " on rdma_cm identifier: EIO (Input/output error)";
  constexpr std::in_place_type_t<called::rdma_set_option> option;
  const auto option_failed = [&](const auto& operation) {
    CHECK(what(option, operation) == "rdma_set_option" + rest);
  };
  option_failed([&](auto&&... policy) { id.set_type_of_service(1, policy...); });
  option_failed([&](auto&&... policy) { id.set_reuse_address(true, policy...); });
  option_failed([&](auto&&... policy) { id.set_address_family_only(true, policy...); });
  option_failed([&](auto&&... policy) { id.set_acknowledge_timeout(1s, policy...); });
  option_failed([&](auto&&... policy) { id.set_path({}, policy...); });
  CHECK(what(std::in_place_type<called::rdma_set_local_ece>, [&](auto&&... policy) {
          id.set_local_enhancements({}, policy...);
        }) == "rdma_set_local_ece" + rest);
  CHECK(what(std::in_place_type<called::rdma_get_remote_ece>, [&](auto&&... policy) {
          (void)id.remote_enhancements(policy...);
        }) == "rdma_get_remote_ece" + rest);
  CHECK(what(std::in_place_type<called::rdma_notify>, [&](auto&&... policy) {
          id.notify(adverb::async_event_type::communication_established, policy...);
        }) == "rdma_notify" + rest);
}
