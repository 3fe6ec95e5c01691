// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>
#include <new>
#include <string>
#include <system_error>

#include <adverb/completion/status.hpp>

namespace adverb::inline ADVERB_ABI::detail {

class [[gnu::visibility("default")]] completion_category_type final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "ibv_wc_status"; }
  [[nodiscard]] std::string message(int value) const override {
    return to_string(static_cast<completion_status>(value));
  }
  [[nodiscard]] std::error_condition default_error_condition(int value) const noexcept override {
    // The errno of each status; 0 for those without one.
    static constexpr unsigned char errnos[] = {
        0, EMSGSIZE,  EINVAL,  0, EACCES, ECANCELED,    0, 0, EACCES, EINVAL,   EACCES,
        0, ETIMEDOUT, ENOBUFS, 0, 0,      ECONNABORTED, 0, 0, EIO,    ETIMEDOUT};
    const auto number = static_cast<unsigned>(value);
    if (number >= sizeof errnos || errnos[number] == 0) return {value, *this};
    return {errnos[number], std::generic_category()};
  }
};

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC const std::error_category& completion_category() noexcept {
  // A category is identified by its address, so there is one, of default visibility. Never
  // destroyed, so that static objects may outlive main.
  alignas(detail::completion_category_type) static std::byte
      storage[sizeof(detail::completion_category_type)];
  static const auto* const category = new (storage) detail::completion_category_type;
  return *category;
}

}  // namespace adverb::inline ADVERB_ABI
