// SPDX-License-Identifier: MIT
// A source in the form of the compile-fail tests, for testing the helper that runs them.

template <int Number>
constexpr int checked() {
  static_assert(Number < 10, "the number must be below ten (say, 9; not [10])");
  return Number;
}

static_assert(checked<9>() == 9);

#if defined(ADVERB_EXPECT_NUMBER_TOO_LARGE)
// expect: the number must be below ten (say, 9; not [10])
static_assert(checked<10>() == 10);
#elif defined(ADVERB_EXPECT_NOT_A_FUNCTION)
// expect(gcc): 'unknown' was not declared in this scope
// expect(clang): use of undeclared identifier 'unknown'
static_assert(unknown<9>() == 9);
#endif
