// SPDX-License-Identifier: MIT
// Includes every librdmacm part of adverb. Link with librdmacm and libibverbs (CMake: adverb::cm).
#pragma once

#include <adverb/cm/address_list.hpp>
#include <adverb/cm/connect.hpp>
#include <adverb/cm/connection.hpp>
#include <adverb/cm/connection_parameters.hpp>
#include <adverb/cm/connection_request.hpp>
#include <adverb/cm/connector.hpp>
#include <adverb/cm/context_list.hpp>
#include <adverb/cm/datagram_endpoint.hpp>
#include <adverb/cm/datagram_peer.hpp>
#include <adverb/cm/event.hpp>
#include <adverb/cm/event_channel.hpp>
#include <adverb/cm/identifier.hpp>
#include <adverb/cm/listener.hpp>
#include <adverb/cm/local_addresses.hpp>
#include <adverb/cm/multicast_membership.hpp>
#include <adverb/cm/path_record.hpp>
#include <adverb/cm/private_data.hpp>
#include <adverb/cm/queue_drain.hpp>
#include <adverb/cm/reject_reason.hpp>
#include <adverb/cm/socket_address.hpp>
