// SPDX-License-Identifier: MIT
// judge: late_expectation.cpp:7: an expectation follows '// case: NAME'
#if ADVERB_MUST_FAIL == 1
// case: first
// expect: nothing
int first;
// expect: something
int second;
#endif
