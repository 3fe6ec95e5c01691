// SPDX-License-Identifier: MIT
// Functions of librdmacm from rdma-core 60 on: events of programs, and lookups by an identifier,
// which end with such an event.
#include <chrono>
#include <cstdint>
#include <string_view>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

#include "cm/support.hpp"

using namespace adverb;

namespace {

struct identifier_with_channel {
  cm::event_channel channel = cm::event_channel::create();
  cm::identifier id = cm::identifier::create(channel, cm::port_space::tcp);

  [[nodiscard]] cm::event next(cm::event_type type) {
    auto event = channel.next_event(std::chrono::seconds{10});
    REQUIRE(event);
    REQUIRE(event->type() == type);
    return *std::move(event);
  }
};

/// Reports a skip where the headers or the kernel lack the call.
void tell_lack(std::string_view test, const failure& why) {
  const context device = open_device();
  CHECK((why.code() == std::errc::operation_not_supported ||
         (why.code() == std::errc::invalid_argument &&
          holds(device_facts::programs_raise_no_events, device))));
  tell_skip(test, why.what());
}

}  // namespace

TEST_CASE("An identifier raises an event of the program", "[optional][rdma_write_cm_event]") {
  identifier_with_channel made;
  failure why;
  made.id.raise_event(0x1122334455667788, 5, why);
  if (why) return tell_lack("an event of the program", why);
  const cm::event event = made.next(cm::event_type::user);
  CHECK(event.status() == 5);
  CHECK(event.user_argument() == 0x1122334455667788);
}

TEST_CASE("An event reports that an identifier has looked up an address",
          "[optional][rdma_resolve_addrinfo][rdma_query_addrinfo]") {
  identifier_with_channel made;
  failure why;
  made.id.look_up(cm_test::environment("SOFTRDMA_ADDRESS"), "7471", {.numeric_host = true}, why);
  if (why) return tell_lack("a lookup by an identifier", why);
  CHECK(made.next(cm::event_type::address_info_resolved).status() == 0);
  const auto found = made.id.found_addresses();
  REQUIRE_FALSE(found.empty());
  CHECK(found.front().destination() == cm_test::device_address(7471));

  const failure taken =
      reported([&](auto&&... policy) { (void)made.id.found_addresses(policy...); });
  CHECK(taken.code() == std::errc::no_such_file_or_directory);
}
