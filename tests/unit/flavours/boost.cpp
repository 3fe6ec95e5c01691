// SPDX-License-Identifier: MIT
#define ADVERB_BOOST_ASIO
#include <typeinfo>

#include <adverb/async/connection_options.hpp>

#include "unit/flavours/names.hpp"

const char* flavours::boost() { return typeid(adverb::async::connection_options).name(); }
