// SPDX-License-Identifier: MIT
// Visits every state of a model.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace models {

/// Visits each state that can be reached from `start` once. `name` returns the same string for
/// equal states. `visit` gets a state, and a function that adds a state that follows it. Returns
/// the number of states.
template <class State, class Name, class Visit>
std::size_t visit_every_state(const State& start, const Name& name, const Visit& visit) {
  std::unordered_set<std::string> seen{std::invoke(name, start)};
  std::vector<State> open{start};
  const auto add = [&](const State& next) {
    if (seen.insert(std::invoke(name, next)).second) open.push_back(next);
  };
  while (!open.empty()) {
    const State state = std::move(open.back());
    open.pop_back();
    visit(state, add);
  }
  return seen.size();
}

}  // namespace models
