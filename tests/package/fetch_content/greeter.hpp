// SPDX-License-Identifier: MIT
// A library over adverb, whose users include adverb, too.
#pragma once

#include <adverb/device/context.hpp>

adverb::failure greet();
