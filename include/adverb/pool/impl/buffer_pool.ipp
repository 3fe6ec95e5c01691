// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <new>

#include <adverb/pool/buffer_pool.hpp>

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC buffer_pool::buffer_pool(registered_resource& memory,
                                     const buffer_pool_options& options, on_failure policy)
    : memory_{&memory} {
  if (options.block_size == 0 || options.blocks == 0 || options.blocks >> 31 != 0) {
    policy.report(EINVAL, "buffer_pool", [&](failure_description& description) {
      description.explain(
          "{} blocks of {} bytes: both must be at least 1, and less than 2^31 blocks",
          {options.blocks, options.block_size});
    });
    return;
  }
  const std::size_t stride = (std::size_t{options.block_size} + 63) / 64 * 64;
  blocks_ = std::make_unique<block_state[]>(options.blocks);
  void* const begin = memory.try_allocate(stride * options.blocks, 64, policy);
  if (begin == nullptr) return;
  first_ = static_cast<std::byte*>(begin);
  stride_ = stride;
  count_ = options.blocks;
  block_size_ = options.block_size;
  key_ = region().lkey();
  for (std::uint32_t index = count_; index-- > 0;) give_back(index);
}

ADVERB_FUNC buffer_pool::~buffer_pool() {
  if (count_ == 0) return;
  if constexpr (detail::hardened(ADVERB_HARDENING_FAST)) {
    std::size_t left = 0;
    for (std::uint32_t index = 0; index < count_; ++index)
      if (blocks_[index] == leased) ++left;
    if (left != 0)
      detail::end_program("buffer_pool", [&](failure_description& description) {
        description.explain("the pool is destroyed while {} blocks of it are leased", {left});
      });
  }
  memory_->deallocate(first_, stride_ * count_, 64);
}

ADVERB_FUNC void buffer_pool::end_of_wrong_id(std::uint64_t id) const noexcept {
  detail::end_program("buffer_pool::lease_of", [&](failure_description& description) {
    description.explain([&](text_writer& writer) {
      writer.put("the id 0x").hexadecimal(id);
      writer.put(owns(id) ? " is of a block that is not in flight: it has completed already"
                          : " is not of a block of this pool");
    });
  });
}

}  // namespace adverb::inline ADVERB_ABI
