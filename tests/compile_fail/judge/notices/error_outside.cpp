// SPDX-License-Identifier: MIT
// A case breaks code outside of the cases.
// judge: error_outside.cpp:18: this error belongs to no case
// judge: 1 expectation holds
int chosen(int number);
int chosen(int number) { return number; }

#if ADVERB_MUST_FAIL == 1
// case: overload
// expect(gcc): invalid conversion
// expect(clang): cannot initialize
long chosen(long number);
char* overload = chosen(1L);
#endif

int use(unsigned number);

int use(unsigned number) { return chosen(number); }
