// SPDX-License-Identifier: MIT
// Registered memory that a loop keeps until the device has let go of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include <adverb/memory/memory_region.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

class link;

/// Bytes that begin at a cache line, as far as a type may demand in a ring.
struct aligned_bytes {
  static constexpr std::size_t alignment = 64;
  void operator()(std::byte* begin) const noexcept {
    ::operator delete[](begin, std::align_val_t{alignment});
  }
  /// Makes bytes that are 0.
  [[nodiscard]] static std::unique_ptr<std::byte[], aligned_bytes> make(std::size_t size) {
    return std::unique_ptr<std::byte[], aligned_bytes>{new (std::align_val_t{alignment})
                                                           std::byte[size]()};
  }
};

/// Memory with its registration.
struct kept_memory {
  kept_memory(protection_domain_ref domain, std::size_t size, access_rights rights,
              on_failure policy)
      : kept_memory{size} {
    region = memory_region{domain, std::span{bytes.get(), size}, rights, policy};
  }
  /// Makes memory without a registration.
  explicit kept_memory(std::size_t size) : bytes{aligned_bytes::make(size)}, length{size} {}

  std::unique_ptr<std::byte[], aligned_bytes> bytes;
  std::size_t length;
  memory_region region;
  /// The object of the program that refers to it has gone.
  bool is_given_back = false;
  /// The number of memories of the device that had been given back then.
  std::uint64_t given_back_at = 0;
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
  /// The object of the program that refers to a memory has gone. The links are those of the loop.
  void give_back(kept_memory& memory, std::span<const std::unique_ptr<link>> links) noexcept;
  /// The same for a memory that no device uses, which is freed.
  void free(const kept_memory& memory) noexcept;
  /// Frees what no link uses any more: each link has been without requests in progress since.
  /// Returns false if memory that was given back is left.
  bool free_unused(std::span<const std::unique_ptr<link>> links) noexcept;
  /// Returns the number of memories that have been given back.
  [[nodiscard]] std::uint64_t given_back() const noexcept { return given_back_; }

 private:
  /// Notes the links of the device that have no requests in progress. Returns the number of
  /// memories that had been given back when each of them had none the last time, the least.
  std::uint64_t note_idle(std::span<const std::unique_ptr<link>> links) const noexcept;

  std::vector<std::unique_ptr<kept_memory>> all_;
  std::uint64_t given_back_ = 0;
};

}  // namespace adverb::inline ADVERB_ABI::detail
