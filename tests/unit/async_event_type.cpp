// SPDX-License-Identifier: MIT
// The types of asynchronous events: each has a name, a subject, a severity and a hint.
#include <set>
#include <string>

#include <infiniband/verbs.h>

#include <adverb/device/async_event.hpp>
#include <support/catch.hpp>

namespace {

using adverb::async_event_severity;
using adverb::async_event_subject;
using adverb::async_event_type;

constexpr async_event_type last = async_event_type::device_speed_change;

constexpr async_event_type type_of(std::uint32_t number) {
  return static_cast<async_event_type>(number);
}

}  // namespace

TEST_CASE("every event type has a unique name and a hint") {
  std::set<std::string> names;
  for (std::uint32_t number = 0; number <= static_cast<std::uint32_t>(last); ++number) {
    CAPTURE(number);
    const std::string name = to_string(type_of(number));
    CHECK(name.find("unknown") == std::string::npos);
    CHECK(names.insert(name).second);
    CHECK_FALSE(adverb::hint_for(type_of(number)).empty());
  }
  CHECK(to_string(type_of(21)) == "unknown (21)");
  CHECK(adverb::hint_for(type_of(21)).empty());
  CHECK(adverb::subject_of(type_of(21)) == async_event_subject::device);
}

TEST_CASE("names of events match those of the C library if it uses the field's terms",
          "[ibv_event_type_str]") {
  for (const async_event_type type :
       {async_event_type::communication_established, async_event_type::send_queue_drained,
        async_event_type::path_migrated, async_event_type::port_active,
        async_event_type::port_error, async_event_type::lid_change, async_event_type::gid_change,
        async_event_type::client_reregister})
    CHECK(to_string(type) == ibv_event_type_str(static_cast<ibv_event_type>(type)));
}

TEST_CASE("the subject of an event matches the element that the C library sets") {
  using enum async_event_type;
  const auto all_are_about = [](async_event_subject subject,
                                const std::set<async_event_type>& all) {
    for (std::uint32_t number = 0; number <= static_cast<std::uint32_t>(last); ++number) {
      CAPTURE(number);
      CHECK((adverb::subject_of(type_of(number)) == subject) == all.contains(type_of(number)));
    }
  };
  all_are_about(async_event_subject::queue_pair,
                {queue_pair_fatal_error, queue_pair_request_error, queue_pair_access_error,
                 communication_established, send_queue_drained, path_migrated, path_migration_error,
                 last_work_request_reached});
  all_are_about(async_event_subject::completion_queue, {completion_queue_error});
  all_are_about(async_event_subject::shared_receive_queue,
                {shared_receive_queue_error, shared_receive_queue_limit_reached});
  all_are_about(async_event_subject::work_queue, {work_queue_fatal_error});
  all_are_about(async_event_subject::port, {port_active, port_error, lid_change, pkey_change,
                                            subnet_manager_change, client_reregister, gid_change});
  all_are_about(async_event_subject::device, {device_fatal_error, device_speed_change});
}

TEST_CASE("events have a severity") {
  CHECK(severity_of(async_event_type::device_fatal_error) == async_event_severity::fatal);
  CHECK(severity_of(async_event_type::port_error) == async_event_severity::error);
  CHECK(severity_of(async_event_type::port_active) == async_event_severity::notice);
  CHECK(to_string(async_event_severity::notice) == "notice");
  CHECK(to_string(async_event_severity::error) == "error");
  CHECK(to_string(async_event_severity::fatal) == "fatal");
  CHECK(to_string(static_cast<async_event_severity>(3)) == "unknown (3)");
  CHECK(to_string(async_event_subject::device) == "device");
  CHECK(to_string(async_event_subject::work_queue) == "work queue");
  CHECK(to_string(static_cast<async_event_subject>(6)) == "unknown (6)");
}
