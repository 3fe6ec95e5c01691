// SPDX-License-Identifier: MIT
// The names of the library, for those who only need to name them.
#pragma once

#include <cstdint>

#include <adverb/version.hpp>

struct ibv_ah;
struct ibv_comp_channel;
struct ibv_context;
struct ibv_counters;
struct ibv_cq;
struct ibv_flow;
struct ibv_flow_action;
struct ibv_mr;
struct ibv_pd;
struct ibv_qp;
struct ibv_rwq_ind_table;
struct ibv_srq;
struct ibv_xrcd;
struct ibv_dm;
struct ibv_td;

namespace adverb::inline ADVERB_ABI {

template <class Native>
class reference;

class device_list;
class device_ref;
class device_attributes;
class port_attributes;
class gid;
class gid_entry;

class async_event;
class context;
template <class Storage>
class context_operations;
using context_ref = context_operations<reference<ibv_context>>;

class protection_domain;
template <class Storage>
class protection_domain_operations;
using protection_domain_ref = protection_domain_operations<reference<ibv_pd>>;

class thread_domain;
template <class Storage>
class thread_domain_operations;
using thread_domain_ref = thread_domain_operations<reference<ibv_td>>;
class parent_domain;
class imported_protection_domain;

class device_memory;
class imported_device_memory;
template <class Storage>
class device_memory_operations;
class device_memory_ref;

class memory_region;
class imported_memory_region;
template <class Storage>
class memory_region_operations;
class memory_region_ref;
class const_buffer;
class mutable_buffer;
enum class window_type : std::uint32_t;
template <window_type Type>
class memory_window;
template <window_type Type>
class memory_window_ref;
template <class Storage, window_type Type>
class memory_window_operations;

class completion_channel;
template <class Storage>
class completion_channel_operations;
using completion_channel_ref = completion_channel_operations<reference<ibv_comp_channel>>;

class completion_queue;
template <class Storage>
class completion_queue_operations;
using completion_queue_ref = completion_queue_operations<reference<ibv_cq>>;
class completion;
template <class Storage>
class common_completion_queue_operations;

struct address;
class address_handle;
template <class Storage>
class address_handle_operations;
using address_handle_ref = address_handle_operations<reference<ibv_ah>>;
class global_route_header;
class multicast_attachment;

class indirection_table;
template <class Storage>
class indirection_table_operations;
using indirection_table_ref = indirection_table_operations<reference<ibv_rwq_ind_table>>;

class flow;
template <class Storage>
class flow_operations;
using flow_ref = flow_operations<reference<ibv_flow>>;

class flow_action;
template <class Storage>
class flow_action_operations;
using flow_action_ref = flow_action_operations<reference<ibv_flow_action>>;

class counters;
template <class Storage>
class counters_operations;
using counters_ref = counters_operations<reference<ibv_counters>>;

class shared_receive_queue;
template <class Storage>
class shared_receive_queue_operations;
using shared_receive_queue_ref = shared_receive_queue_operations<reference<ibv_srq>>;

class xrc_domain;
template <class Storage>
class xrc_domain_operations;
using xrc_domain_ref = xrc_domain_operations<reference<ibv_xrcd>>;

class xrc_shared_receive_queue;
template <class Storage>
class xrc_shared_receive_queue_operations;
using xrc_shared_receive_queue_ref = xrc_shared_receive_queue_operations<reference<ibv_srq>>;

class tag_matching_queue;
template <class Storage>
class tag_matching_queue_operations;
using tag_matching_queue_ref = tag_matching_queue_operations<reference<ibv_srq>>;

}  // namespace adverb::inline ADVERB_ABI
