// SPDX-License-Identifier: MIT
// judge: no_sentence.cpp:7: the case 'first' has no '// expect: SENTENCE'
#if ADVERB_MUST_FAIL == 1
// case: first
int first;

// case: second
// expect: nothing
#endif
