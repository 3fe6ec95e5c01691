// SPDX-License-Identifier: MIT
// The code outside of the cases gives a warning as long as there are no cases.
// judge: the code outside of the cases must compile without a warning
// judge: unused
// judge: 1 expectation holds
#include "../limits.hpp"

void count(int number) {
#if ADVERB_MUST_FAIL == 1
  // case: too_large
  // expect: the number must be below ten
  static_assert(below_ten<10>() == 10);
  (void)number;
#endif
}
