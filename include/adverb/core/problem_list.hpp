// SPDX-License-Identifier: MIT
// Several problems in one explanation.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Writes problems one after the other, "; " between them.
class problem_list {
 public:
  explicit problem_list(text_writer& writer) noexcept : writer_{writer} {}

  [[nodiscard]] bool empty() const noexcept { return empty_; }

  /// Adds one: `write` is called with the text_writer.
  template <std::invocable<text_writer&> Write>
  void add(const Write& write) {
    writer_.put(empty_ ? "" : "; ");
    empty_ = false;
    write(writer_);
  }
  void add(std::string_view problem) {
    if (problem.empty()) return;
    add([&](text_writer& writer) { writer.put(problem); });
  }

  /// Adds a value that is over what the device allows, when it is.
  void add_if_over(std::string_view name, std::uint64_t asked, std::uint64_t allowed) {
    if (asked <= allowed) return;
    add([&](text_writer& writer) {
      writer.put(name).put(" is ").decimal(asked).put(", the device allows ").decimal(allowed);
    });
  }

 private:
  text_writer& writer_;
  bool empty_ = true;
};

}  // namespace adverb::inline ADVERB_ABI::detail
