// SPDX-License-Identifier: MIT
// Jobs of which each has one fault.
#include <atomic>
#include <cstdlib>
#include <mutex>

#include "job.hpp"

namespace {

std::uint64_t in_c(overhead::c_objects c, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    ibv_recv_wr* bad;
    if (ibv_post_recv(c.pair, nullptr, &bad) != 0) break;
  }
  return index;
}

/// Does what `in_c` does, and something else before each time.
template <class Also>
std::uint64_t do_also(const overhead::adverb_objects& my, std::uint64_t count, const Also& also) {
  for (std::uint64_t index = 0; index < count; ++index) {
    also();
    ibv_recv_wr* bad;
    if (ibv_post_recv(my.pair.native_handle(), nullptr, &bad) != 0) return index;
  }
  return count;
}

volatile int touched;
std::uint64_t slow(overhead::adverb_objects my, std::uint64_t count) {
  return do_also(my, count, [] { touched = touched + 1; });
}
const overhead::listed_job listed_slow{
    {.name = "slow", .careful_bar = 1.00, .careful = in_c, .ordinary = in_c, .with_adverb = slow}};

void* volatile memory;
std::uint64_t allocates(overhead::adverb_objects my, std::uint64_t count) {
  return do_also(my, count, [] {
    memory = std::malloc(1);
    std::free(memory);
  });
}
const overhead::listed_job listed_allocates{{.name = "allocates",
                                             .careful_bar = 100,
                                             .careful = in_c,
                                             .ordinary = in_c,
                                             .with_adverb = allocates}};

std::mutex mutex;
std::uint64_t locks(overhead::adverb_objects my, std::uint64_t count) {
  return do_also(my, count, [] { const std::lock_guard guard{mutex}; });
}
const overhead::listed_job listed_locks{
    {.name = "locks", .careful_bar = 100, .careful = in_c, .ordinary = in_c, .with_adverb = locks}};

std::atomic<int> counter;
std::uint64_t counts(overhead::adverb_objects my, std::uint64_t count) {
  return do_also(my, count, [] { ++counter; });
}
const overhead::listed_job listed_atomic{{.name = "atomic",
                                          .careful_bar = 100,
                                          .careful = in_c,
                                          .ordinary = in_c,
                                          .with_adverb = counts}};

}  // namespace
