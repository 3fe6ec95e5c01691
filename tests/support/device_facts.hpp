// SPDX-License-Identifier: MIT
// The points in which devices differ from the specification, or choose if it allows a choice. Tests
// look up facts by name. scripts/device-facts-page writes docs/device_facts.md from this table.
#pragma once

#include <compare>
#include <cstdio>
#include <string_view>

#include <sys/utsname.h>

#include <adverb/adverb.hpp>

#include "rdma_core_version.hpp"

/// A release of Linux or of rdma-core, which has no second number.
struct release {
  int major = 0;
  int minor = 0;
  friend constexpr auto operator<=>(const release&, const release&) = default;
};

enum class fact_device { soft_roce, soft_iwarp, any };

/// One fact: what the device does, and the releases that do it. A release of 0 is no bound.
struct device_fact {
  std::string_view what;
  fact_device device = fact_device::soft_roce;
  /// The first Linux that does it, and the first later one that does not.
  release linux_from{};
  release linux_before{};
  release rdma_core_from{};
  release rdma_core_before{};
  /// The function, and the commit where it is known.
  std::string_view where;
};

namespace device_facts {

// Soft-RoCE: requests and completions.
inline constexpr device_fact long_message_is_operation_error{
    .what =
        "A message longer than its receive ends with operation errors on both sides, not with a "
        "length error and an invalid request.",
    .where = "rxe_resp.c, check_length"};
inline constexpr device_fact wrong_key_is_operation_error{
    .what =
        "A send from a buffer with an unknown local key ends with an operation error, not with a "
        "protection error.",
    .linux_before = {6, 4},
    .where = "rxe_req.c, rxe_requester"};
inline constexpr device_fact local_error_is_flushed{
    .what =
        "A request that fails before its first packet (a refused buffer, a bind) is reported as "
        "flushed: its status is lost. Unacknowledged earlier requests are flushed too.",
    .linux_from = {6, 4},
    .where = "rxe_comp.c, flush_send_queue; 98e891b5e4d9 and f605f26ea196"};
inline constexpr device_fact refused_receive_is_operation_error{
    .what =
        "A receive whose buffer is refused ends with an operation error, not with a protection "
        "error.",
    .where = "rxe_resp.c, send_data_in; seen on Linux 6.1"};
inline constexpr device_fact length_of_receive_is_not_checked{
    .what =
        "A receive that is longer than its region takes every message that stays in the region.",
    .where = "rxe_mr.c, copy_data: checks the bytes that arrive; seen on Linux 6.1"};
inline constexpr device_fact refused_invalidation_is_acknowledged{
    .what =
        "A send whose key cannot be invalidated succeeds. Its receive ends with a remote invalid "
        "request error and holds the message.",
    .where = "rxe_resp.c, rxe_responder: class J; seen on Linux 6.1"};
inline constexpr device_fact refused_write_is_remote_error{
    .what =
        "A refused write with immediate data ends the receive with a remote access error, not with "
        "a local access error.",
    .where = "rxe_resp.c, rxe_responder; seen on Linux 6.1"};
inline constexpr device_fact long_datagram_is_operation_error{
    .what =
        "A datagram longer than its receive ends with an operation error, and moves the receiving "
        "queue pair to ERR.",
    .linux_before = {6, 10},
    .where = "rxe_resp.c, check_length"};
inline constexpr device_fact long_datagram_is_dropped{
    .what =
        "A datagram longer than its receive is dropped without a completion, as the specification "
        "allows.",
    .linux_from = {6, 10},
    .where = "rxe_resp.c, rxe_resp_check_length; f67ac0061c76"};
inline constexpr device_fact too_long_datagram_is_not_reported{
    .what =
        "A datagram of more than one packet completes with success and is not sent (C10-93.1.1).",
    .where = "rxe_req.c, rxe_requester"};
inline constexpr device_fact unaligned_atomic_is_refused_when_posted{
    .what =
        "The classic post refuses an atomic on an unaligned address; the peer should refuse it.",
    .where = "librxe, rxe_post_send"};
inline constexpr device_fact refused_post_stays_queued{
    .what =
        "A send that is posted too early is refused, but stays queued and is sent with the next "
        "doorbell.",
    .where = "librxe, rxe_post_send"};
inline constexpr device_fact receive_in_error_stays{
    .what = "A receive that is posted in ERR is never flushed.",
    .linux_before = {6, 5},
    .where = "librxe, rxe_post_recv makes no system call"};
inline constexpr device_fact receive_in_error_may_stay{
    .what =
        "A receive that is posted just after the change to ERR is flushed, a later one is not: a "
        "kernel thread flushes once.",
    .linux_from = {6, 5},
    .where = "rxe_qp.c, rxe_qp_error; 9b4b7c1f9f54"};
inline constexpr device_fact received_message_may_stay_unacknowledged{
    .what =
        "A receiver that moves its queue pair to ERR as soon as it has a message may not "
        "acknowledge it: the send is flushed. With one processor this was seen since Linux 7.2.",
    .where = "rxe_resp.c, do_complete: looks for ERR between completion and acknowledgement"};
inline constexpr device_fact flush_does_not_wake_solicited{
    .what = "A flushed request does not wake a completion queue armed for solicited messages.",
    .linux_from = {6, 4},
    .where = "rxe_resp.c, flush_recv_wqe; rxe_comp.c, flush_send_wqe; 49dc9c1f0c7e"};
inline constexpr device_fact overflowed_queue_goes_on{
    .what =
        "A completion queue that overflows loses only the completions beyond its size. A queue "
        "pair whose send loses its completion stays in RTS; one whose receive does moves to ERR.",
    .where = "rxe_cq.c, rxe_cq_post; rxe_comp.c, do_complete; rxe_resp.c, do_complete"};
inline constexpr device_fact fails_unsent_packets{
    .what =
        "A send fails with local_queue_pair_operation_error, without a retry, while the interface "
        "is down and takes no packet, and while its first queueing discipline is replaced. From "
        "Linux 6.12 on it is flushed.",
    .where = "rxe_req.c, rxe_requester; seen on Linux 6.1 and 6.12"};
inline constexpr device_fact acknowledgement_completes_later_fetch{
    .what =
        "A read or an atomic completes with success and without its data if it follows a send or a "
        "write whose acknowledgement was lost: the repeated send is acknowledged with the number "
        "of the last packet that was executed, which may be that of the read. On Linux 6.12 the "
        "send "
        "queue was seen to stop instead.",
    .where =
        "rxe_resp.c, duplicate_request: prev_psn; rxe_comp.c, check_ack: RC_ACKNOWLEDGE; seen on "
        "Linux 6.1"};
inline constexpr device_fact lost_end_of_write_stops_uc{
    .what =
        "A UC queue pair that loses the last packet of a write with several packets receives "
        "nothing more.",
    .where =
        "rxe_resp.c, do_class_d1e_error: leaves the state of the write if no receive is in use; "
        "seen on Linux 6.1"};
inline constexpr device_fact fenced_repetition_waits{
    .what =
        "A fenced request that must be sent again while a read or an atomic behind it is "
        "outstanding is never sent: the fence waits for it. No retry and no error follows.",
    .where = "rxe_req.c, rxe_wqe_is_fenced: counts later reads too; seen on Linux 6.1"};

inline constexpr device_fact empty_requests_spoil_repeated_reads{
    .what =
        "A read of no bytes whose answer is lost is never answered, however often it is sent "
        "again. "
        "A read that is sent again after a later read or write of no bytes moves the queue pair of "
        "the peer to ERR, which may go unanswered, too.",
    .linux_from = {6, 3},
    .where =
        "rxe_resp.c, qp_resp_from_reth: keeps key 0, which duplicate_request refuses; read_reply: "
        "looks at the length of the last request; seen on Linux 6.12"};

// Soft-RoCE: queue pairs.
inline constexpr device_fact responder_resources_are_rounded_up{
    .what = "The limit of reads and atomics as responder is rounded up to a power of two.",
    .where = "rxe_qp.c, rxe_qp_from_attr"};
inline constexpr device_fact responder_resources_are_not_checked{
    .what = "A limit of reads and atomics as responder above that of the device is accepted.",
    .where = "rxe_qp.c, rxe_qp_chk_attr"};
inline constexpr device_fact pkey_index_is_not_checked{
    .what = "Every index of a partition key is accepted; there is one partition key.",
    .where = "rxe_qp.c, rxe_qp_chk_attr"};
inline constexpr device_fact drains_in_background{
    .what =
        "A queue pair in SQD refuses every change except to ERR with EINVAL until its send queue "
        "is "
        "drained, which takes a moment even if the queue is empty.",
    .linux_from = {6, 4},
    .where = "rxe_qp.c, __qp_chk_state; 9b4b7c1f9f54"};
inline constexpr device_fact no_local_invalidation_on_uc{
    .what = "Only RC has local invalidation.", .where = "rxe_opcode.c, rxe_wr_opcode_info"};

inline constexpr device_fact unsent_management_datagram_ends_connecting{
    .what =
        "A management datagram that cannot be sent, because the link is down, moves the queue pair "
        "of the connection manager to ERR. The device makes no more connections until it is "
        "removed and added again.",
    .where = "rxe_req.c, rxe_requester; seen on Linux 7.2"};

// Soft-RoCE: memory.
inline constexpr device_fact window_bounds_are_those_of_region{
    .what = "An access through a memory window is checked against the bounds of its region.",
    .where = "rxe_resp.c, check_rkey"};
inline constexpr device_fact every_pair_invalidates_windows{
    .what =
        "A window of type 2 can be invalidated through every queue pair, not only through the one "
        "that bound it.",
    .where = "rxe_mw.c, rxe_check_invalidate_mw; seen on Linux 6.1"};
inline constexpr device_fact bound_window_delays_end_of_pair{
    .what =
        "Destroying a queue pair through which a window of type 2 is bound takes 50 seconds, makes "
        "the kernel warn, and succeeds. The region stays in use until the window is deallocated, "
        "which works.",
    .where =
        "rxe_mw.c, rxe_do_bind_mw: holds the pair; rxe_pool.c, __rxe_cleanup; seen on Linux "
        "6.1 and 6.12"};
inline constexpr device_fact window_takes_region_of_other_domain{
    .what = "A window can be bound to a region of another protection domain.",
    .linux_before = {6, 12},
    .where = "rxe_mw.c, rxe_check_bind_mw; seen on Linux 6.1, refused by the update 6.12.117"};
inline constexpr device_fact window_takes_region_of_other_domain_again{
    .what = "The same, on releases that have no such update.",
    .linux_from = {6, 13},
    .linux_before = {7, 3},
    .where = "rxe_mw.c, rxe_check_bind_mw; seen on Linux 7.2.13, refused on 7.3"};
inline constexpr device_fact attaches_to_a_lost_group{
    .what =
        "A queue pair that is attached to a multicast group while the last other one is detached "
        "may belong to a group that is lost: it receives nothing, and ibv_detach_mcast fails with "
        "EINVAL.",
    .where = "rxe_mcast.c, rxe_attach_mcast: no lock from rxe_get_mcg on; seen on Linux 6.1"};
inline constexpr device_fact shared_receives_use_domain_of_pair{
    .what =
        "A buffer of a shared receive queue must be of the domain of the queue pair: that of the "
        "shared queue has no effect.",
    .where = "rxe_resp.c, send_data_in; seen on Linux 6.1"};
inline constexpr device_fact refused_invalidation_is_operation_error{
    .what =
        "A refused local invalidation ends with an operation error, not with a window bind error.",
    .linux_before = {6, 4},
    .where = "rxe_req.c, rxe_do_local_ops"};
inline constexpr device_fact invalidated_key_has_another_flag{
    .what =
        "A completion whose peer invalidated a key has IBV_WC_IP_CSUM_OK in place of "
        "IBV_WC_WITH_INV.",
    .where = "rxe_resp.c, do_complete: the kernel's own flag"};
inline constexpr device_fact zero_based_flag_is_ignored{
    .what = "IBV_ACCESS_ZERO_BASED alone has no effect on the addresses of a region.",
    .linux_before = {6, 5},
    .where = "rxe_verbs.c, rxe_reg_user_mr"};
inline constexpr device_fact zero_based_is_refused{
    .what = "A zero-based registration fails with EOPNOTSUPP.",
    .linux_from = {6, 5},
    .where = "rxe_verbs.c, rxe_reg_user_mr; 02ed253770fb"};

inline constexpr device_fact on_demand_data_goes_to_start_of_page{
    .what =
        "Data for a region with on-demand paging goes to and comes from the start of each page, "
        "whatever the offset: do not use on-demand paging there.",
    .linux_from = {6, 15},
    .where = "rxe_odp.c, __rxe_odp_mr_copy of 7.3"};
inline constexpr device_fact advice_is_for_on_demand_regions{
    .what =
        "Advice about a region without on-demand paging is not refused: the kernel reads its pages "
        "as if it had it.",
    .linux_from = {6, 15},
    .where = "rxe_odp.c, rxe_ib_prefetch_sg_list of 7.3"};

// Soft-RoCE: events.
inline constexpr device_fact no_event_of_queue_pair_error{
    .what = "A queue pair that fails raises no asynchronous event.",
    .where = "rxe_qp.c, rxe_qp_error"};
inline constexpr device_fact no_event_of_last_receive{
    .what = "A queue pair in ERR on a shared receive queue raises no last-receive event.",
    .linux_before = {6, 5},
    .where = "rxe_resp.c, flush_recv_queue; c3e1bf626eb3 added it"};

// Soft-RoCE: its provider.
inline constexpr device_fact loses_place{
    .what =
        "A round of polling that empties an extended completion queue skips one completion: "
        "next_poll releases the last one when it returns ENOENT, and end_poll releases it again.",
    .rdma_core_before = {55},
    .where = "librxe, cq_end_poll"};
inline constexpr device_fact loses_lists{
    .what =
        "The extended calls use the first length of a list of elements for each of them, and send "
        "nothing of several pieces of inline data.",
    .rdma_core_before = {64},
    .where = "librxe, wr_set_sge_list and wr_set_inline_data_list"};

// soft-iWARP.
inline constexpr device_fact leaves_state_unwritten{
    .what = "A query of a queue pair returns no state, but what the kernel's memory held.",
    .device = fact_device::soft_iwarp,
    .linux_before = {6, 8},
    .where = "siw_verbs.c, siw_query_qp; uverbs_cmd.c, ib_uverbs_query_qp; 0b988c1bee28"};
inline constexpr device_fact reports_own_state{
    .what = "A rejected queue pair is reported in INIT or ERR, and does not return to RESET.",
    .device = fact_device::soft_iwarp,
    .linux_from = {6, 8},
    .where = "siw_verbs.c, siw_query_qp; 0b988c1bee28"};
inline constexpr device_fact takes_a_page_for_no_page{
    .what =
        "ibv_create_qp fails, and leaves errno 0, when a queue would start at page 0x90 of what "
        "its context maps: libsiw takes that offset for an invalid one. A completion queue that "
        "contains the page keeps every other from starting there.",
    .device = fact_device::soft_iwarp,
    .where =
        "siw-abi.h, SIW_INVAL_UOBJ_KEY; siw_verbs.c, siw_mmap_entry_insert; libsiw, "
        "siw_create_qp"};

inline constexpr device_fact frees_requests_beyond_backlog{
    .what =
        "A request beyond the backlog of a listener is refused with a connection that is freed too "
        "early: the kernel warns or crashes, and requests before it may be lost.",
    .device = fact_device::soft_iwarp,
    .where = "siw_cm.c, siw_destroy_listen and siw_cep_put; seen on Linux 6.1"};
inline constexpr device_fact crashes_at_empty_element{
    .what =
        "A send with a scatter/gather element without bytes in front of another one crashes the "
        "kernel. Channels pass on no empty part of a message.",
    .device = fact_device::soft_iwarp,
    .where = "siw_qp_tx.c, siw_tx_hdt: null pointer dereference; seen on Linux 6.1"};
inline constexpr device_fact misreads_short_requests{
    .what =
        "A request of up to 32 bytes with one element, not inline, fails with an operation error "
        "or "
        "sends other bytes when TCP has had no room. Rings fill their frames up to 40 bytes.",
    .device = fact_device::soft_iwarp,
    .where =
        "siw_verbs.c, siw_post_send: in_syscall may still be set when the thread of the kernel "
        "runs "
        "siw_try_1seg; seen on Linux 6.1"};

// librdmacm.
inline constexpr device_fact programs_raise_no_events{
    .what =
        "rdma_write_cm_event and rdma_resolve_addrinfo fail with EINVAL: the kernel does not know "
        "the command.",
    .device = fact_device::any,
    .linux_before = {6, 17},
    .where = "ucma.c, ucma_write"};

// libibverbs.
inline constexpr device_fact late_fork_support_is_refused{
    .what =
        "ibv_fork_init fails with EINVAL after a registration even where the kernel makes it "
        "unnecessary.",
    .device = fact_device::any,
    .rdma_core_before = {52},
    .where = "libibverbs, ibv_fork_init; 5a11b68ca6a9 of rdma-core"};

}  // namespace device_facts

/// Soft-RoCE (rdma_rxe).
[[nodiscard]] inline bool is_soft_roce(adverb::context_ref context) {
  return context.query_device().vendor_id() == 0xffffff;
}

[[nodiscard]] inline release linux_release() {
  utsname name{};
  release found;
  if (::uname(&name) != 0 || std::sscanf(name.release, "%d.%d", &found.major, &found.minor) != 2)
    return {};
  return found;
}

/// True if the device of the context, on this Linux and this rdma-core, does so.
[[nodiscard]] inline bool holds(const device_fact& fact, adverb::context_ref context) {
  const auto within = [](release found, release from, release before) {
    return found >= from && (before == release{} || found < before);
  };
  const bool iwarp = context.device().transport_type() == adverb::transport_type::iwarp;
  if (fact.device == fact_device::soft_roce && (iwarp || !is_soft_roce(context))) return false;
  if (fact.device == fact_device::soft_iwarp && !iwarp) return false;
  return within(linux_release(), fact.linux_from, fact.linux_before) &&
         within({rdma_core_version()}, fact.rdma_core_from, fact.rdma_core_before);
}
