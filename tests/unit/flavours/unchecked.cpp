// SPDX-License-Identifier: MIT
#define ADVERB_HARDENING ADVERB_HARDENING_NONE
#include <typeinfo>

#include <adverb/async/connection_options.hpp>

#include "unit/flavours/names.hpp"

const char* flavours::unchecked() { return typeid(adverb::async::connection_options).name(); }
