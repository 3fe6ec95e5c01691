// SPDX-License-Identifier: MIT
// Every case holds.
#include "limits.hpp"

static_assert(below_ten<9>() == 9);
static_assert(even_below_ten<8>() == 8);

#if ADVERB_MUST_FAIL == 1
// case: sentence_with_signs
// expect: the number must be below ten (say, 9; not [10])
static_assert(below_ten<10>() == 10);

// case: sentence_on_two_lines
// expect: the number must be below ten
// (say, 9; not [10])
static_assert(below_ten<11>() == 11);

// case: sentence_of_the_compiler
// expect(gcc): 'unknown' was not declared in this scope
// expect(clang): use of undeclared identifier 'unknown'
static_assert(unknown == 9);

// case: second_error_of_an_instantiation
// expect: the number must be even
static_assert(even_below_ten<13>() == 13);

// case: words_of_another_case
// expect: the even number must be below ten
// expect(not): the number must be even
static_assert(even_below_ten<14>() == 14);

// case: deleted_function_of_a_header
// expect: deleted
void deleted_function_of_a_header(const holder& held) { [[maybe_unused]] const holder copy = held; }

// case: warning
// expect: unused variable 'nothing'
void warning() { const int nothing = 0; }

// case: left_to_clang
// expect(clang): explicitly assigning
void left_to_clang(int number) { number = number; }

#elif ADVERB_MUST_FAIL == 2
// The instantiation that fails here fails above too.

// case: repeated_instantiation
// expect: the number must be below ten
static_assert(below_ten<10>() == 10);
#endif

void uses_what_follows_a_section(holder&, int) {}

#if ADVERB_MUST_FAIL == 1
// case: second_part_of_a_section
// expect: the number must be below ten
static_assert(below_ten<12>() == 12);
#endif
