// SPDX-License-Identifier: MIT
// A case compiles: alone in its section, or beside one that does not.
// judge: compiles: compiled, but must fail with: nothing is wrong here
// judge: compiles_alone: compiled, but must fail with: nothing is wrong here either
// judge: 1 of 3 expectations hold
#include "../limits.hpp"

#if ADVERB_MUST_FAIL == 1
// case: fails
// expect: the number must be below ten
static_assert(below_ten<10>() == 10);

// case: compiles
// expect: nothing is wrong here
static_assert(below_ten<7>() == 7);
#elif ADVERB_MUST_FAIL == 2
// A section in which all compiles.

// case: compiles_alone
// expect: nothing is wrong here either
static_assert(below_ten<7>() == 7);
#endif
