// SPDX-License-Identifier: MIT
// A list of problems in one explanation.
#pragma once

#include <string_view>

#include <adverb/core/detail/callable_ref.hpp>
#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Writes problems one after the other, separated by "; ".
class problem_list {
 public:
  explicit problem_list(text_writer& writer) noexcept : writer_{writer} {}

  [[nodiscard]] bool empty() const noexcept { return empty_; }

  /// Adds a problem: calls `write` with the text_writer.
  void add(callable_ref<text_writer&> write) {
    writer_.put(empty_ ? "" : "; ");
    empty_ = false;
    write(writer_);
  }
  void add(std::string_view problem) {
    if (problem.empty()) return;
    add([&](text_writer& writer) { writer.put(problem); });
  }

 private:
  text_writer& writer_;
  bool empty_ = true;
};

}  // namespace adverb::inline ADVERB_ABI::detail
