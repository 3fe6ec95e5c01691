// SPDX-License-Identifier: MIT
// The sentence comes from the lines of the cases around it, and from another section.
// judge: between: failed, but no error contains: the number must be below ten
// judge: above: failed, but no error contains: the number must be even
// judge: 2 of 4 expectations hold
#include "../limits.hpp"

#if ADVERB_MUST_FAIL == 1
// case: before
// expect: the number must be below ten
static_assert(below_ten<10>() == 10);

// case: between
// expect: the number must be below ten
static_assert(false, "something else");

// case: above
// expect: the number must be even
static_assert(below_ten<11>() == 11);
#elif ADVERB_MUST_FAIL == 2
// Another section.

// case: elsewhere
// expect: the number must be even
static_assert(even_below_ten<13>() == 13);
#endif
