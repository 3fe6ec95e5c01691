// SPDX-License-Identifier: MIT
// The names of the library, for those who only need to name them.
#pragma once

#include <adverb/version.hpp>

struct ibv_ah;
struct ibv_comp_channel;
struct ibv_context;
struct ibv_cq;
struct ibv_mr;
struct ibv_pd;
struct ibv_qp;

namespace adverb::inline ADVERB_ABI {

template <class Native>
class reference;

class device_list;
class device_ref;
class device_attributes;
class port_attributes;
class gid;
class gid_entry;

class context;
template <class Storage>
class context_operations;
using context_ref = context_operations<reference<ibv_context>>;

class protection_domain;
template <class Storage>
class protection_domain_operations;
using protection_domain_ref = protection_domain_operations<reference<ibv_pd>>;

class memory_region;
template <class Storage>
class memory_region_operations;
class memory_region_ref;
class const_buffer;
class mutable_buffer;

class completion_channel;
template <class Storage>
class completion_channel_operations;
using completion_channel_ref = completion_channel_operations<reference<ibv_comp_channel>>;

class completion_queue;
template <class Storage>
class completion_queue_operations;
using completion_queue_ref = completion_queue_operations<reference<ibv_cq>>;
class completion;

struct address;
class address_handle;
template <class Storage>
class address_handle_operations;
using address_handle_ref = address_handle_operations<reference<ibv_ah>>;
class global_route_header;
class multicast_attachment;

}  // namespace adverb::inline ADVERB_ABI
