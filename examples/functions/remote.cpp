// SPDX-License-Identifier: MIT
#include <adverb/remote/impl/src.hpp>
