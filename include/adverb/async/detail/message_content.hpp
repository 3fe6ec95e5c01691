// SPDX-License-Identifier: MIT
// The bytes of a received message, as text and as values.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include <adverb/core/error.hpp>
#include <adverb/fwd.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The base of received messages. `Derived` has `content`, which returns the bytes, and
/// `report_short`, which reports that a value has more of them.
template <class Derived>
class message_content {
 public:
  /// Returns the bytes of the message; none for a peer's write with immediate, and for an offer.
  [[nodiscard]] std::span<const std::byte> bytes() const& noexcept ADVERB_LIFETIME_BOUND {
    return derived().content();
  }
  template <bool Named = false>
  std::span<const std::byte> bytes() const&& {
    static_assert(Named,
                  "the message would be destroyed at the end of the expression, with its bytes: "
                  "give it a name first");
    return {};
  }
  /// Returns the bytes of the message as text.
  [[nodiscard]] std::string_view text() const& noexcept ADVERB_LIFETIME_BOUND {
    const std::span<const std::byte> all = bytes();
    return {reinterpret_cast<const char*>(all.data()), all.size()};
  }
  template <bool Named = false>
  std::string_view text() const&& {
    static_assert(Named,
                  "the message would be destroyed at the end of the expression, with its bytes: "
                  "give it a name first");
    return {};
  }
  /// Returns the first bytes of the message as a value. Fails with EMSGSIZE if the message is
  /// shorter, or an offer. The bytes are those of the peer: check the value before it is used.
  template <class T>
  [[nodiscard]] T as(on_failure policy = throwing{}) const {
    static_assert(std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>,
                  "a message can only be copied into a trivially copyable type");
    T value{};
    policy.clear();
    if (bytes().size() < sizeof(T)) [[unlikely]]
      derived().report_short(sizeof(T), policy);
    else
      std::memcpy(&value, bytes().data(), sizeof(T));
    return value;
  }

 protected:
  message_content() = default;
  message_content(const message_content&) = default;
  message_content& operator=(const message_content&) = default;
  ~message_content() = default;

 private:
  [[nodiscard]] const Derived& derived() const noexcept {
    return static_cast<const Derived&>(*this);
  }
};

}  // namespace adverb::inline ADVERB_ABI::detail
