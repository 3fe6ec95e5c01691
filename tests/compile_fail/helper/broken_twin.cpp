// SPDX-License-Identifier: MIT
// A compile-fail source with its code exchanged: the block compiles and the twin does not.

#if defined(ADVERB_EXPECT_NOTHING_WRONG)
// expect: nothing is wrong here
#else
static_assert(false, "nothing is wrong here");
#endif
