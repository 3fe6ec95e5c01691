// SPDX-License-Identifier: MIT
// Defines the functions of <adverb/cm.hpp> that ADVERB_SEPARATE_COMPILATION leaves to one
// translation unit of a program. Needs <adverb/impl/src.hpp> in the same program, and librdmacm.
#pragma once

#if !defined(ADVERB_SEPARATE_COMPILATION)
#error "every translation unit has to define ADVERB_SEPARATE_COMPILATION before it includes adverb"
#endif

#include <adverb/cm/impl/address_list.ipp>
#include <adverb/cm/impl/connect.ipp>
#include <adverb/cm/impl/connection_parameters.ipp>
#include <adverb/cm/impl/connector.ipp>
#include <adverb/cm/impl/context_list.ipp>
#include <adverb/cm/impl/datagram_endpoint.ipp>
#include <adverb/cm/impl/default_domains.ipp>
#include <adverb/cm/impl/drive_own_pair.ipp>
#include <adverb/cm/impl/event.ipp>
#include <adverb/cm/impl/event_channel.ipp>
#include <adverb/cm/impl/explain_call.ipp>
#include <adverb/cm/impl/identifier.ipp>
#include <adverb/cm/impl/identifier_traits.ipp>
#include <adverb/cm/impl/local_addresses.ipp>
#include <adverb/cm/impl/multicast_membership.ipp>
#include <adverb/cm/impl/path_record.ipp>
#include <adverb/cm/impl/private_data.ipp>
#include <adverb/cm/impl/queue_drain.ipp>
#include <adverb/cm/impl/session.ipp>
#include <adverb/cm/impl/socket_address.ipp>
