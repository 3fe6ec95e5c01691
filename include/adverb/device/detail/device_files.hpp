// SPDX-License-Identifier: MIT
// Explains why a program cannot open a device, from sysfs and the files in /dev/infiniband.
#pragma once

#include <cstdint>
#include <string_view>

#include <adverb/core/failure.hpp>
#include <adverb/device/device.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// A device in sysfs, and its file as this process finds it.
struct device_file {
  /// "rxe0"; "rdma_cm" for the file of librdmacm.
  std::string_view device;
  /// "/dev/infiniband/uverbs0".
  std::string_view path;
  /// The errno of open(2); 0 if the process can open the file.
  int error = 0;
  /// The permissions of the file, and the effective user of the process.
  std::uint32_t mode = 0;
  std::uint32_t user = 0;
};

/// Opens and closes the file.
[[nodiscard, gnu::cold]] device_file inspect_device_file(std::string_view device,
                                                         const char* path) noexcept;

/// Calls `function` with each verbs device of /sys/class/infiniband_verbs. Returns false if that
/// cannot be read.
[[gnu::cold]] bool for_each_device_file(callable_ref<const device_file&> function) noexcept;

/// Adds device files that cannot be opened: "rxe0: /dev/infiniband/uverbs0 does not exist". Uses
/// nothing but its arguments.
class device_file_problems {
 public:
  explicit device_file_problems(problem_list& problems) noexcept : problems_{problems} {}

  /// Adds the problem of a file; nothing if the file can be opened.
  [[gnu::cold]] void add(const device_file& file);
  /// Adds a device that libibverbs does not list. If its file can be opened, the cause is
  /// elsewhere.
  [[gnu::cold]] void add_unlisted(const device_file& file);
  /// Adds that the machine has no device.
  [[gnu::cold]] void add_none();
  /// Adds the remedy for files that a container does not have.
  [[gnu::cold]] void finish();

 private:
  problem_list& problems_;
  unsigned count_ = 0;
  bool may_be_container_ = false;
};

/// Adds each device of sysfs whose file this process cannot open; only that of `device` if given.
[[gnu::cold]] void explain_closed_devices(problem_list& problems, std::string_view device = {});

/// Adds `device` if sysfs lists it and libibverbs does not; each device of sysfs if libibverbs
/// lists none. Adds a sentence if neither lists any.
[[gnu::cold]] void explain_unlisted_devices(device_file_problems& files, const device_list& listed,
                                            std::string_view device = {});

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/device/impl/device_files.ipp>
#endif
