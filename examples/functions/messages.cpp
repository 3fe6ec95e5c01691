// SPDX-License-Identifier: MIT
#include <adverb/messages/impl/src.hpp>
#include <adverb/pool/impl/src.hpp>
