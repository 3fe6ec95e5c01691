// SPDX-License-Identifier: MIT
// Everything that adverb has over libibverbs.
#pragma once

#include <adverb/completion/completion_queue.hpp>
#include <adverb/core/durations.hpp>
#include <adverb/device/choose_gid.hpp>
#include <adverb/memory/memory_region.hpp>
#include <adverb/queue/address_handle.hpp>
#include <adverb/queue/multicast.hpp>
#include <adverb/queue/operations.hpp>
#include <adverb/queue/queue_pair.hpp>
