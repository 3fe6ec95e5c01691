// SPDX-License-Identifier: MIT
#define ADVERB_POISON_BLOCKS
#include <typeinfo>

#include <adverb/async/connection_options.hpp>

#include "unit/flavours/names.hpp"

const char* flavours::poison() { return typeid(adverb::async::connection_options).name(); }
