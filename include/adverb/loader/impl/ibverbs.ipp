// SPDX-License-Identifier: MIT
// The functions that libibverbs exports and <infiniband/verbs.h> declares, up to rdma-core 65.
// Declarations that an older header lacks are repeated here, with incomplete types.
#pragma once

namespace {

constexpr symbol_version ibverbs_1_0{libibverbs, "IBVERBS_1.0", 0};
constexpr symbol_version ibverbs_1_1{libibverbs, "IBVERBS_1.1", 0};
constexpr symbol_version ibverbs_1_5{libibverbs, "IBVERBS_1.5", 20};
constexpr symbol_version ibverbs_1_6{libibverbs, "IBVERBS_1.6", 24};
constexpr symbol_version ibverbs_1_7{libibverbs, "IBVERBS_1.7", 25};
constexpr symbol_version ibverbs_1_8{libibverbs, "IBVERBS_1.8", 28};
constexpr symbol_version ibverbs_1_9{libibverbs, "IBVERBS_1.9", 30};
constexpr symbol_version ibverbs_1_10{libibverbs, "IBVERBS_1.10", 31};
constexpr symbol_version ibverbs_1_11{libibverbs, "IBVERBS_1.11", 32};
constexpr symbol_version ibverbs_1_12{libibverbs, "IBVERBS_1.12", 34};
constexpr symbol_version ibverbs_1_13{libibverbs, "IBVERBS_1.13", 35};
constexpr symbol_version ibverbs_1_14{libibverbs, "IBVERBS_1.14", 36};
constexpr symbol_version ibverbs_1_15{libibverbs, "IBVERBS_1.15", 59};
constexpr symbol_version ibverbs_1_16{libibverbs, "IBVERBS_1.16", 62};
constexpr symbol_version ibverbs_1_17{libibverbs, "IBVERBS_1.17", 64};
constexpr symbol_version ibverbs_1_18{libibverbs, "IBVERBS_1.18", 65};
constexpr symbol_version ibverbs_private{libibverbs, nullptr, 49};

}  // namespace

ADVERB_LOADED(ibverbs_1_1, void, ibv_ack_async_event, (ibv_async_event * event), (event), void())
ADVERB_LOADED(ibverbs_1_1, void, ibv_ack_cq_events, (ibv_cq * cq, unsigned int nevents),
              (cq, nevents), void())
ADVERB_LOADED(ibverbs_1_17, void*, ibv_alloc_buf, (ibv_pd * pd, size_t size, struct ibv_buf** buf),
              (pd, size, buf), nullptr)
ADVERB_LOADED(ibverbs_1_15, struct ibv_dmah*, ibv_alloc_dmah,
              (ibv_context * context, struct ibv_dmah_init_attr* attr), (context, attr), nullptr)
ADVERB_LOADED(ibverbs_1_1, ibv_pd*, ibv_alloc_pd, (ibv_context * context), (context), nullptr)
ADVERB_LOADED(ibverbs_1_1, int, ibv_attach_mcast, (ibv_qp * qp, const ibv_gid* gid, uint16_t lid),
              (qp, gid, lid), ENOSYS)
ADVERB_LOADED(ibverbs_1_1, int, ibv_close_device, (ibv_context * context), (context), -1)
ADVERB_LOADED(ibverbs_1_1, ibv_ah*, ibv_create_ah, (ibv_pd * pd, ibv_ah_attr* attr), (pd, attr),
              nullptr)
ADVERB_LOADED(ibverbs_1_1, ibv_ah*, ibv_create_ah_from_wc,
              (ibv_pd * pd, ibv_wc* wc, ibv_grh* grh, uint8_t port_num), (pd, wc, grh, port_num),
              nullptr)
ADVERB_LOADED(ibverbs_1_0, ibv_comp_channel*, ibv_create_comp_channel, (ibv_context * context),
              (context), nullptr)
ADVERB_LOADED(ibverbs_1_18, struct ibv_comp_cntr*, ibv_create_comp_cntr,
              (ibv_context * context, struct ibv_comp_cntr_init_attr* cc_attr), (context, cc_attr),
              nullptr)
ADVERB_LOADED(ibverbs_1_1, ibv_cq*, ibv_create_cq,
              (ibv_context * context, int cqe, void* cq_context, ibv_comp_channel* channel,
               int comp_vector),
              (context, cqe, cq_context, channel, comp_vector), nullptr)
ADVERB_LOADED(ibverbs_1_1, ibv_qp*, ibv_create_qp, (ibv_pd * pd, ibv_qp_init_attr* qp_init_attr),
              (pd, qp_init_attr), nullptr)
ADVERB_LOADED(ibverbs_1_1, ibv_srq*, ibv_create_srq,
              (ibv_pd * pd, ibv_srq_init_attr* srq_init_attr), (pd, srq_init_attr), nullptr)
ADVERB_LOADED(ibverbs_1_15, int, ibv_dealloc_dmah, (struct ibv_dmah * dmah), (dmah), ENOSYS)
ADVERB_LOADED(ibverbs_1_1, int, ibv_dealloc_pd, (ibv_pd * pd), (pd), ENOSYS)
ADVERB_LOADED(ibverbs_1_1, int, ibv_dereg_mr, (ibv_mr * mr), (mr), ENOSYS)
ADVERB_LOADED(ibverbs_1_1, int, ibv_destroy_ah, (ibv_ah * ah), (ah), ENOSYS)
ADVERB_LOADED(ibverbs_1_0, int, ibv_destroy_comp_channel, (ibv_comp_channel * channel), (channel),
              ENOSYS)
ADVERB_LOADED(ibverbs_1_18, int, ibv_destroy_comp_cntr, (struct ibv_comp_cntr * comp_cntr),
              (comp_cntr), ENOSYS)
ADVERB_LOADED(ibverbs_1_1, int, ibv_destroy_cq, (ibv_cq * cq), (cq), ENOSYS)
ADVERB_LOADED(ibverbs_1_1, int, ibv_destroy_qp, (ibv_qp * qp), (qp), ENOSYS)
ADVERB_LOADED(ibverbs_1_1, int, ibv_destroy_srq, (ibv_srq * srq), (srq), ENOSYS)
ADVERB_LOADED(ibverbs_1_1, int, ibv_detach_mcast, (ibv_qp * qp, const ibv_gid* gid, uint16_t lid),
              (qp, gid, lid), ENOSYS)
ADVERB_LOADED(ibverbs_1_16, int, ibv_dm_export_dmabuf_fd, (ibv_dm * dm), (dm), -1)
ADVERB_LOADED(ibverbs_1_1, const char*, ibv_event_type_str, (ibv_event_type event), (event),
              "unknown")
ADVERB_LOADED(ibverbs_1_18, int, ibv_export_buf_dmabuf_fd, (struct ibv_buf * buf), (buf), -1)
ADVERB_LOADED(ibverbs_1_1, int, ibv_fork_init, (), (), ENOSYS)
ADVERB_LOADED(ibverbs_1_17, void, ibv_free_buf, (struct ibv_buf * buf), (buf), void())
ADVERB_LOADED(ibverbs_1_1, void, ibv_free_device_list, (ibv_device * *list), (list), void())
ADVERB_LOADED(ibverbs_1_1, int, ibv_get_async_event,
              (ibv_context * context, ibv_async_event* event), (context, event), -1)
ADVERB_LOADED(ibverbs_1_1, int, ibv_get_cq_event,
              (ibv_comp_channel * channel, ibv_cq** cq, void** cq_context),
              (channel, cq, cq_context), -1)
ADVERB_LOADED(ibverbs_1_1, __be64, ibv_get_device_guid, (ibv_device * device), (device), 0)
ADVERB_LOADED(ibverbs_1_9, int, ibv_get_device_index, (ibv_device * device), (device), -1)
ADVERB_LOADED(ibverbs_1_1, ibv_device**, ibv_get_device_list, (int* num_devices), (num_devices),
              no_list(num_devices))
ADVERB_LOADED(ibverbs_1_1, const char*, ibv_get_device_name, (ibv_device * device), (device),
              nullptr)
ADVERB_LOADED(ibverbs_1_5, int, ibv_get_pkey_index,
              (ibv_context * context, uint8_t port_num, __be16 pkey), (context, port_num, pkey), -1)
ADVERB_LOADED(ibverbs_1_10, ibv_context*, ibv_import_device, (int cmd_fd), (cmd_fd), nullptr)
ADVERB_LOADED(ibverbs_1_13, ibv_dm*, ibv_import_dm, (ibv_context * context, uint32_t dm_handle),
              (context, dm_handle), nullptr)
ADVERB_LOADED(ibverbs_1_10, ibv_mr*, ibv_import_mr, (ibv_pd * pd, uint32_t mr_handle),
              (pd, mr_handle), nullptr)
ADVERB_LOADED(ibverbs_1_10, ibv_pd*, ibv_import_pd, (ibv_context * context, uint32_t pd_handle),
              (context, pd_handle), nullptr)
ADVERB_LOADED(ibverbs_1_18, int, ibv_inc_comp_cntr,
              (struct ibv_comp_cntr * comp_cntr, uint64_t amount), (comp_cntr, amount), ENOSYS)
ADVERB_LOADED(ibverbs_1_18, int, ibv_inc_err_comp_cntr,
              (struct ibv_comp_cntr * comp_cntr, uint64_t amount), (comp_cntr, amount), ENOSYS)
ADVERB_LOADED(ibverbs_1_1, int, ibv_init_ah_from_wc,
              (ibv_context * context, uint8_t port_num, ibv_wc* wc, ibv_grh* grh,
               ibv_ah_attr* ah_attr),
              (context, port_num, wc, grh, ah_attr), -1)
ADVERB_LOADED(ibverbs_1_13, ibv_fork_status, ibv_is_fork_initialized, (), (), IBV_FORK_DISABLED)
ADVERB_LOADED(ibverbs_1_1, int, ibv_modify_qp, (ibv_qp * qp, ibv_qp_attr* attr, int attr_mask),
              (qp, attr, attr_mask), ENOSYS)
ADVERB_LOADED(ibverbs_1_1, int, ibv_modify_srq,
              (ibv_srq * srq, ibv_srq_attr* srq_attr, int srq_attr_mask),
              (srq, srq_attr, srq_attr_mask), ENOSYS)
ADVERB_LOADED(ibverbs_1_1, const char*, ibv_node_type_str, (ibv_node_type node_type), (node_type),
              "unknown")
ADVERB_LOADED(ibverbs_1_1, ibv_context*, ibv_open_device, (ibv_device * device), (device), nullptr)
ADVERB_LOADED(ibverbs_1_1, const char*, ibv_port_state_str, (ibv_port_state port_state),
              (port_state), "unknown")
ADVERB_LOADED(ibverbs_1_18, int, ibv_qp_attach_comp_cntr,
              (ibv_qp * qp, struct ibv_comp_cntr* comp_cntr,
               struct ibv_qp_attach_comp_cntr_attr* attr),
              (qp, comp_cntr, attr), ENOSYS)
ADVERB_LOADED(ibverbs_1_6, ibv_qp_ex*, ibv_qp_to_qp_ex, (ibv_qp * qp), (qp), nullptr)
ADVERB_LOADED(ibverbs_1_18, int, _ibv_query_comp_cntr_caps,
              (ibv_context * context, struct ibv_comp_cntr_caps* caps, size_t caps_size),
              (context, caps, caps_size), ENOSYS)
ADVERB_LOADED(ibverbs_1_1, int, ibv_query_device,
              (ibv_context * context, ibv_device_attr* device_attr), (context, device_attr), ENOSYS)
ADVERB_LOADED(ibverbs_1_10, int, ibv_query_ece, (ibv_qp * qp, ibv_ece* ece), (qp, ece), ENOSYS)
ADVERB_LOADED(ibverbs_1_1, int, ibv_query_gid,
              (ibv_context * context, uint8_t port_num, int index, ibv_gid* gid),
              (context, port_num, index, gid), -1)
ADVERB_LOADED(ibverbs_1_11, int, _ibv_query_gid_ex,
              (ibv_context * context, uint32_t port_num, uint32_t gid_index, ibv_gid_entry* entry,
               uint32_t flags, size_t entry_size),
              (context, port_num, gid_index, entry, flags, entry_size), ENOSYS)
ADVERB_LOADED(ibverbs_1_11, ssize_t, _ibv_query_gid_table,
              (ibv_context * context, ibv_gid_entry* entries, size_t max_entries, uint32_t flags,
               size_t entry_size),
              (context, entries, max_entries, flags, entry_size), -ENOSYS)
ADVERB_LOADED(ibverbs_1_1, int, ibv_query_pkey,
              (ibv_context * context, uint8_t port_num, int index, __be16* pkey),
              (context, port_num, index, pkey), -1)
ADVERB_LOADED(ibverbs_1_1, int, ibv_query_port,
              (ibv_context * context, uint8_t port_num, _compat_ibv_port_attr* port_attr),
              (context, port_num, port_attr), ENOSYS)
ADVERB_LOADED(ibverbs_1_16, int, ibv_query_port_speed,
              (ibv_context * context, uint32_t port_num, uint64_t* port_speed),
              (context, port_num, port_speed), ENOSYS)
ADVERB_LOADED(ibverbs_1_1, int, ibv_query_qp,
              (ibv_qp * qp, ibv_qp_attr* attr, int attr_mask, ibv_qp_init_attr* init_attr),
              (qp, attr, attr_mask, init_attr), ENOSYS)
ADVERB_LOADED(ibverbs_1_14, int, ibv_query_qp_data_in_order,
              (ibv_qp * qp, ibv_wr_opcode op, uint32_t flags), (qp, op, flags), 0)
ADVERB_LOADED(ibverbs_1_1, int, ibv_query_srq, (ibv_srq * srq, ibv_srq_attr* srq_attr),
              (srq, srq_attr), ENOSYS)
ADVERB_LOADED(ibverbs_1_1, int, ibv_rate_to_mbps, (ibv_rate rate), (rate), -1)
ADVERB_LOADED(ibverbs_1_0, int, ibv_rate_to_mult, (ibv_rate rate), (rate), -1)
ADVERB_LOADED(ibverbs_1_18, int, ibv_read_comp_cntr,
              (struct ibv_comp_cntr * comp_cntr, uint64_t* value), (comp_cntr, value), ENOSYS)
ADVERB_LOADED(ibverbs_1_18, int, ibv_read_err_comp_cntr,
              (struct ibv_comp_cntr * comp_cntr, uint64_t* value), (comp_cntr, value), ENOSYS)
ADVERB_LOADED(ibverbs_1_17, ibv_mr*, ibv_reg_buf_mr,
              (ibv_pd * pd, struct ibv_buf* buf, void* addr, size_t length, int access),
              (pd, buf, addr, length, access), nullptr)
ADVERB_LOADED(ibverbs_1_12, ibv_mr*, ibv_reg_dmabuf_mr,
              (ibv_pd * pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access),
              (pd, offset, length, iova, fd, access), nullptr)
ADVERB_LOADED(ibverbs_1_1, ibv_mr*, ibv_reg_mr,
              (ibv_pd * pd, void* addr, size_t length, int access), (pd, addr, length, access),
              nullptr)
ADVERB_LOADED(ibverbs_1_15, ibv_mr*, ibv_reg_mr_ex,
              (ibv_pd * pd, struct ibv_mr_init_attr* mr_init_attr), (pd, mr_init_attr), nullptr)
ADVERB_LOADED(ibverbs_1_7, ibv_mr*, ibv_reg_mr_iova,
              (ibv_pd * pd, void* addr, size_t length, uint64_t iova, int access),
              (pd, addr, length, iova, access), nullptr)
ADVERB_LOADED(ibverbs_1_8, ibv_mr*, ibv_reg_mr_iova2,
              (ibv_pd * pd, void* addr, size_t length, uint64_t iova, unsigned int access),
              (pd, addr, length, iova, access), nullptr)
ADVERB_LOADED(ibverbs_1_1, int, ibv_rereg_mr,
              (ibv_mr * mr, int flags, ibv_pd* pd, void* addr, size_t length, int access),
              (mr, flags, pd, addr, length, access), IBV_REREG_MR_ERR_CMD)
ADVERB_LOADED(ibverbs_1_1, int, ibv_resize_cq, (ibv_cq * cq, int cqe), (cq, cqe), ENOSYS)
ADVERB_LOADED(ibverbs_1_1, int, ibv_resolve_eth_l2_from_gid,
              (ibv_context * context, ibv_ah_attr* attr, uint8_t eth_mac[6], uint16_t* vid),
              (context, attr, eth_mac, vid), -1)
ADVERB_LOADED(ibverbs_1_18, int, ibv_set_comp_cntr,
              (struct ibv_comp_cntr * comp_cntr, uint64_t value), (comp_cntr, value), ENOSYS)
ADVERB_LOADED(ibverbs_1_10, int, ibv_set_ece, (ibv_qp * qp, ibv_ece* ece), (qp, ece), ENOSYS)
ADVERB_LOADED(ibverbs_1_18, int, ibv_set_err_comp_cntr,
              (struct ibv_comp_cntr * comp_cntr, uint64_t value), (comp_cntr, value), ENOSYS)
ADVERB_LOADED(ibverbs_1_13, void, ibv_unimport_dm, (ibv_dm * dm), (dm), void())
ADVERB_LOADED(ibverbs_1_10, void, ibv_unimport_mr, (ibv_mr * mr), (mr), void())
ADVERB_LOADED(ibverbs_1_10, void, ibv_unimport_pd, (ibv_pd * pd), (pd), void())
ADVERB_LOADED(ibverbs_1_1, const char*, ibv_wc_status_str, (ibv_wc_status status), (status),
              "unknown")
ADVERB_LOADED(ibverbs_private, const char*, ibv_wr_opcode_str, (ibv_wr_opcode opcode), (opcode),
              "unknown")
ADVERB_LOADED(ibverbs_1_1, ibv_rate, mbps_to_ibv_rate, (int mbps), (mbps), IBV_RATE_MAX)
ADVERB_LOADED(ibverbs_1_0, ibv_rate, mult_to_ibv_rate, (int mult), (mult), IBV_RATE_MAX)
