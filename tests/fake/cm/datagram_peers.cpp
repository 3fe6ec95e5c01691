// SPDX-License-Identifier: MIT
// Datagram peers that refuse, with each status of the protocol; no software device returns these.
#include <string>
#include <string_view>
#include <system_error>

#include <support/catch.hpp>
#include <support/reported.hpp>

#include "cm_bench.hpp"

namespace {

namespace cm = adverb::cm;

struct fixture : cm_bench_of<adverb::transport::ud> {};

}  // namespace

TEST_CASE_METHOD(fixture, "resolve_peer reports a rejection with its reason",
                 "[rdma_connect][rdma_get_cm_event]") {
  const adverb::context device = adverb::open_device();
  const adverb::protection_domain domain{device};
  const auto asked = [&](int status, cm::reject_reason reason) {
    CAPTURE(status);
    auto at_route = far();
    manager.answer<called::rdma_connect>({{RDMA_CM_EVENT_UNREACHABLE, status, "why"}});
    adverb::failure why;
    CHECK_FALSE(at_route.resolve_peer(domain, {}, why));
    CHECK(why.verb() == "rdma_connect");
    CHECK(why.code() == std::errc::connection_refused);
    REQUIRE(at_route.rejection());
    CHECK(at_route.rejection()->reason == reason);
    CHECK(at_route.rejection()->private_data.size() == 3);
    return std::string{why.explanation()};
  };
  const auto words = [](cm::reject_reason reason) {
    return "the peer returned no queue pair: " + std::string{describe(reason)};
  };
  using enum cm::reject_reason;
  CHECK(asked(1, invalid_service_id) == words(invalid_service_id));
  CHECK(asked(2, by_the_program) == words(by_the_program));
  CHECK(asked(3, no_queue_pair) == words(no_queue_pair));
  CHECK(asked(4, port_and_manager_redirection) == words(port_and_manager_redirection));
  CHECK(asked(5, invalid_class_version) == words(invalid_class_version));
  // This status is in no specification.
  CHECK(asked(6, unspecified).starts_with("the peer returned no queue pair"));

  // A negative one is none of the peer's.
  auto at_route = far();
  manager.answer<called::rdma_connect>({{RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT}});
  std::error_code code;
  CHECK_FALSE(at_route.resolve_peer(domain, {}, code));
  CHECK(code == std::errc::host_unreachable);
  CHECK_FALSE(at_route.rejection());
}
