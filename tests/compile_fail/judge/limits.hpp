// SPDX-License-Identifier: MIT
// A library for testing the judge: code that fails inside a header.
#pragma once

template <int Number>
constexpr int below_ten() {
  static_assert(Number < 10, "the number must be below ten (say, 9; not [10])");
  return Number;
}

// Both assertions fail in one instantiation, which GCC and Clang print for the first one only.
template <int Number>
constexpr int even_below_ten() {
  static_assert(Number < 10, "the even number must be below ten");
  static_assert(Number % 2 == 0, "the number must be even");
  return Number;
}

struct owner {
  owner() = default;
  owner(const owner&) = delete;
};
// GCC prints why they have no copy constructor as errors of these lines.
struct holder {
  owner first;
  owner second;
};
