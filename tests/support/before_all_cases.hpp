// SPDX-License-Identifier: MIT
#pragma once

/// Called once before the cases of a test program, each of which runs in a process that is forked
/// afterwards. A program that has nothing to do does not define it.
[[gnu::weak]] void before_all_cases();
