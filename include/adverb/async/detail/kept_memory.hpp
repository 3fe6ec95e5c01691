// SPDX-License-Identifier: MIT
// Registered memory that a loop keeps until the device has let go of it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <adverb/memory/memory_region.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

class link;

/// Memory with its registration, and the links that may use it.
struct kept_memory {
  kept_memory(protection_domain_ref domain, std::size_t size, access_rights rights,
              on_failure policy)
      : kept_memory{size} {
    region = memory_region{domain, std::span{bytes.get(), size}, rights, policy};
  }
  /// Makes memory without a registration.
  explicit kept_memory(std::size_t size)
      : bytes{std::make_unique<std::byte[]>(size)}, length{size} {}

  std::unique_ptr<std::byte[]> bytes;
  std::size_t length;
  memory_region region;
  /// The object of the program that refers to it has gone.
  bool is_given_back = false;
  /// The links that had requests in progress then, and have not been without any since.
  std::vector<link*> users{};
};

/// The memory that a loop keeps for one device. Not thread safe.
class memory_keeper {
 public:
  memory_keeper() noexcept = default;
  memory_keeper(const memory_keeper&) = delete;
  memory_keeper& operator=(const memory_keeper&) = delete;
  ~memory_keeper();

  /// Registers new memory. Returns null on failure.
  [[nodiscard]] kept_memory* add(protection_domain_ref domain, std::size_t size,
                                 access_rights rights, on_failure policy);
  /// Frees what no link uses any more. Returns false if memory that was given back is left.
  bool free_unused() noexcept;
  /// A link is destroyed.
  void forget(const link& which) noexcept;

 private:
  std::vector<std::unique_ptr<kept_memory>> all_;
};

}  // namespace adverb::inline ADVERB_ABI::detail
