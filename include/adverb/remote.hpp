// SPDX-License-Identifier: MIT
// Structures in the memory of a peer.
#pragma once

#include <adverb/async.hpp>
#include <adverb/remote/remote_ring.hpp>
#include <adverb/remote/remote_stream.hpp>
#include <adverb/remote/ring_description.hpp>
#include <adverb/remote/stream_options.hpp>
