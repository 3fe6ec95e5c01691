// SPDX-License-Identifier: MIT
// judge: code_of_no_case.cpp:4: code above the first '// case: NAME' of a section
#if ADVERB_MUST_FAIL == 1
int nobody;
// case: first
// expect: nothing
#endif
