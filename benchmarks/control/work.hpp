// SPDX-License-Identifier: MIT
// The counted work, in C and with adverb. Each function does its work `count` times, and returns
// how often it succeeded.
#pragma once

#include <cstdint>
#include <memory>

#include <infiniband/verbs.h>

namespace control {

inline constexpr std::uint32_t requests = 16;

/// The objects that all pairs share, and the values that a careful program queries once.
struct shared {
  ibv_context* context;
  ibv_pd* domain;
  ibv_cq* queue;
};

/// Makes a pair, brings it to RTS and destroys it.
std::uint64_t pair_in_c(const shared& with, std::uint64_t count);
/// The same, but queries the port and the GIDs each time, as adverb does.
std::uint64_t asking_pair_in_c(const shared& with, std::uint64_t count);
std::uint64_t pair_with_adverb(const shared& with, std::uint64_t count);

/// Registers and deregisters memory.
std::uint64_t region_in_c(const shared& with, std::uint64_t count);
std::uint64_t region_with_adverb(const shared& with, std::uint64_t count);

/// Makes a completion queue, a pair to RTS and a send window, and destroys them. C counts credits
/// by hand, which takes nothing here.
std::uint64_t own_queue_in_c(const shared& with, std::uint64_t count);
std::uint64_t own_queue_with_adverb(const shared& with, std::uint64_t count);

/// Pairs with a completion queue and a send window each, which exist while others are made.
class others {
 public:
  others(const shared& with, int count);
  ~others();

 private:
  struct each;
  std::unique_ptr<each[]> all_;
};

}  // namespace control
