// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/core/failure.hpp>
#include <adverb/memory/window_binding.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC int window_request::error() const {
  int first = 0;
  for_each_problem([&](int number, const auto&) {
    if (first == 0) first = number;
  });
  return first;
}

ADVERB_FUNC void window_request::put_problems(text_writer& writer) const {
  problem_list problems{writer};
  for_each_problem([&](int, const auto& write) { problems.add(write); });
}

ADVERB_FUNC void window_request::put_domains(text_writer& writer, std::string_view name,
                                             const ibv_pd* domain) const {
  writer.put("the ").put(name).put(" belongs to pd ").decimal(domain->handle);
  writer.put(", the window to pd ").decimal(window->pd->handle);
}

}  // namespace adverb::inline ADVERB_ABI::detail
