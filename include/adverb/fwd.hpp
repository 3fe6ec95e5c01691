// SPDX-License-Identifier: MIT
// Forward declarations of every public class, except templates whose parameters are constrained or
// are sets of flags, which need their definitions.
#pragma once

#include <cstddef>
#include <cstdint>

#include <adverb/version.hpp>

struct ibv_ah;
struct ibv_comp_channel;
struct ibv_context;
struct ibv_counters;
struct ibv_cq;
struct ibv_dm;
struct ibv_flow;
struct ibv_flow_action;
struct ibv_mr;
struct ibv_mw;
struct ibv_pd;
struct ibv_qp;
struct ibv_rwq_ind_table;
struct ibv_srq;
struct ibv_td;
struct ibv_wq;
struct ibv_xrcd;
struct rdma_cm_id;
struct rdma_event_channel;

namespace adverb::inline ADVERB_ABI {

// core
struct adopt_t;
class on_failure;
struct throwing;
class timeout;
class acknowledge_timeout;
class error;
class failure;
class failure_description;
class psn;
class rnr_timer;
class text_writer;
class transport_set;
enum class transport : std::uint32_t;
template <class Enum>
struct flags;
template <std::size_t Capacity>
class static_string;

// device
class async_event;
class context;
class context_ref;
class device_attributes;
class device_clock;
class device_list;
class device_ref;
class gid;
class gid_entry;
class port_attributes;
struct completion_moderation_limits;
struct on_demand_paging;
struct packet_pacing;
struct pci_atomics;
struct receive_side_scaling;
struct segmentation_offload;
struct tag_matching_limits;

// memory
class protection_domain;
class protection_domain_ref;
class imported_protection_domain;
class thread_domain;
class thread_domain_ref;
class parent_domain;
struct parent_domain_options;
class provider_allocation;
class provider_allocator_ref;

class memory_region;
class memory_region_ref;
class imported_memory_region;
struct dmabuf_range;
struct reregistration;
class const_buffer;
class mutable_buffer;
template <class Buffer>
class buffer_blocks;
struct advice_options;

class device_memory;
class device_memory_ref;
class imported_device_memory;
struct device_memory_options;

class provider_buffer;
class provider_buffer_ref;

class dma_handle;
class dma_handle_ref;
struct dma_handle_options;

enum class window_type : std::uint32_t;
template <window_type Type>
class memory_window;
template <window_type Type>
class memory_window_ref;

// completion
class completion_channel;
class completion_channel_ref;
class completion_queue;
class completion_queue_ref;
struct completion_queue_options;
class completion;
class completion_counter;
class completion_counter_ref;
struct completion_counter_limits;
class completion_reservation;
class received_message;
class successful_completion;
class tagged_message;
struct matched_tag;
template <std::size_t Limit>
struct up_to_t;

// request
enum class qp_state : std::uint32_t;
class address_handle;
class address_handle_ref;
class global_route_header;
struct address;
struct datagram_destination;
struct ethernet_destination;
struct global_route;

template <class Operation, class Payload, class Destination>
class send_request;
template <class Payload>
class receive_request;
class inline_data;
template <class Request>
class prepared_request;
template <class... Requests>
class prepared_batch;
template <class Request>
class prepared_list;
template <class Request>
class prepared_list_part;
template <class Request>
class linked_request;
class post_result;
template <std::size_t Capacity, transport Transport, std::size_t Buffers>
class send_chain;
struct bind_options;
struct compare_and_swap_values;

template <class Payload>
class tag_addition;
class tag_deletion;
class tag_synchronization;

// queue
template <transport Transport, qp_state State>
class queue_pair;
template <transport Transport, qp_state State>
class queue_pair_ref;
template <transport Transport>
struct rtr_rts_attributes;
class queue_pair_attributes;
struct alternate_path;
struct announced_attributes;
struct ece;
struct endpoint;
struct path_options;
struct queue_pair_options;
struct rate_limit;
struct transition_attributes;
struct xrc_target_options;

class multicast_attachment;

template <class Engine>
class send_window;
class send_window_result;
struct send_window_options;

template <class Queue>
class receive_refill;
struct receive_refill_options;

class shared_receive_queue;
class shared_receive_queue_ref;
class shared_receive_queue_attributes;
struct shared_receive_queue_options;
class xrc_domain;
class xrc_domain_ref;
class xrc_shared_receive_queue;
class xrc_shared_receive_queue_ref;

class tag_matching_queue;
class tag_matching_queue_ref;
struct tag_matching_queue_options;

enum class work_queue_state : std::uint32_t;
template <work_queue_state State>
class work_queue;
template <work_queue_state State>
class work_queue_ref;
struct work_queue_capacity;
struct work_queue_flag_changes;
struct work_queue_options;
class indirection_table;
class indirection_table_ref;

// pool
class bad_registration;
class buffer_lease;
class buffer_pool;
class cached_region;
class registered_resource;
class registration_cache;
class synchronized_registered_resource;
struct buffer_pool_options;
struct registered_resource_options;
struct registered_resource_statistics;
struct registration_cache_options;
struct registration_cache_statistics;

// steering
class flow;
class flow_ref;
class flow_destination;
struct flow_options;
template <class... Specifications>
class flow_rule;
class flow_specification;
class receive_hash;
class flow_action;
class flow_action_ref;
class counters;
class counters_ref;

struct match_ethernet;
struct match_ipv4;
struct match_ipv4_extended;
struct match_ipv6;
struct match_esp;
struct match_tcp;
struct match_udp;
struct match_vxlan;
struct match_gre;
struct match_mpls;
template <class Match>
struct match_inner;
template <class T>
struct masked;
template <class T, unsigned Bits>
class match_field;
class mac_address;
class ipv4_address;
class ipv6_address;
struct action_drop;
struct action_tag;
struct action_handle;
struct action_count;
class aes_gcm_key;
struct esp_attributes;
struct esp_changes;
struct esp_full_offload;
struct esp_options;

// cm
namespace cm {
enum class address_family : std::uint16_t;
enum class event_type : std::uint32_t;
enum class lookup_error : int;
enum class service_id : std::uint64_t;
enum class multicast_role : std::uint32_t;
enum class pair_owner : std::uint8_t;
enum class step : std::uint8_t;
class address_info;
class address_list;
class event;
class event_channel;
class event_channel_ref;
class identifier;
class identifier_ref;
class datagram_endpoint;
class datagram_peer;
class multicast_membership;
class private_data;
class socket_address;
class context_list;
struct accept_options;
struct connect_options;
struct connection_parameters;
struct lookup_options;
struct local_address;
struct path_record;
struct queue_pair_settings;
struct datagram_parameters;
struct multicast_options;
struct peer_options;
struct rejection;
class queue_drain;
template <transport Transport, step Step, pair_owner Owner>
class connector;
template <transport Transport, step Step, pair_owner Owner>
class connection_request;
template <transport Transport, pair_owner Owner>
class connection;
template <transport Transport>
class listener;
}  // namespace cm

}  // namespace adverb::inline ADVERB_ABI
