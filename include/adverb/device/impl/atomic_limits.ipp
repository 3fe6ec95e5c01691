// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstring>

#include <adverb/device/context_ref.hpp>
#include <adverb/device/detail/atomic_limits.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// A cache without locks: a word of each context, zero for none. The device is queried again for a
/// context whose place another one has taken. The first 47 bits and one that is always set identify
/// the context and its device, the others are the limits, so that a word is read and written at
/// once.
class limits_cache {
 public:
  explicit limits_cache(const ibv_context* context) noexcept
      : place_{place_of(context)}, identity_{identity_of(context)} {}

  [[nodiscard]] bool find(atomic_limits& limits) const noexcept {
    const std::uint64_t word = __atomic_load_n(&place_, __ATOMIC_RELAXED);
    limits = {static_cast<std::uint8_t>(word >> 8), static_cast<std::uint8_t>(word)};
    return (word & identity_bits) == identity_;
  }
  void keep(const atomic_limits& limits) const noexcept {
    const std::uint64_t word =
        identity_ | static_cast<std::uint64_t>(limits.destination << 8 | limits.initiator);
    __atomic_store_n(&place_, word, __ATOMIC_RELAXED);
  }
  static void forget(const ibv_context* context) noexcept {
    __atomic_store_n(&place_of(context), std::uint64_t{0}, __ATOMIC_RELAXED);
  }

 private:
  static constexpr std::uint64_t identity_bits = ~std::uint64_t{0xffff};

  // Odd numbers without a pattern: sums of products differ in their first bits.
  static constexpr std::uint64_t factors[] = {0x9e3779b97f4a7c15U, 0xc2b2ae3d27d4eb4fU,
                                              0xff51afd7ed558ccdU, 0xd6e8feb86659fd93U};

  [[nodiscard]] static std::uint64_t number_of(const void* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address);
  }

  [[nodiscard]] static std::uint64_t& place_of(const ibv_context* context) noexcept {
    return words[number_of(context) * factors[0] >> 58];
  }

  // C code can close a context, and open another one at the same address: the name of the device's
  // file distinguishes devices.
  [[nodiscard]] static std::uint64_t identity_of(const ibv_context* context) noexcept {
    const ibv_device& device = *context->device;
    std::uint64_t name[2];
    static_assert(sizeof name <= sizeof device.dev_name);
    std::memcpy(name, device.dev_name, sizeof name);
    const std::uint64_t sum = number_of(context) * factors[0] + number_of(&device) * factors[1] +
                              name[0] * factors[2] + name[1] * factors[3];
    // Never zero, which is the word of no context.
    return (sum & identity_bits) | 1U << 16;
  }

  [[gnu::visibility("default")]] static inline std::uint64_t words[64] = {};

  std::uint64_t& place_;
  std::uint64_t identity_;
};

[[gnu::noinline]] ADVERB_FUNC atomic_limits limits_of(ibv_context* context, on_failure policy) {
  const limits_cache cache{context};
  atomic_limits limits;
  if (!cache.find(limits)) return ask_for_limits(context, policy);
  policy.clear();
  return limits;
}

ADVERB_FUNC atomic_limits ask_for_limits(ibv_context* context, on_failure policy) {
  const device_attributes device = context_ref{context}.query_device(policy);
  if (policy.failed()) return {};
  const auto to_byte = [](std::uint32_t number) {
    return static_cast<std::uint8_t>(number < 255 ? number : 255);
  };
  const atomic_limits limits{to_byte(device.max_destination_read_atomic()),
                             to_byte(device.max_initiator_read_atomic())};
  limits_cache{context}.keep(limits);
  return limits;
}

ADVERB_FUNC void forget_limits_of(const ibv_context* context) noexcept {
  limits_cache::forget(context);
}

}  // namespace adverb::inline ADVERB_ABI::detail
