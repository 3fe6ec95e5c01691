// SPDX-License-Identifier: MIT
// What a connection is made with, from the side that is asked for it.
#pragma once

#include <adverb/cm/connection_parameters.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/queue/queue_pair_options.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// How a connection is made from the side that is asked for it.
struct accept_options {
  /// Without completion queues they are made with the queue pair.
  queue_pair_options queue_pair{};
  /// librdmacm's own unless it is said here.
  protection_domain_ref domain{};
  /// What goes with the acceptance.
  connection_parameters connection{};
  /// How long to wait for a request, and then for the connection.
  timeout request_timeout = timeout::endless();
  timeout accept_timeout = detail::seconds{10};
};

}  // namespace adverb::inline ADVERB_ABI::cm
