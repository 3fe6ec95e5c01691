// SPDX-License-Identifier: MIT
// judge: same_name.cpp:7: there is another case with this name
#if ADVERB_MUST_FAIL == 1
// case: first
// expect: nothing
int first;
// case: first
// expect: nothing
#endif
