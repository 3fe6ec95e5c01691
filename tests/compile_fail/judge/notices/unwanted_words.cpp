// SPDX-License-Identifier: MIT
// An error or a note has words that are forbidden.
// judge: in_the_error: failed, but the compiler must not print: say, 9
// judge: in_a_second_error: failed, but the compiler must not print: must be even
// judge: in_a_note: failed, but the compiler must not print: note:
// judge: 0 of 3 expectations hold
#include "../limits.hpp"

#if ADVERB_MUST_FAIL == 1
// case: in_the_error
// expect: the number must be below ten
// expect(not): nothing like that
// expect(not): say, 9
static_assert(below_ten<10>() == 10);

// case: in_a_second_error
// expect: the even number must be below ten
// expect(not): must be even
static_assert(even_below_ten<11>() == 11);

// case: in_a_note
// expect: deleted
// expect(not): note:
void in_a_note(const owner& one) { [[maybe_unused]] const owner copy{one}; }
#endif
