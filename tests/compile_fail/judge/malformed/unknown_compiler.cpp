// SPDX-License-Identifier: MIT
// judge: unknown_compiler.cpp:5: an expectation is for (gcc), (clang) or (not)
#if ADVERB_MUST_FAIL == 1
// case: first
// expect(glang): nothing
#endif
