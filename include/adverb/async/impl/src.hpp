// SPDX-License-Identifier: MIT
// Defines the functions of <adverb/async.hpp> that ADVERB_SEPARATE_COMPILATION leaves to one
// translation unit of a program. Needs <adverb/cm/impl/src.hpp> in the same program.
#pragma once

#if !defined(ADVERB_SEPARATE_COMPILATION)
#error "every translation unit has to define ADVERB_SEPARATE_COMPILATION before it includes adverb"
#endif

#include <adverb/async/impl/connect_by_name.ipp>
#include <adverb/async/impl/datagrams.ipp>
#include <adverb/async/impl/device_loop.ipp>
#include <adverb/async/impl/end_cause.ipp>
#include <adverb/async/impl/event_loop.ipp>
#include <adverb/async/impl/heartbeat.ipp>
#include <adverb/async/impl/kept_memory.ipp>
#include <adverb/async/impl/link.ipp>
#include <adverb/async/impl/loop_devices.ipp>
#include <adverb/async/impl/name_lookups.ipp>
#include <adverb/async/impl/receive_blocks.ipp>
#include <adverb/async/impl/reliable_connection.ipp>
#include <adverb/async/impl/shared_receives.ipp>
#include <adverb/async/impl/task.ipp>
