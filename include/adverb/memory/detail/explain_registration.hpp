// SPDX-License-Identifier: MIT
// Explanations of failed memory registrations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

#include <adverb/core/failure.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/memory/registrable_memory.hpp>

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
  /// True if the memory is const.
  bool constant = false;
  /// True if the kernel pins the memory, which the process has at the address: not that of a device
  /// or a dma-buf.
  bool is_pinned = true;
  /// The descriptor of the dma-buf that has the memory. The address is its offset there.
  std::optional<int> dmabuf = {};
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
[[gnu::cold]] void explain_rights(problem_list& problems, const registration_attempt& attempt);

/// Adds the features that the device lacks, and a length over its limit.
[[gnu::cold]] void explain_device(problem_list& problems, const registration_attempt& attempt,
                                  const device_attributes& device);

/// Adds the device's limit of regions, if this domain alone has that many.
[[gnu::cold]] void explain_regions(problem_list& problems, const registration_attempt& attempt,
                                   const device_attributes& device);

/// The memory that a process has locked, and may lock.
struct locking_process {
  /// Returns that of this process; a part that is unknown does not limit it.
  [[nodiscard, gnu::cold]] static locking_process current() noexcept;

  /// The bytes that the kernel counts against the limit.
  std::uint64_t pinned = 0;
  std::uint64_t limit = 0;
  /// The limit that only a privileged process can exceed.
  std::uint64_t hard_limit = 0;
  /// True if the process has CAP_IPC_LOCK, to which most drivers apply no limit.
  bool is_exempt = false;
};

/// Returns the size of the pages that contain a range.
[[nodiscard, gnu::cold]] std::uint64_t bytes_of_pages(std::uint64_t address,
                                                      std::uint64_t length) noexcept;

/// Explains ENOMEM and EPERM by the limit of locked memory. Uses nothing but its arguments.
[[gnu::cold]] void explain_locked_memory(problem_list& problems, std::uint64_t address,
                                         std::uint64_t length, const locking_process& process);

/// Returns true if an errno may mean that the device lacks a feature.
[[nodiscard, gnu::cold]] bool is_about_features(const std::error_code& code) noexcept;

/// Explains the errno, for use if there is no other explanation.
[[gnu::cold]] void explain_code(problem_list& problems, const std::error_code& code,
                                const registration_attempt& attempt);

/// Adds all detectable problems of a registration.
[[gnu::cold]] void explain_registration(problem_list& problems, const std::error_code& code,
                                        const registration_attempt& attempt);

/// Reports a registration that failed, or that cannot succeed.
[[gnu::cold]] void report_registration(on_failure policy, int number, const char* verb,
                                       const registration_attempt& attempt);

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/memory/impl/explain_registration.ipp>
#endif
