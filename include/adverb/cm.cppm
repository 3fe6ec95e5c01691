// SPDX-License-Identifier: MIT
// The module adverb.cm: the names of <adverb/cm.hpp>, and the module adverb.
module;

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>

export module adverb.cm;
export import adverb;

// scripts/module-names writes this list.
export namespace adverb::cm {
using adverb::cm::accept_options;
using adverb::cm::address_family;
using adverb::cm::address_info;
using adverb::cm::address_list;
using adverb::cm::connect;
using adverb::cm::connect_options;
using adverb::cm::connection;
using adverb::cm::connection_parameters;
using adverb::cm::connection_request;
using adverb::cm::connector;
using adverb::cm::context_list;
using adverb::cm::datagram_endpoint;
using adverb::cm::datagram_parameters;
using adverb::cm::datagram_peer;
using adverb::cm::datagram_queue_key;
using adverb::cm::datagram_target;
using adverb::cm::describe;
using adverb::cm::event;
using adverb::cm::event_channel;
using adverb::cm::event_channel_base;
using adverb::cm::event_channel_ref;
using adverb::cm::event_type;
using adverb::cm::identifier;
using adverb::cm::identifier_base;
using adverb::cm::identifier_ref;
using adverb::cm::listener;
using adverb::cm::listener_options;
using adverb::cm::local_address;
using adverb::cm::local_addresses;
using adverb::cm::lookup_category;
using adverb::cm::lookup_error;
using adverb::cm::lookup_options;
using adverb::cm::make_error_code;
using adverb::cm::max_accept_data;
using adverb::cm::max_datagram_accept_data;
using adverb::cm::max_datagram_request_data;
using adverb::cm::max_reject_data;
using adverb::cm::max_request_data;
using adverb::cm::multicast_join;
using adverb::cm::multicast_membership;
using adverb::cm::multicast_options;
using adverb::cm::multicast_role;
using adverb::cm::pair_owner;
using adverb::cm::path_record;
using adverb::cm::peer_options;
using adverb::cm::peer_parameters;
using adverb::cm::port_space;
using adverb::cm::port_space_of;
using adverb::cm::preparation;
using adverb::cm::private_data;
using adverb::cm::queue_drain;
using adverb::cm::queue_pair_settings;
using adverb::cm::reject_reason;
using adverb::cm::rejection;
using adverb::cm::resolve;
using adverb::cm::resolve_options;
using adverb::cm::service_id;
using adverb::cm::service_id_of;
using adverb::cm::socket_address;
using adverb::cm::step;
using adverb::cm::to_text;
}
