// SPDX-License-Identifier: MIT
// Defines the functions of <adverb/adverb.hpp> that ADVERB_SEPARATE_COMPILATION leaves to one
// translation unit of a program. Needs libibverbs.
#pragma once

#if !defined(ADVERB_SEPARATE_COMPILATION)
#error "every translation unit has to define ADVERB_SEPARATE_COMPILATION before it includes adverb"
#endif

#include <adverb/completion/impl/completion.ipp>
#include <adverb/completion/impl/completion_channel.ipp>
#include <adverb/completion/impl/completion_queue.ipp>
#include <adverb/completion/impl/completion_queue_options.ipp>
#include <adverb/completion/impl/status.ipp>
#include <adverb/core/impl/dead_device.ipp>
#include <adverb/core/impl/deadline.ipp>
#include <adverb/core/impl/error.ipp>
#include <adverb/core/impl/failure.ipp>
#include <adverb/core/impl/flags.ipp>
#include <adverb/core/impl/handle.ipp>
#include <adverb/core/impl/hardening.ipp>
#include <adverb/core/impl/lifetime.ipp>
#include <adverb/core/impl/text.ipp>
#include <adverb/device/impl/async_event.ipp>
#include <adverb/device/impl/atomic_limits.ipp>
#include <adverb/device/impl/context.ipp>
#include <adverb/device/impl/context_ref.ipp>
#include <adverb/device/impl/device.ipp>
#include <adverb/device/impl/device_attributes.ipp>
#include <adverb/device/impl/device_files.ipp>
#include <adverb/device/impl/explain_device.ipp>
#include <adverb/device/impl/rate.ipp>
#include <adverb/memory/impl/buffer.ipp>
#include <adverb/memory/impl/device_memory.ipp>
#include <adverb/memory/impl/dma_handle.ipp>
#include <adverb/memory/impl/explain_mappings.ipp>
#include <adverb/memory/impl/explain_registration.ipp>
#include <adverb/memory/impl/imported.ipp>
#include <adverb/memory/impl/known_regions.ipp>
#include <adverb/memory/impl/memory_region.ipp>
#include <adverb/memory/impl/memory_region_ref.ipp>
#include <adverb/memory/impl/memory_window.ipp>
#include <adverb/memory/impl/protection_domain.ipp>
#include <adverb/memory/impl/provider_buffer.ipp>
#include <adverb/memory/impl/window_binding.ipp>
#include <adverb/queue/impl/completion_counter.ipp>
#include <adverb/queue/impl/create_queue_pair.ipp>
#include <adverb/queue/impl/endpoint.ipp>
#include <adverb/queue/impl/explain_shared_receive_queue.ipp>
#include <adverb/queue/impl/explain_transition.ipp>
#include <adverb/queue/impl/indirection_table.ipp>
#include <adverb/queue/impl/multicast.ipp>
#include <adverb/queue/impl/queue_pair_options.ipp>
#include <adverb/queue/impl/queue_pair_ref.ipp>
#include <adverb/queue/impl/rtr_rts_attributes.ipp>
#include <adverb/queue/impl/send_window.ipp>
#include <adverb/queue/impl/shared_receive_queue.ipp>
#include <adverb/queue/impl/tag_matching_queue.ipp>
#include <adverb/queue/impl/transition_plan.ipp>
#include <adverb/queue/impl/work_queue.ipp>
#include <adverb/queue/impl/work_queue_options.ipp>
#include <adverb/queue/impl/xrc_domain.ipp>
#include <adverb/request/impl/address.ipp>
#include <adverb/request/impl/address_handle.ipp>
#include <adverb/request/impl/explain_address.ipp>
#include <adverb/request/impl/explain_post.ipp>
#include <adverb/request/impl/post_result.ipp>
#include <adverb/request/impl/window_requests.ipp>
#include <adverb/steering/impl/counters.ipp>
#include <adverb/steering/impl/esp.ipp>
#include <adverb/steering/impl/explain_flow.ipp>
#include <adverb/steering/impl/flow.ipp>
#include <adverb/steering/impl/flow_action.ipp>
#include <adverb/steering/impl/receive_side_scaling_pair.ipp>
#include <adverb/steering/impl/specification.ipp>
