// SPDX-License-Identifier: MIT
// Functions that librdmacm has from rdma-core 60 on, with headers that declare them and with
// headers that do not.
#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>

#include <netdb.h>

#include <support/catch.hpp>

#include "cm_bench.hpp"

namespace {

namespace cm = adverb::cm;

/// Functions with the names of those of later headers, found by their argument.
namespace later {
struct id {
  int answer = 0;
  int error = 0;
  std::string asked{};

  int answered(std::string what) {
    asked = std::move(what);
    errno = error;
    return answer;
  }
};
int rdma_resolve_addrinfo(id* asked, const char* node, const char* service,
                          const rdma_addrinfo* hints) {
  return asked->answered(std::string{node} + ":" + service + ":" + std::to_string(hints->ai_flags));
}
int rdma_query_addrinfo(id* asked, rdma_addrinfo** info) {
  static rdma_addrinfo found{};
  if (asked->answer == 0) *info = &found;
  return asked->answered("found");
}
int rdma_write_cm_event(id* asked, rdma_cm_event_type type, int status, std::uint64_t argument) {
  return asked->answered(std::to_string(type) + ":" + std::to_string(status) + ":" +
                         std::to_string(argument));
}
}  // namespace later

template <class Id>
constexpr bool are_declared =
    requires(Id* id, rdma_addrinfo** info) { rdma_query_addrinfo(id, info); };

constexpr auto nothing = [](adverb::failure_description&) {};

}  // namespace

TEST_CASE_METHOD(identifier_bench, "an identifier looks up addresses, and an event reports the end",
                 "[rdma_resolve_addrinfo][rdma_query_addrinfo]") {
  if constexpr (are_declared<rdma_cm_id>) {
    CHECK_THAT(log_of([&] { id.look_up("10.0.0.2", "7471"); }),
               is_log(R"(rdma_resolve_addrinfo id0 node="10.0.0.2" service="7471" hints={})"));
    CHECK(channel.next_event()->type() == cm::event_type::address_info_resolved);
    CHECK(id.found_addresses().front().destination() == peer);

    std::error_code code;
    CHECK(id.found_addresses(code).empty());
    CHECK(code == std::errc::no_such_file_or_directory);
    id.look_up("nowhere", "7471", {}, code);
    CHECK(code == cm::lookup_error::host_not_found);
    CHECK(message_of<called::rdma_resolve_addrinfo>(EBUSY, [&](auto&... policy) {
            id.look_up("10.0.0.2", "7471", {}, policy...);
          }) == "rdma_resolve_addrinfo on 10.0.0.2:7471: EBUSY (Device or resource busy)");
  } else {
    CHECK(std::string{reported([&](auto&... policy) {
                        id.look_up("10.0.0.2", "7471", {}, policy...);
                      }).what()} ==
          "rdma_resolve_addrinfo on 10.0.0.2:7471: EOPNOTSUPP (Operation not supported); adverb "
          "was compiled with headers of rdma-core that lack rdma_resolve_addrinfo");
    const adverb::failure why =
        reported([&](auto&... policy) { (void)id.found_addresses(policy...); });
    CHECK(why.code() == std::errc::operation_not_supported);
  }
}

TEST_CASE_METHOD(identifier_bench, "an identifier raises an event of the program",
                 "[rdma_write_cm_event]") {
  if constexpr (are_declared<rdma_cm_id>) {
    CHECK_THAT(log_of([&] { id.raise_event(0x1122334455667788, 5); }),
               is_log("rdma_write_cm_event id0 event=18 status=5 arg=1234605616436508552"));
    const std::optional<cm::event> event = channel.next_event();
    CHECK(event->type() == cm::event_type::user);
    CHECK(event->status() == 5);
    CHECK(event->user_argument() == 0x1122334455667788);
    CHECK(event->private_data().empty());
    manager.raise(id.native_handle(), {.type = RDMA_CM_EVENT_REJECTED, .private_data = "no"});
    CHECK(channel.next_event()->user_argument() == 0);
  } else {
    const adverb::failure why = reported([&](auto&... policy) { id.raise_event(1, 0, policy...); });
    CHECK(why.code() == std::errc::operation_not_supported);
  }
}

TEST_CASE("the later calls of librdmacm get their arguments and are checked") {
  later::id id;
  std::error_code code;
  rdma_addrinfo hints{};
  hints.ai_flags = RAI_NOROUTE;
  const adverb::detail::native_lookup wanted{"host", "7471", &hints, nothing};
  adverb::detail::resolve_address_info(&id, wanted, code);
  CHECK(!code);
  CHECK(id.asked == "host:7471:4");
  CHECK(adverb::detail::query_address_info(&id, nothing, code) != nullptr);
  CHECK(!code);
  adverb::detail::write_event(&id, 3, 5, 77, nothing, code);
  CHECK(!code);
  CHECK(id.asked == "3:5:77");

  id = {-1, EAI_NONAME};
  adverb::detail::resolve_address_info(&id, wanted, code);
  CHECK(code == cm::lookup_error::host_not_found);
  id.error = ENOENT;
  CHECK(adverb::detail::query_address_info(&id, nothing, code) == nullptr);
  CHECK(code == std::errc::no_such_file_or_directory);
  id.error = EINVAL;
  adverb::detail::write_event(&id, 3, 5, 77, nothing, code);
  CHECK(code == std::errc::invalid_argument);
}

TEST_CASE("the lookup for the subnet administrator sets the flag of later headers") {
  CHECK(adverb::detail::lookup_hints({.subnet_administrator = true}).ai_flags == 0x10);
}
