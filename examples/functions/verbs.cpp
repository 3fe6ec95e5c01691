// SPDX-License-Identifier: MIT
#include <adverb/impl/src.hpp>
