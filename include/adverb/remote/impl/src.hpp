// SPDX-License-Identifier: MIT
// Defines the functions of <adverb/remote.hpp> that ADVERB_SEPARATE_COMPILATION leaves to one
// translation unit of a program. Needs <adverb/async/impl/src.hpp> in the same program.
#pragma once

#if !defined(ADVERB_SEPARATE_COMPILATION)
#error "every translation unit has to define ADVERB_SEPARATE_COMPILATION before it includes adverb"
#endif

#include <adverb/remote/impl/remote_ring.ipp>
#include <adverb/remote/impl/remote_stream.ipp>
#include <adverb/remote/impl/ring_port.ipp>
#include <adverb/remote/impl/ring_slots.ipp>
#include <adverb/remote/impl/stream_offer.ipp>
#include <adverb/remote/impl/stream_port.ipp>
#include <adverb/remote/impl/stream_state.ipp>
