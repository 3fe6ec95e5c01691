// SPDX-License-Identifier: MIT
// The second of two identical instantiations is silent.
// judge: second: compiled, but must fail with: the number must be below ten
// judge: 1 of 2 expectations hold
#include "../limits.hpp"

#if ADVERB_MUST_FAIL == 1
// case: first
// expect: the number must be below ten
static_assert(below_ten<10>() == 10);

// case: second
// expect: the number must be below ten
static_assert(below_ten<10>() == 10);
#endif
