// SPDX-License-Identifier: MIT
// The error contains another sentence.
// judge: wrong_sentence.cpp:10: too_large: failed, but no error contains: the number must be even
// judge: error: static
// judge: wrong_sentence.cpp: 1 of 2 expectations hold
// judge(not): below_ten<11>
#include "../limits.hpp"

#if ADVERB_MUST_FAIL == 1
// case: too_large
// expect: the number must be even
static_assert(below_ten<10>() == 10);

// case: also_too_large
// expect: the number must be below ten
static_assert(below_ten<11>() == 11);
#endif
