// SPDX-License-Identifier: MIT
// Posts by a function of another unit, which takes its buffers by value, by reference, or as a
// span. By value, C passes what a write needs: address and key.
#include <array>

#include "posts.hpp"

namespace {

using overhead::block_size;

template <auto Post>
std::uint64_t values_in_c(overhead::c_objects c, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t offset = overhead::offset_of(index);
    const std::uint32_t length = overhead::length_of(index);
    if (!Post(c.pair, c.remote_address + offset, c.remote_key,
              {c.memory + offset, length, c.local_key}, index))
      break;
  }
  return index;
}

template <auto Post>
std::uint64_t references_in_c(overhead::c_objects c, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t offset = overhead::offset_of(index);
    const ibv_sge block{c.memory + offset, overhead::length_of(index), c.local_key};
    const posts::c_remote there{c.remote_address + offset, c.remote_key};
    if (!Post(c.pair, &there, &block, index)) break;
  }
  return index;
}

template <auto Post>
std::uint64_t span_in_c(overhead::c_objects c, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t offset = overhead::offset_of(index);
    const std::uint32_t length = overhead::length_of(index);
    const ibv_sge blocks[] = {{c.memory + offset, length, c.local_key},
                              {c.memory + offset + 256, length, c.local_key}};
    if (!Post(c.pair, blocks, 2, index)) break;
  }
  return index;
}

std::uint64_t values(overhead::adverb_objects my, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t offset = overhead::offset_of(index);
    if (!posts::write_value(my.pair, my.remote.unchecked_slice(offset / 8, block_size / 8),
                            my.region.unchecked_slice(offset, overhead::length_of(index)), index))
      break;
  }
  return index;
}

std::uint64_t references(overhead::adverb_objects my, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t offset = overhead::offset_of(index);
    if (!posts::write_reference(my.pair, my.remote.unchecked_slice(offset / 8, block_size / 8),
                                my.region.unchecked_slice(offset, overhead::length_of(index)),
                                index))
      break;
  }
  return index;
}

std::uint64_t span(overhead::adverb_objects my, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t offset = overhead::offset_of(index);
    const std::uint32_t length = overhead::length_of(index);
    const std::array<adverb::const_buffer, 2> blocks{
        my.region.unchecked_slice(offset, length), my.region.unchecked_slice(offset + 256, length)};
    if (!posts::send_span(my.pair, blocks, index)) break;
  }
  return index;
}

using c_values = bool (*)(ibv_qp*, std::uint64_t, std::uint32_t, ibv_sge, std::uint64_t) noexcept;
using c_references = bool (*)(ibv_qp*, const posts::c_remote*, const ibv_sge*,
                              std::uint64_t) noexcept;
using c_span = bool (*)(ibv_qp*, const ibv_sge*, int, std::uint64_t) noexcept;

const overhead::listed_job listed_values{
    {.name = "post in another unit, values",
     .careful_bar = 1.05,
     .reached = 1.29,
     .careful = values_in_c<c_values{posts::write_value}>,
     .ordinary = values_in_c<c_values{posts::write_value_zeroed}>,
     .with_adverb = values}};
const overhead::listed_job listed_references{
    {.name = "post in another unit, references",
     .careful_bar = 1.05,
     .reached = 1.18,
     .careful = references_in_c<c_references{posts::write_reference}>,
     .ordinary = references_in_c<c_references{posts::write_reference_zeroed}>,
     .with_adverb = references}};
const overhead::listed_job listed_span{{.name = "post in another unit, span",
                                        .careful_bar = 1.05,
                                        .careful = span_in_c<c_span{posts::send_span}>,
                                        .ordinary = span_in_c<c_span{posts::send_span_zeroed}>,
                                        .with_adverb = span}};

}  // namespace
