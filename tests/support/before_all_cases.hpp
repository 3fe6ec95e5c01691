// SPDX-License-Identifier: MIT
#pragma once

/// What a test program does once before its cases, each of which has a process that is forked then.
/// A program that has nothing to do does not define it.
[[gnu::weak]] void before_all_cases();
