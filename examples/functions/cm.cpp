// SPDX-License-Identifier: MIT
#include <adverb/cm/impl/src.hpp>
