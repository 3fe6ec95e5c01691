// SPDX-License-Identifier: MIT
// The functions that librdmacm exports and <rdma/rdma_cma.h> declares, up to rdma-core 65.
#pragma once

namespace {

constinit library librdmacm{"librdmacm.so.1",
                            "librdmacm1 (Debian, SUSE), librdmacm (Fedora) or rdma-core (Arch)"};

constexpr symbol_version rdmacm_1_0{librdmacm, "RDMACM_1.0", 0};
constexpr symbol_version rdmacm_1_1{librdmacm, "RDMACM_1.1", 16};
constexpr symbol_version rdmacm_1_2{librdmacm, "RDMACM_1.2", 23};
constexpr symbol_version rdmacm_1_3{librdmacm, "RDMACM_1.3", 31};
constexpr symbol_version rdmacm_1_4{librdmacm, "RDMACM_1.4", 60};

}  // namespace

ADVERB_LOADED(rdmacm_1_0, int, rdma_accept, (rdma_cm_id * id, rdma_conn_param* conn_param),
              (id, conn_param), -1)
ADVERB_LOADED(rdmacm_1_0, int, rdma_ack_cm_event, (rdma_cm_event * event), (event), -1)
ADVERB_LOADED(rdmacm_1_0, int, rdma_bind_addr, (rdma_cm_id * id, sockaddr* addr), (id, addr), -1)
ADVERB_LOADED(rdmacm_1_0, int, rdma_connect, (rdma_cm_id * id, rdma_conn_param* conn_param),
              (id, conn_param), -1)
ADVERB_LOADED(rdmacm_1_0, int, rdma_create_ep,
              (rdma_cm_id * *id, rdma_addrinfo* res, ibv_pd* pd, ibv_qp_init_attr* qp_init_attr),
              (id, res, pd, qp_init_attr), -1)
ADVERB_LOADED(rdmacm_1_0, rdma_event_channel*, rdma_create_event_channel, (), (), nullptr)
ADVERB_LOADED(rdmacm_1_0, int, rdma_create_id,
              (rdma_event_channel * channel, rdma_cm_id** id, void* context, rdma_port_space ps),
              (channel, id, context, ps), -1)
ADVERB_LOADED(rdmacm_1_0, int, rdma_create_qp,
              (rdma_cm_id * id, ibv_pd* pd, ibv_qp_init_attr* qp_init_attr), (id, pd, qp_init_attr),
              -1)
ADVERB_LOADED(rdmacm_1_0, int, rdma_create_qp_ex,
              (rdma_cm_id * id, ibv_qp_init_attr_ex* qp_init_attr), (id, qp_init_attr), -1)
ADVERB_LOADED(rdmacm_1_0, int, rdma_create_srq,
              (rdma_cm_id * id, ibv_pd* pd, ibv_srq_init_attr* attr), (id, pd, attr), -1)
ADVERB_LOADED(rdmacm_1_0, int, rdma_create_srq_ex, (rdma_cm_id * id, ibv_srq_init_attr_ex* attr),
              (id, attr), -1)
ADVERB_LOADED(rdmacm_1_0, void, rdma_destroy_ep, (rdma_cm_id * id), (id), void())
ADVERB_LOADED(rdmacm_1_0, void, rdma_destroy_event_channel, (rdma_event_channel * channel),
              (channel), void())
ADVERB_LOADED(rdmacm_1_0, int, rdma_destroy_id, (rdma_cm_id * id), (id), -1)
ADVERB_LOADED(rdmacm_1_0, void, rdma_destroy_qp, (rdma_cm_id * id), (id), void())
ADVERB_LOADED(rdmacm_1_0, void, rdma_destroy_srq, (rdma_cm_id * id), (id), void())
ADVERB_LOADED(rdmacm_1_0, int, rdma_disconnect, (rdma_cm_id * id), (id), -1)
ADVERB_LOADED(rdmacm_1_2, int, rdma_establish, (rdma_cm_id * id), (id), -1)
ADVERB_LOADED(rdmacm_1_0, const char*, rdma_event_str, (rdma_cm_event_type event), (event),
              "UNKNOWN EVENT")
ADVERB_LOADED(rdmacm_1_0, void, rdma_free_devices, (ibv_context * *list), (list), void())
ADVERB_LOADED(rdmacm_1_0, void, rdma_freeaddrinfo, (rdma_addrinfo * res), (res), void())
ADVERB_LOADED(rdmacm_1_0, int, rdma_get_cm_event,
              (rdma_event_channel * channel, rdma_cm_event** event), (channel, event), -1)
ADVERB_LOADED(rdmacm_1_0, ibv_context**, rdma_get_devices, (int* num_devices), (num_devices),
              no_list(num_devices))
ADVERB_LOADED(rdmacm_1_0, __be16, rdma_get_dst_port, (rdma_cm_id * id), (id), 0)
ADVERB_LOADED(rdmacm_1_3, int, rdma_get_remote_ece, (rdma_cm_id * id, ibv_ece* ece), (id, ece), -1)
ADVERB_LOADED(rdmacm_1_0, int, rdma_get_request, (rdma_cm_id * listen, rdma_cm_id** id),
              (listen, id), -1)
ADVERB_LOADED(rdmacm_1_0, __be16, rdma_get_src_port, (rdma_cm_id * id), (id), 0)
ADVERB_LOADED(rdmacm_1_0, int, rdma_getaddrinfo,
              (const char* node, const char* service, const rdma_addrinfo* hints,
               rdma_addrinfo** res),
              (node, service, hints, res), -1)
ADVERB_LOADED(rdmacm_1_2, int, rdma_init_qp_attr,
              (rdma_cm_id * id, ibv_qp_attr* qp_attr, int* qp_attr_mask),
              (id, qp_attr, qp_attr_mask), -1)
ADVERB_LOADED(rdmacm_1_0, int, rdma_join_multicast,
              (rdma_cm_id * id, sockaddr* addr, void* context), (id, addr, context), -1)
ADVERB_LOADED(rdmacm_1_1, int, rdma_join_multicast_ex,
              (rdma_cm_id * id, rdma_cm_join_mc_attr_ex* mc_join_attr, void* context),
              (id, mc_join_attr, context), -1)
ADVERB_LOADED(rdmacm_1_0, int, rdma_leave_multicast, (rdma_cm_id * id, sockaddr* addr), (id, addr),
              -1)
ADVERB_LOADED(rdmacm_1_0, int, rdma_listen, (rdma_cm_id * id, int backlog), (id, backlog), -1)
ADVERB_LOADED(rdmacm_1_0, int, rdma_migrate_id, (rdma_cm_id * id, rdma_event_channel* channel),
              (id, channel), -1)
ADVERB_LOADED(rdmacm_1_0, int, rdma_notify, (rdma_cm_id * id, ibv_event_type event), (id, event),
              -1)
ADVERB_LOADED(rdmacm_1_4, int, rdma_query_addrinfo, (rdma_cm_id * id, rdma_addrinfo** info),
              (id, info), -1)
ADVERB_LOADED(rdmacm_1_0, int, rdma_reject,
              (rdma_cm_id * id, const void* private_data, uint8_t private_data_len),
              (id, private_data, private_data_len), -1)
ADVERB_LOADED(rdmacm_1_3, int, rdma_reject_ece,
              (rdma_cm_id * id, const void* private_data, uint8_t private_data_len),
              (id, private_data, private_data_len), -1)
ADVERB_LOADED(rdmacm_1_0, int, rdma_resolve_addr,
              (rdma_cm_id * id, sockaddr* src_addr, sockaddr* dst_addr, int timeout_ms),
              (id, src_addr, dst_addr, timeout_ms), -1)
ADVERB_LOADED(rdmacm_1_4, int, rdma_resolve_addrinfo,
              (rdma_cm_id * id, const char* node, const char* service, const rdma_addrinfo* hints),
              (id, node, service, hints), -1)
ADVERB_LOADED(rdmacm_1_0, int, rdma_resolve_route, (rdma_cm_id * id, int timeout_ms),
              (id, timeout_ms), -1)
ADVERB_LOADED(rdmacm_1_3, int, rdma_set_local_ece, (rdma_cm_id * id, ibv_ece* ece), (id, ece), -1)
ADVERB_LOADED(rdmacm_1_0, int, rdma_set_option,
              (rdma_cm_id * id, int level, int optname, void* optval, size_t optlen),
              (id, level, optname, optval, optlen), -1)
ADVERB_LOADED(rdmacm_1_4, int, rdma_write_cm_event,
              (rdma_cm_id * id, rdma_cm_event_type event, int status, uint64_t arg),
              (id, event, status, arg), -1)
