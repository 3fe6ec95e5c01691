// SPDX-License-Identifier: MIT
// The code outside of the cases does not compile.
// judge: broken_twin.cpp: the code outside of the cases must compile without a warning
// judge: broken_twin.cpp:8: this error belongs to no case
// judge: 1 expectation holds
#include "../limits.hpp"

static_assert(below_ten<17>() == 17);

#if ADVERB_MUST_FAIL == 1
// case: too_large
// expect: the number must be below ten
static_assert(below_ten<10>() == 10);
#endif
