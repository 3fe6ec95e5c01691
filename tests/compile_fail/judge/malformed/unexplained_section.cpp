// SPDX-License-Identifier: MIT
// judge: unexplained_section.cpp:7: a comment above the first case says why the section is apart
#if ADVERB_MUST_FAIL == 1
// case: first
// expect: nothing
#elif ADVERB_MUST_FAIL == 2
// case: second
// expect: nothing
#endif
