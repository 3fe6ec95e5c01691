// SPDX-License-Identifier: MIT
// The sentence stands in a note and in the failing code, but in no error.
// judge: in_the_code: failed, but no error contains: the number must be odd
// judge: in_a_note: failed, but no error contains: here
// judge: 0 of 2 expectations hold
#include "../limits.hpp"

#if ADVERB_MUST_FAIL == 1
// case: in_the_code
// expect: the number must be odd
const int in_the_code = below_ten("the number must be odd");

// case: in_a_note
// expect: here
void in_a_note(const owner& one) { [[maybe_unused]] const owner copy{one}; }
#endif
