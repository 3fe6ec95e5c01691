// SPDX-License-Identifier: MIT
// Messages of asynchronous connections as text.
#pragma once

#include <string_view>

#include <adverb/async.hpp>

namespace examples {

/// Returns the text of a message, which must outlive it.
[[nodiscard]] inline std::string_view text_of(const adverb::async::message& message) noexcept {
  const auto bytes = message.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace examples
