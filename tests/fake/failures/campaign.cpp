// SPDX-License-Identifier: MIT
#include "campaign.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <adverb/core/detail/lifetime.hpp>
#include <adverb/device/detail/atomic_limits.hpp>
#include <support/catch.hpp>

#include "cm/fake/state.hpp"
#include "errnos.hpp"

namespace campaign {
namespace {

using strings = std::vector<std::string>;

/// Words of a call's line: its function, and the object that it is about.
std::string_view word(std::string_view line, std::size_t index) {
  for (; index > 0; --index) {
    const std::size_t space = line.find(' ');
    line = space == line.npos ? std::string_view{} : line.substr(space + 1);
  }
  return line.substr(0, line.find(' '));
}
std::string_view function_of(std::string_view line) { return word(line, 0); }
std::string_view object_of(std::string_view line) { return word(line, 1); }

bool contains_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != text.npos; });
}
bool is_any(std::string_view function, functions names) {
  return std::find(names.begin(), names.end(), function) != names.end();
}

bool is_destroy(std::string_view function) {
  return contains_any(function,
                      {"_destroy_", "_dealloc_", "_dereg_", "_unimport_", "_free_dm", "_close_"});
}
/// Takes back something other than the making of an object.
bool is_undo(std::string_view function) {
  return contains_any(
      function, {"_detach_", "_leave_", "_ack_", "_free", "_end_poll", "_wr_abort", "_disconnect"});
}
/// May be called in order to explain a failure.
bool is_query(std::string_view function) {
  return contains_any(function, {"_query_", "_event_str", "_init_qp_attr"});
}

/// The function that made what the destroy destroys, if that is a part of another object.
functions makers_of_part(std::string_view destroy) {
  static constexpr std::string_view pair[]{"rdma_create_qp", "rdma_create_qp_ex"};
  static constexpr std::string_view queue[]{"rdma_create_srq", "rdma_create_srq_ex"};
  if (destroy == "rdma_destroy_qp") return pair;
  if (destroy == "rdma_destroy_srq") return queue;
  return {};
}

/// These make calls of libibverbs.
constexpr std::string_view callers_of_libibverbs[]{
    "rdma_create_qp",     "rdma_create_qp_ex", "rdma_create_srq",  "rdma_create_srq_ex",
    "rdma_create_ep",     "rdma_get_cm_event", "rdma_accept",      "rdma_disconnect",
    "rdma_destroy_qp",    "rdma_destroy_srq",  "rdma_get_devices", "rdma_leave_multicast",
    "rdma_join_multicast"};

/// rdma_create_ep makes these calls.
constexpr std::string_view steps_of_endpoint[]{"rdma_bind_addr",     "rdma_resolve_addr",
                                               "rdma_resolve_route", "rdma_get_cm_event",
                                               "rdma_ack_cm_event",  "rdma_create_qp"};

/// One walk along a path.
struct walk {
  strings lines;
  /// The lines of the calls that can fail.
  std::vector<std::size_t> can_fail;
  std::size_t lines_at_arrival = 0;
  /// All objects in the order in which they were made, and their number at the failure.
  strings objects;
  std::size_t objects_at_failure = 0;
  std::optional<adverb::failure> why;
  strings told;
  std::size_t left = 0;
  bool registry_is_empty = false;

  [[nodiscard]] std::size_t age_of(std::string_view object) const {
    return static_cast<std::size_t>(std::find(objects.begin(), objects.end(), object) -
                                    objects.begin());
  }
  [[nodiscard]] strings after_arrival() const {
    return {lines.begin() + static_cast<std::ptrdiff_t>(lines_at_arrival), lines.end()};
  }
  [[nodiscard]] bool existed(std::string_view object) const {
    return age_of(object) < objects_at_failure;
  }
};

using adverb::detail::child_counts;
using adverb::detail::lifetime_registry;

/// Returns whether the lifetime checker has no record of the objects that the walk made. The
/// manager's own have the children that they had.
bool registry_is_empty(place& here, const std::map<const void*, child_counts>& before) {
  lifetime_registry& registry = lifetime_registry::instance();
  for (const auto& [object, name] : here.machine.internals().names.objects) {
    const auto own = before.find(object);
    const child_counts expected = own != before.end() ? own->second : child_counts{};
    if (registry.children_of(object).of != expected.of || registry.reserved(object) != 0 ||
        !registry.noted_parents_of(object).empty())
      return false;
  }
  return true;
}

/// Takes the objects that a walk has left out of the tables of the library. Others will have their
/// addresses.
void forget_objects(place& here, const std::map<const void*, child_counts>& before) {
  lifetime_registry& registry = lifetime_registry::instance();
  for (const auto& [object, name] : here.machine.internals().names.objects) {
    const auto own = before.find(object);
    const child_counts left = registry.children_of(object);
    for (std::size_t kind = 0; kind < left.of.size(); ++kind)
      for (std::uint32_t count = own != before.end() ? own->second.of[kind] : 0;
           count < left.of[kind]; ++count)
        registry.remove_child(object, static_cast<adverb::object_kind>(kind));
    registry.take_noted_parents(object);
    adverb::detail::forget_limits_of(static_cast<const ibv_context*>(object));
  }
}

/// Follows the path. The call number `nth` that can fail does so with the errno; so do the later
/// ones of libibverbs if the device has gone.
walk follow_path(path follow, std::optional<std::size_t> nth = std::nullopt, int error = 0,
                 bool device_has_gone = false) {
  walk result;
  const told_failures told;
  place here;
  std::map<const void*, child_counts> before;
  for (const auto& [object, name] : here.machine.internals().names.objects)
    before[object] = lifetime_registry::instance().children_of(object);
  const strings& objects = here.machine.internals().names.in_order;
  here.machine.fail_by([&](const fake::call& call) {
    const std::size_t number = result.can_fail.size();
    const bool fails =
        number == nth || (device_has_gone && number > nth && call.line().starts_with("ibv_"));
    result.can_fail.push_back(here.machine.log().size() - 1);
    if (fails) result.objects_at_failure = objects.size();
    return fails ? error : 0;
  });
  try {
    follow(here);
  } catch (const adverb::error& thrown) {
    result.why = thrown.failure();
  }
  here.machine.fail_nothing();
  result.lines = here.machine.lines().lines;
  result.lines_at_arrival = here.lines_at_arrival();
  result.objects = objects;
  if (!result.why) result.objects_at_failure = objects.size();
  result.told = told.messages();
  result.left = here.manager.live_objects();
  result.registry_is_empty = registry_is_empty(here, before);
  forget_objects(here, before);
  return result;
}

/// Returns whether librdmacm made the call at this line: it makes calls of libibverbs, and
/// rdma_create_ep makes calls of librdmacm.
bool is_inner(const strings& lines, std::size_t index) {
  const std::string_view function = function_of(lines[index]);
  if (!function.starts_with("ibv_") && !is_any(function, steps_of_endpoint)) return false;
  while (index > 0 && lines[index].starts_with("ibv_")) --index;
  if (is_any(function_of(lines[index]), callers_of_libibverbs) && function.starts_with("ibv_"))
    return true;
  while (index > 0 && is_any(function_of(lines[index]), steps_of_endpoint)) --index;
  return function_of(lines[index]) == "rdma_create_ep";
}

/// The lines of the destroys from this line on that the library itself made.
std::vector<std::size_t> destroys_from(const strings& lines, std::size_t first) {
  std::vector<std::size_t> found;
  for (std::size_t index = first; index < lines.size(); ++index)
    if (is_destroy(function_of(lines[index])) && !is_inner(lines, index)) found.push_back(index);
  return found;
}

/// Checks that objects were destroyed in reverse order of their creation. An identifier goes before
/// the channel that it has moved to.
void check_reverse(const walk& along, std::size_t first) {
  std::size_t last = along.objects.size();
  for (const std::size_t line : destroys_from(along.lines, first)) {
    // An explanation destroys objects of its own.
    if (!along.existed(object_of(along.lines[line]))) continue;
    std::size_t age = along.age_of(object_of(along.lines[line]));
    for (const std::string& each : along.lines)
      if (function_of(each) == "rdma_migrate_id" && object_of(each) == object_of(along.lines[line]))
        age = std::max(age, along.age_of(word(each, 2)));
    INFO(along.lines[line]);
    CHECK(age <= last);
    last = age;
  }
}

/// Checks the calls after the failure: the destroys are those of the walk without a failure, of the
/// objects that were there.
void check_calls_after(const walk& whole, const walk& failed, std::size_t failed_line,
                       functions restoring) {
  const auto there = static_cast<std::ptrdiff_t>(failed_line);
  const auto exists = [&](const std::string& destroy) {
    const functions makers = makers_of_part(function_of(destroy));
    return failed.existed(object_of(destroy)) &&
           (makers.empty() || std::any_of(failed.lines.begin(), failed.lines.begin() + there,
                                          [&](const std::string& line) {
                                            return is_any(function_of(line), makers) &&
                                                   object_of(line) == object_of(destroy);
                                          }));
  };
  strings expected;
  std::copy_if(
      whole.lines.begin() + there + 1, whole.lines.end(), std::back_inserter(expected),
      [&](const std::string& line) { return is_destroy(function_of(line)) && exists(line); });
  strings actual;
  std::for_each(failed.lines.begin() + there + 1, failed.lines.end(), [&](const std::string& line) {
    const std::string_view function = function_of(line);
    // An explanation may make objects, of its own only.
    if (is_query(function) || is_any(function, restoring) || !failed.existed(object_of(line)))
      return;
    INFO("called: " << line);
    CHECK((is_destroy(function) || is_undo(function)));
    if (is_destroy(function)) actual.push_back(line);
  });
  CHECK(actual == expected);
}

/// The verb of a failure of this call. Lines have one name for both functions that register memory.
std::string verb_of(const std::string& line) {
  const bool has_address = line.starts_with("ibv_reg_mr ") && line.find(" iova=") != line.npos;
  return has_address ? "ibv_reg_mr_iova" : std::string{function_of(line)};
}

/// Prints a row of the table of `tests/fake/failures/table`.
void print_row(const walk& failed, std::string_view function, int error) {
  static const bool is_asked_for = std::getenv("ADVERB_FAILURES_TABLE") != nullptr;
  if (!is_asked_for) return;
  const auto name = adverb::detail::errno_name(error);
  std::printf("%s\t%s\t%s\n", std::string{function}.c_str(),
              name.empty() ? std::to_string(error).c_str() : std::string{name}.c_str(),
              std::string{failed.why->explanation()}.c_str());
}

}  // namespace

void fail_each_call(path follow, functions restoring) {
  const walk whole = follow_path(follow);
  if (whole.why) FAIL(whole.why->what());
  REQUIRE(whole.lines_at_arrival > 0);
  CHECK(whole.told.empty());
  CHECK(whole.left == 0);
  CHECK(whole.registry_is_empty);
  check_reverse(whole, whole.lines_at_arrival);

  for (std::size_t nth = 0; nth < whole.can_fail.size(); ++nth) {
    const std::size_t line = whole.can_fail[nth];
    const std::string function{function_of(whole.lines[line])};
    if (line >= whole.lines_at_arrival || is_destroy(function) || is_inner(whole.lines, line))
      continue;
    for (const int error : errnos_of(function)) {
      INFO(whole.lines[line] << " fails with " << error);
      const walk failed = follow_path(follow, nth, error);
      if (is_no_failure(whole.lines[line], error)) {
        CHECK_FALSE(failed.why);
        CHECK(failed.left == 0);
        continue;
      }
      CHECK(failed.why);
      if (!failed.why) continue;
      INFO(failed.why->what());
      // A failed poll has no errno.
      CHECK(failed.why->code() ==
            std::error_code(function == "ibv_poll_cq" ? EIO : error, std::generic_category()));
      CHECK(failed.why->verb() == verb_of(failed.lines[line]));
      CHECK((!failed.why->object().empty() || is_without_object(function)));
      CHECK(failed.told == strings{});
      CHECK(failed.left == 0);
      CHECK(failed.registry_is_empty);
      check_calls_after(whole, failed, line, restoring);
      check_reverse(failed, line + 1);
      print_row(failed, function, error);
    }
  }
}

void fail_each_destroy(path follow) {
  const walk whole = follow_path(follow);
  if (whole.why) FAIL(whole.why->what());
  const auto destroys = destroys_from(whole.lines, whole.lines_at_arrival);
  for (std::size_t nth = 0; nth < whole.can_fail.size(); ++nth) {
    const std::size_t line = whole.can_fail[nth];
    if (std::find(destroys.begin(), destroys.end(), line) == destroys.end()) continue;
    if (whole.lines[line].starts_with("ibv_")) {
      INFO(whole.lines[line] << " and all later destroys fail with EIO");
      const walk gone = follow_path(follow, nth, EIO, true);
      CHECK(gone.told == strings{});
      CHECK(gone.after_arrival() == whole.after_arrival());
      CHECK(gone.registry_is_empty);
    }
    for (const int error : errnos_of_destroys) {
      INFO(whole.lines[line] << " fails with " << error);
      const walk failed = follow_path(follow, nth, error);
      CHECK_FALSE(failed.why);
      CHECK_FALSE(failed.told.empty());
      if (failed.told.empty()) continue;
      INFO(failed.told.front());
      CHECK(failed.told.front().starts_with(function_of(whole.lines[line])));
      for (std::size_t each = 1; each < failed.told.size(); ++each) {
        INFO(failed.told[each]);
        CHECK(failed.told[each].find("still in use by ") != std::string::npos);
      }
      CHECK(failed.left == failed.told.size());
    }
  }
}

}  // namespace campaign
