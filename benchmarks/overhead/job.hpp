// SPDX-License-Identifier: MIT
// A job: one task that programs do with verbs, in careful C, in ordinary C and with adverb. Careful
// C sets only the members that are read; ordinary C zeroes its structs first. If they differ in
// nothing else, one template is both.
//
// To add a job, drop a file into jobs/ that defines and registers its functions:
//
//     namespace {
//
//     template <bool Zeroed>
//     std::uint64_t in_c(overhead::c_objects c, std::uint64_t count) { … }
//     std::uint64_t with_adverb(overhead::adverb_objects my, std::uint64_t count) { … }
//
//     const overhead::listed_job listed{{.name = "write",
//                                        .careful_bar = 1.00,
//                                        .careful = in_c<false>,
//                                        .ordinary = in_c<true>,
//                                        .with_adverb = with_adverb}};
//
//     }  // namespace
//
// Each function does its work `count` times in a loop, and returns the sum of what it found or,
// where there is nothing to find, how many times the work succeeded. Id, address and length are
// made from the loop's counter; the return code of each call is checked, and the loop ends when one
// fails.
#pragma once

#include <cstdint>

#include <adverb/adverb.hpp>

namespace overhead {

// The offsets and lengths that the loops compute from their counters: blocks of the region in turn.
inline constexpr std::uint64_t block_count = 1024;
inline constexpr std::uint64_t block_size = 256;
[[nodiscard]] constexpr std::uint64_t offset_of(std::uint64_t index) noexcept {
  return index % block_count * block_size;
}
[[nodiscard]] constexpr std::uint32_t length_of(std::uint64_t index) noexcept {
  return static_cast<std::uint32_t>(index) % block_size;
}

/// The number of completions at a time.
inline constexpr std::size_t completions_a_round = 16;

/// The objects that the jobs in C use, all of one provider. A region has its address and keys here,
/// because no loop reads them from the object again.
struct c_objects {
  ibv_qp* pair;         // RC
  ibv_qp* datagrams;    // UD
  ibv_qp_ex* sender;    // the extended calls of `pair`
  ibv_cq* queue;        // every poll finds as many completions as there is room for
  ibv_cq* sends;        // the same, but nothing else than sends of `pair`
  ibv_cq_ex* extended;  // every round finds `completions_a_round`
  ibv_srq* shared;
  ibv_ah* address;
  std::uint64_t memory;
  std::uint64_t memory_size;  // also the size of the remote memory
  std::uint32_t local_key;
  std::uint64_t remote_address;
  std::uint32_t remote_key;
};

/// The same objects for the jobs with adverb.
struct adverb_objects {
  using remote_words =
      adverb::remote_buffer<std::uint64_t, adverb::access_right::remote_read |
                                               adverb::access_right::remote_write |
                                               adverb::access_right::remote_atomic>;

  adverb::queue_pair_ref<adverb::transport::rc> pair;
  adverb::queue_pair_ref<adverb::transport::ud> datagrams;
  adverb::extended_sender<adverb::transport::rc> sender;
  adverb::completion_queue_ref queue;
  adverb::completion_queue_ref sends;
  adverb::extended_completion_queue_ref<> extended;
  adverb::shared_receive_queue_ref shared;
  adverb::address_handle_ref address;
  adverb::memory_region_ref region;
  remote_words remote;
};

struct job {
  const char* name;
  /// At most this many times the instructions of careful C may adverb need.
  double careful_bar;
  /// The ratio to careful C that the worst compiler reaches today, if that is above the bar;
  /// otherwise 0. docs/performance.md has the reasons.
  double reached = 0;
  /// The bar for ordinary C; 0 for none.
  double ordinary_bar = 0;
  /// The number of posts, polls, and completions that are read: each may take a compare and a
  /// branch more with ADVERB_HARDENING_FAST.
  std::uint64_t operations = 1;

  std::uint64_t (*careful)(c_objects, std::uint64_t);
  std::uint64_t (*ordinary)(c_objects, std::uint64_t);
  std::uint64_t (*with_adverb)(adverb_objects, std::uint64_t);
};

/// A job that is on the list from its construction on.
class listed_job {
 public:
  explicit listed_job(const overhead::job& what) noexcept : job{what}, next{newest} {
    newest = this;
  }

  static inline const listed_job* newest = nullptr;

  const overhead::job job;
  /// The one that was constructed before.
  const listed_job* const next;
};

}  // namespace overhead
