// SPDX-License-Identifier: MIT
// A flow rule specification whose type is known only at run time.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include <infiniband/verbs.h>

#include <adverb/steering/detail/specification.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

/// Any match or action, for rules composed at run time. Converts from each of them:
///
///     std::vector<flow_specification> list{match_ethernet{}, match_ipv4{.source = address}};
class flow_specification {
 public:
  /// Converts a match or an action.
  template <detail::flow_specification_type Specification>
  flow_specification(const Specification& specification) noexcept {
    const auto native = detail::lower(specification, notes_);
    static_assert(sizeof native <= capacity);
    std::memcpy(bytes_.data(), &native, sizeof native);
    size_ = sizeof native;
    if constexpr (requires { native.mask; }) {
      value_offset_ = offsetof(decltype(native), val);
      value_size_ = sizeof native.val;
    }
  }

  /// Returns the C API struct as bytes.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept ADVERB_LIFETIME_BOUND {
    return {bytes_.data(), size_};
  }
  /// Returns the values of a match, without the mask. Empty for an action.
  [[nodiscard]] std::span<const std::byte> values() const noexcept ADVERB_LIFETIME_BOUND {
    return {bytes_.data() + value_offset_, value_size_};
  }
  /// Returns the type of the C API.
  [[nodiscard]] ibv_flow_spec_type type() const noexcept {
    ibv_flow_spec_type type;
    std::memcpy(&type, bytes_.data(), sizeof type);
    return type;
  }
  /// For explanations: the values that were cut off.
  [[nodiscard]] const detail::lowering_notes& notes() const noexcept { return notes_; }

 private:
  static constexpr std::size_t capacity = sizeof(ibv_flow_spec);

  alignas(ibv_flow_spec) std::array<std::byte, capacity> bytes_{};
  std::size_t size_ = 0;
  std::size_t value_offset_ = 0;
  std::size_t value_size_ = 0;
  detail::lowering_notes notes_;
};

}  // namespace adverb::inline ADVERB_ABI
