// SPDX-License-Identifier: MIT
// The steps of asynchronous connections as senders (P2300). Needs librdmacm, and the senders of
// <execution>, or ADVERB_EXECUTION: the namespace of a library with the same names, such as stdexec
// or beman::execution, whose header is included before.
#pragma once

#include <adverb/async/reliable_connection.hpp>
#include <adverb/async/senders/async_connect.hpp>
