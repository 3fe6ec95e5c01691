// SPDX-License-Identifier: MIT
#include <typeinfo>

#include <adverb/async/connection_options.hpp>

#include "unit/flavours/names.hpp"

const char* flavours::plain() { return typeid(adverb::async::connection_options).name(); }
