// SPDX-License-Identifier: MIT
#include <adverb/async/impl/src.hpp>
