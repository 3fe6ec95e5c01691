// SPDX-License-Identifier: MIT
// judge: no_case.cpp:2: there is no case
