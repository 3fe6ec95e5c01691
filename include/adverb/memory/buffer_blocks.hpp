// SPDX-License-Identifier: MIT
// Blocks: registered memory cut into parts of equal size.
#pragma once

#include <cstddef>
#include <cstdint>

#include <adverb/core/detail/hardening.hpp>
#include <adverb/memory/buffer.hpp>

namespace adverb::inline ADVERB_ABI {

/// A region cut into blocks of equal size, numbered from 0.
template <class Buffer>
class buffer_blocks {
 public:
  buffer_blocks() noexcept = default;
  buffer_blocks(adopt_t, std::uint64_t address, lkey key, std::uint32_t block_size,
                std::size_t count) noexcept
      : address_{address}, count_{count}, block_size_{block_size}, key_{key} {}

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  /// Returns the size of one block in bytes.
  [[nodiscard]] std::uint32_t block_size() const noexcept { return block_size_; }

  /// Returns a block. Aborts the program if `index` is out of range (ADVERB_HARDENING_FAST).
  [[nodiscard]] Buffer operator[](std::size_t index) const noexcept {
    if constexpr (detail::hardened(ADVERB_HARDENING_FAST))
      if (index >= count_) [[unlikely]]
        out_of_range(index, count_);
    return Buffer{adopt, ibv_sge{address_ + index * block_size_, block_size_,
                                 static_cast<std::uint32_t>(key_)}};
  }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] static void out_of_range(std::size_t index,
                                                                  std::size_t count) noexcept {
    detail::end_program("buffer_blocks::operator[]", [=](failure_description& description) {
      description.explain([=](text_writer& writer) {
        writer.put("block ").decimal(index).put(" of ").decimal(count);
      });
    });
  }

  std::uint64_t address_ = 0;
  std::size_t count_ = 0;
  std::uint32_t block_size_ = 0;
  lkey key_{};
};

}  // namespace adverb::inline ADVERB_ABI
