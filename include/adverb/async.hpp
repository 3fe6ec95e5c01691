// SPDX-License-Identifier: MIT
// Waiting without blocking: connections whose operations tasks await. Needs librdmacm.
#pragma once

#include <adverb/async/accept.hpp>
#include <adverb/async/completion_dispatcher.hpp>
#include <adverb/async/connect_by_name.hpp>
#include <adverb/async/connection_options.hpp>
#include <adverb/async/datagrams.hpp>
#include <adverb/async/device_events.hpp>
#include <adverb/async/device_loop.hpp>
#include <adverb/async/event_loop.hpp>
#include <adverb/async/event_source.hpp>
#include <adverb/async/loop_memory.hpp>
#include <adverb/async/message.hpp>
#include <adverb/async/operation.hpp>
#include <adverb/async/readable.hpp>
#include <adverb/async/reliable_connection.hpp>
#include <adverb/async/sleep.hpp>
#include <adverb/async/task.hpp>
#include <adverb/async/task_event.hpp>
#include <adverb/async/waiter.hpp>
