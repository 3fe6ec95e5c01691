// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>

#include <sys/resource.h>
#include <unistd.h>

#include <adverb/core/detail/lifetime.hpp>
#include <adverb/device/detail/explain_device.hpp>
#include <adverb/memory/detail/explain_mappings.hpp>
#include <adverb/memory/detail/explain_registration.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void explain_rights(problem_list& problems, const registration_attempt& attempt) {
  const access_rights rights = attempt.rights;
  const access_rights writing_peers =
      rights & (access_right::remote_write | access_right::remote_atomic);
  if (attempt.length == 0) problems.add("the length is 0");
  if (!writing_peers.empty() && !rights.contains(access_right::local_write))
    problems.add("{} needs local_write too", {writing_peers});
  if (rights.contains(access_right::huge_pages) && !rights.contains(access_right::on_demand))
    problems.add("huge_pages requires on_demand");
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (attempt.address % page != attempt.device_address % page)
    problems.add(
        "the offsets within a page differ: {} bytes for the memory, {} for its device address",
        {attempt.address % page, attempt.device_address % page});
}

ADVERB_FUNC void explain_device(problem_list& problems, const registration_attempt& attempt,
                                const device_attributes& device) {
  const auto lacks = [&](std::string_view feature) {
    problems.add("{} has no {}", {attempt.domain.context().native_handle()->device->name, feature});
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

ADVERB_FUNC void explain_regions(problem_list& problems, const registration_attempt& attempt,
                                 const device_attributes& device) {
  const child_counts children =
      lifetime_registry::instance().children_of(attempt.domain.native_handle());
  const std::uint32_t regions = children.of[static_cast<std::size_t>(object_kind::memory_region)];
  const std::uint32_t allowed = device.max_memory_regions();
  if (allowed > 0 && regions >= allowed)
    problems.add("the domain has {} memory regions, and the device allows {} in all",
                 {regions, allowed});
}

ADVERB_FUNC locking_process locking_process::current() noexcept {
  unsigned long kibibytes = 0;
  unsigned long long capabilities = 0;
  if (std::FILE* const status = std::fopen("/proc/self/status", "re")) {
    char line[128];
    while (std::fgets(line, sizeof line, status) != nullptr)
      if (std::sscanf(line, "VmPin: %lu", &kibibytes) != 1)
        static_cast<void>(std::sscanf(line, "CapEff: %llx", &capabilities));
    std::fclose(status);
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) limit = {RLIM_INFINITY, RLIM_INFINITY};
  constexpr unsigned may_lock = 14;  // CAP_IPC_LOCK
  return {.pinned = std::uint64_t{kibibytes} * 1024,
          .limit = limit.rlim_cur,
          .hard_limit = limit.rlim_max,
          .is_exempt = (capabilities >> may_lock & 1) != 0};
}

ADVERB_FUNC std::uint64_t bytes_of_pages(std::uint64_t address, std::uint64_t length) noexcept {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return (address % page + length + page - 1) / page * page;
}

ADVERB_FUNC void explain_locked_memory(problem_list& problems, std::uint64_t address,
                                       std::uint64_t length, const locking_process& process) {
  const std::uint64_t needed = bytes_of_pages(address, length);
  const auto fits_in = [&](std::uint64_t limit) {
    return process.pinned < limit && needed <= limit - process.pinned;
  };
  const bool fits = fits_in(process.limit);
  if (fits || process.is_exempt) {
    problems.add(
        fits ? "possible causes: no memory is left, or the device has no room for another region; "
               "of the {} bytes that this process may lock, {} are pinned"
             : "possible causes: no memory is left, the device has no room for another region, or "
               "the driver applies the limit of locked memory to root too; of the {} bytes that "
               "this process may lock, {} are pinned",
        {process.limit, process.pinned});
    return;
  }
  problems.add([&](text_writer& writer) {
    writer.put("{} bytes were requested", {length});
    if (needed != length) writer.put(", in pages of {} bytes", {needed});
    writer.put(", and this process may lock {} in all", {process.limit});
    if (process.pinned != 0) writer.put(", of which {} are pinned", {process.pinned});
    writer.put(": raise the limit with ");
    // A process that is not privileged cannot exceed the hard limit.
    if (process.hard_limit == RLIM_INFINITY)
      writer.put("\"ulimit -l unlimited\"");
    else if (fits_in(process.hard_limit))
      writer.put("\"ulimit -l hard\"");
    else
      writer.put("memlock in /etc/security/limits.conf");
    writer.put(", LimitMEMLOCK=infinity or --ulimit memlock=-1 of a container");
  });
}

ADVERB_FUNC void explain_code(problem_list& problems, const std::error_code& code,
                              const registration_attempt& attempt) {
  if (attempt.dmabuf) {
    if (is_code(code, std::errc::bad_file_descriptor) || is_code(code, std::errc::invalid_argument))
      explain_dmabuf(problems, *attempt.dmabuf, attempt.address, attempt.length);
  } else if (is_code(code, std::errc::bad_address)) {
    if (attempt.is_pinned)
      explain_mappings(problems, attempt.address, attempt.length,
                       attempt.rights.contains(access_right::local_write));
  } else if (is_code(code, std::errc::not_enough_memory) ||
             is_code(code, std::errc::operation_not_permitted)) {
    const locking_process process = locking_process::current();
    if (process.limit == RLIM_INFINITY || !attempt.is_pinned ||
        attempt.rights.contains(access_right::on_demand))
      return;
    explain_locked_memory(problems, attempt.address, attempt.length, process);
  } else if (is_code(code, std::errc::invalid_argument) &&
             attempt.rights.contains(access_right::flush_persistent)) {
    problems.add("flush_persistent requires persistent memory, such as device DAX (/dev/dax0.0)");
  }
}

ADVERB_FUNC bool is_about_features(const std::error_code& code) noexcept {
  return is_code(code, std::errc::invalid_argument) || is_code(code, std::errc::not_supported) ||
         is_code(code, std::errc::operation_not_supported);
}

ADVERB_FUNC void explain_registration(problem_list& problems, const std::error_code& code,
                                      const registration_attempt& attempt) {
  explain_rights(problems, attempt);
  if (attempt.domain) {
    std::error_code unknown;
    const device_attributes device = attempt.domain.context().query_device(unknown);
    if (!unknown && is_about_features(code)) explain_device(problems, attempt, device);
    if (!unknown && problems.empty() && is_code(code, std::errc::not_enough_memory))
      explain_regions(problems, attempt, device);
  }
  if (problems.empty()) explain_code(problems, code, attempt);
}

[[gnu::noinline]] ADVERB_FUNC void report_registration(on_failure policy, int number,
                                                       const char* verb,
                                                       const registration_attempt& attempt) {
  policy.report(number, verb, [&](failure_description& description) {
    on_device(attempt.domain.context().native_handle())(description);
    description.explain([&](text_writer& writer) {
      explain_constant(writer, attempt.constant, attempt.rights);
      if (writes_constant(attempt.constant, attempt.rights)) return;
      problem_list problems{writer};
      explain_registration(problems, description.code(), attempt);
    });
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail
