// SPDX-License-Identifier: MIT
// Explanations of failed memory registrations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <system_error>

#include <sys/resource.h>
#include <unistd.h>

#include <adverb/core/detail/lifetime.hpp>
#include <adverb/device/detail/device_limit.hpp>
#include <adverb/memory/access.hpp>
#include <adverb/memory/protection_domain.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The parameters of a registration.
struct registration_attempt {
  /// Empty if the device is unknown.
  protection_domain_ref domain = {};
  /// The start of the memory in the process, and the requested start as the device sees it.
  std::uint64_t address = 0;
  std::uint64_t device_address = 0;
  std::size_t length = 0;
  access_rights rights = {};
  /// Whether the memory is const.
  bool constant = false;
};

/// A right, and the device feature that it needs.
struct right_and_feature {
  access_right right;
  bool (*has)(const device_attributes& device) noexcept;
  std::string_view feature;
};

/// Returns whether a device has one of these capabilities.
template <device_capabilities Capabilities>
[[nodiscard]] bool has_any(const device_attributes& device) noexcept {
  return device.capabilities().intersects(Capabilities);
}

inline constexpr std::array rights_and_features{
    right_and_feature{access_right::remote_atomic,
                      [](const device_attributes& device) noexcept {
                        return device.atomicity() != atomicity::none;
                      },
                      "atomic operations"},
    right_and_feature{
        access_right::window_bind,
        has_any<device_capability::memory_windows | device_capability::memory_windows_type_2a |
                device_capability::memory_windows_type_2b>,
        "memory windows"},
    right_and_feature{access_right::on_demand,
                      [](const device_attributes& device) noexcept {
                        return device.on_demand_paging().features.contains(
                            paging_feature::explicit_registration);
                      },
                      "on-demand paging"},
    right_and_feature{access_right::flush_global, has_any<device_capability::flush_global>,
                      "flushes to global visibility"},
    right_and_feature{access_right::flush_persistent, has_any<device_capability::flush_persistent>,
                      "flushes to persistence"},
};

/// Returns whether the attempt is for an implicit region: the whole address space, on demand.
[[nodiscard]] constexpr bool is_implicit(const registration_attempt& attempt) noexcept {
  return attempt.rights.contains(access_right::on_demand) &&
         attempt.length == std::numeric_limits<std::size_t>::max();
}

/// Adds the problems that do not depend on the device.
inline void explain_rights(problem_list& problems, const registration_attempt& attempt) {
  const access_rights rights = attempt.rights;
  const access_rights writing_peers =
      rights & (access_right::remote_write | access_right::remote_atomic);
  if (attempt.length == 0) problems.add("there are no bytes to register");
  if (!writing_peers.empty() && !rights.contains(access_right::local_write))
    problems.add(
        [&](text_writer& writer) { writer.put(writing_peers).put(" needs local_write too"); });
  if (rights.contains(access_right::huge_pages) && !rights.contains(access_right::on_demand))
    problems.add("huge_pages goes with on_demand only");
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (attempt.address % page != attempt.device_address % page)
    problems.add([&](text_writer& writer) {
      writer.put("the memory begins ").decimal(attempt.address % page);
      writer.put(" bytes into a page, and its device address ");
      writer.decimal(attempt.device_address % page).put(": these have to be equal");
    });
}

/// Adds the features that the device lacks, and a length over its limit.
inline void explain_device(problem_list& problems, const registration_attempt& attempt,
                           const device_attributes& device) {
  const auto lacks = [&](std::string_view feature) {
    problems.add([&](text_writer& writer) {
      put_device(writer, attempt.domain.context().native_handle()).put(" has no ").put(feature);
    });
  };
  for (const right_and_feature& each : rights_and_features)
    if (attempt.rights.contains(each.right) && !each.has(device)) lacks(each.feature);
  const paging_features paging = device.on_demand_paging().features;
  if (!is_implicit(attempt))
    add_exceeded(problems, device,
                 {limit<&device_attributes::max_memory_region_size>("the length", attempt.length)});
  else if (paging.contains(paging_feature::explicit_registration) &&
           !paging.contains(paging_feature::implicit_registration))
    lacks("on-demand paging of the whole address space");
}

/// Adds the device's limit of regions, if this domain alone has that many.
inline void explain_regions(problem_list& problems, const registration_attempt& attempt,
                            const device_attributes& device) {
  const child_counts children =
      lifetime_registry::instance().children_of(attempt.domain.native_handle());
  const std::uint32_t regions = children.of[static_cast<std::size_t>(object_kind::memory_region)];
  const std::uint32_t allowed = device.max_memory_regions();
  if (allowed > 0 && regions >= allowed)
    problems.add([&](text_writer& writer) {
      writer.put("the domain has ").decimal(regions).put(" memory regions already, and ");
      writer.put("the device allows ").decimal(allowed).put(" in all");
    });
}

/// Explains the errno, for use if there is no other explanation.
inline void explain_code(problem_list& problems, const std::error_code& code, std::size_t length) {
  if (code == std::errc::bad_address) {
    problems.add("a part of the range is not mapped, or not writable");
  } else if (code == std::errc::not_enough_memory || code == std::errc::operation_not_permitted) {
    rlimit limit{};
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    problems.add([&](text_writer& writer) {
      writer.decimal(length).put(" bytes were asked for, and this process may lock ");
      writer.decimal(limit.rlim_cur)
          .put(" in all: raise the limit with \"ulimit -l unlimited\" or ");
      writer.put("LimitMEMLOCK=infinity");
    });
  }
}

/// Adds all detectable problems of a registration.
inline void explain_registration(problem_list& problems, const std::error_code& code,
                                 const registration_attempt& attempt) {
  explain_rights(problems, attempt);
  if (attempt.domain) {
    std::error_code unknown;
    const device_attributes device = attempt.domain.context().query_device(unknown);
    if (!unknown) explain_device(problems, attempt, device);
    if (!unknown && problems.empty() && code == std::errc::not_enough_memory)
      explain_regions(problems, attempt, device);
  }
  if (problems.empty()) explain_code(problems, code, attempt.length);
}

}  // namespace adverb::inline ADVERB_ABI::detail
