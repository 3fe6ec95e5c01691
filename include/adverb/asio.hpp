// SPDX-License-Identifier: MIT
// Asynchronous connections on an io_context of Asio, with any completion token. Needs librdmacm,
// and Asio 1.22 or later; with ADVERB_BOOST_ASIO, Boost.Asio 1.81 or later.
#pragma once

#include <adverb/async/accept.hpp>
#include <adverb/async/asio/async_start.hpp>
#include <adverb/async/asio/loop_of.hpp>
#include <adverb/async/datagrams.hpp>
#include <adverb/async/device_events.hpp>
#include <adverb/async/reliable_connection.hpp>
#include <adverb/async/sleep.hpp>
