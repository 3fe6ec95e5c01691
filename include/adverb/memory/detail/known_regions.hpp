// SPDX-License-Identifier: MIT
// The regions that ADVERB_HARDENING_DEBUG knows by their keys, to find posts of buffers that no
// longer belong to a region, or belong to one of another protection domain.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/detail/hardening.hpp>
#include <adverb/core/detail/lifetime.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The table of the regions that adverb registered, of which it keeps the last ones that are gone.
/// Regions of C code are unknown, and not judged. Thread safe.
class [[gnu::visibility("default")]] known_regions : public side_table<known_regions> {
 public:
  /// What can be wrong with a buffer.
  enum class flaw : std::uint8_t { none, region_gone, other_domain };

  /// Notes a region that was made or changed.
  void note(const ibv_mr* region) noexcept;
  /// Notes that a region is about to be deregistered.
  void note_gone(const ibv_mr* region) noexcept;
  /// Removes a region, for one that C code will deregister.
  void forget(const ibv_mr* region) noexcept;

  /// Judges a buffer with this local key in the queue of a protection domain.
  [[nodiscard]] flaw judge(const ibv_pd* domain, std::uint32_t key) noexcept;

 private:
  struct key {
    const ibv_context* context = nullptr;
    std::uint32_t local_key = 0;

    friend bool operator==(const key&, const key&) = default;
  };
  struct record {
    key of;
    std::uint32_t domain;
    record* next;
  };

  /// Returns where the record of a region is linked, or where it would be.
  [[nodiscard]] record** place_of(const key& of) noexcept;
  void remove(const key& of) noexcept;
  /// Returns where the key of a region that is gone is kept, or null.
  [[nodiscard]] key* find_gone(const key& of) noexcept;

  static constexpr std::size_t kept = 1024;
  std::array<record*, kept> buckets_{};
  /// The regions that went last.
  std::array<key, kept> gone_{};
  std::size_t next_gone_ = 0;
};

/// Terminates the program if an element that is about to be posted has a flaw.
void require_regions(const ibv_pd* domain, std::string_view call, const ibv_sge* elements,
                     std::size_t count) noexcept;

/// The same for each element of a chain of requests.
template <class Request>
void require_regions_of(const ibv_pd* domain, std::string_view call,
                        const Request* first) noexcept {
  for (; first != nullptr; first = first->next) {
    if constexpr (requires { first->send_flags; })
      if ((first->send_flags & IBV_SEND_INLINE) != 0) continue;
    if constexpr (requires { first->sg_list; })
      require_regions(domain, call, first->sg_list, static_cast<std::size_t>(first->num_sge));
  }
}

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/memory/impl/known_regions.ipp>
#endif
