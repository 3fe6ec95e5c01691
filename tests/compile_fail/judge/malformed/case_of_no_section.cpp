// SPDX-License-Identifier: MIT
// judge: case_of_no_section.cpp:3: a case stands below '#if ADVERB_MUST_FAIL == 1'
// case: first
// expect: nothing
