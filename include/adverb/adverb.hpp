// SPDX-License-Identifier: MIT
// Includes every libibverbs part of adverb.
#pragma once

#include <adverb/completion/completion_queue.hpp>
#include <adverb/completion/either_completion_queue.hpp>
#include <adverb/completion/extended_completion_queue.hpp>
#include <adverb/completion/up_to.hpp>
#include <adverb/core/durations.hpp>
#include <adverb/core/sizes.hpp>
#include <adverb/device/context.hpp>
#include <adverb/device/context_ref.hpp>
#include <adverb/memory/advice.hpp>
#include <adverb/memory/device_memory.hpp>
#include <adverb/memory/imported.hpp>
#include <adverb/memory/memory_region.hpp>
#include <adverb/memory/memory_window.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/memory/provider_buffer.hpp>
#include <adverb/queue/multicast.hpp>
#include <adverb/queue/queue_pair.hpp>
#include <adverb/queue/receive_refill.hpp>
#include <adverb/queue/send_window.hpp>
#include <adverb/queue/shared_receive_queue.hpp>
#include <adverb/queue/tag_matching_queue.hpp>
#include <adverb/queue/work_queue.hpp>
#include <adverb/queue/xrc_domain.hpp>
#include <adverb/queue/xrc_shared_receive_queue.hpp>
#include <adverb/request/address.hpp>
#include <adverb/request/address_handle.hpp>
#include <adverb/request/flush_requests.hpp>
#include <adverb/request/prepared_request.hpp>
#include <adverb/request/requests.hpp>
#include <adverb/request/send_chain.hpp>
#include <adverb/request/window_requests.hpp>
#include <adverb/steering/counters.hpp>
#include <adverb/steering/flow_action.hpp>
#include <adverb/steering/receive_side_scaling_pair.hpp>
