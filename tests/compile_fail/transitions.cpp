// SPDX-License-Identifier: MIT
// Transitions that lack an attribute, have one too many, or have it twice.
#include <adverb/adverb.hpp>

using namespace adverb;

[[maybe_unused]] static void transit(queue_pair<transport::rc, qp_state::reset>& fresh,
                                     queue_pair<transport::ud, qp_state::reset>& fresh_ud,
                                     queue_pair<transport::rc, qp_state::init>& waiting,
                                     queue_pair<transport::uc, qp_state::init>& waiting_uc,
                                     queue_pair<transport::ud, qp_state::init>& waiting_ud,
                                     queue_pair<transport::rc, qp_state::rtr>& receiving,
                                     queue_pair<transport::uc, qp_state::rtr>& receiving_uc,
                                     queue_pair<transport::ud, qp_state::rtr>& receiving_ud,
                                     const endpoint& peer, const address& way) {
  constexpr port_number port{1};
  constexpr qp_number number{2};
  constexpr psn sequence{3};
  (void)fresh.init().port(port).apply();
  (void)fresh_ud.init().port(port).queue_key(queue_key{1}).apply();
  (void)waiting.rtr().remote(peer).apply();
  (void)waiting_uc.rtr().address(way).remote_queue_pair(number).remote_psn(sequence).apply();
  (void)waiting_ud.rtr().apply();
  (void)receiving.rts().retry_count(1).apply();
  (void)receiving_uc.rts().apply();
  (void)receiving_ud.rts().apply();

#if ADVERB_MUST_FAIL == 1
  // case: init_without_port
  // expect: INIT needs the port: call .port(
  (void)fresh.init().allow(access_right::remote_read).apply();

  // case: init_of_ud_without_queue_key
  // expect: INIT of a UD queue pair needs its queue key: call .queue_key(
  (void)fresh_ud.init().port(port).apply();

  // case: rtr_without_address
  // expect: RTR needs the address of the peer: call .remote(endpoint) or .address(...)
  (void)waiting.rtr().remote_queue_pair(number).remote_psn(sequence).apply();

  // case: rtr_of_uc_without_address
  // expect: RTR needs the address of the peer: call .remote(endpoint) or .address(...)
  (void)waiting_uc.rtr().apply();

  // case: rtr_without_remote_queue_pair
  // expect: RTR needs the peer's queue pair: call .remote(endpoint) or .remote_queue_pair(
  (void)waiting.rtr().address(way).remote_psn(sequence).apply();

  // case: rtr_without_psn
  // expect: RTR needs the peer's first packet sequence number: call .remote(endpoint) or .remote_
  (void)waiting_uc.rtr().address(way).remote_queue_pair(number).apply();

  // case: rights_of_ud
  // expect: remote access is granted in INIT, RTR or RTS of connections (RC, UC, XRC): call
  // init().allow(...)
  (void)fresh_ud.init().allow(access_right::remote_read);

  // case: queue_key_of_rc
  // expect: only datagram (UD) queue pairs have a queue key: call init().queue_key(...)
  (void)fresh.init().queue_key(queue_key{1});

  // case: peer_in_init
  // expect: the peer and its address are set in RTR of connections (RC, UC, XRC): call
  // rtr().remote(...); later a connection changes its address, and the rate with it, once its send
  // queue is drained: call drain(), then change().address(...); each datagram (UD) names a
  // destination: send(...).to(destination)
  (void)fresh.init().remote(peer);

  // case: port_in_rtr
  // expect: the port is set in INIT: call init().port(...)
  (void)waiting.rtr().port(port);

  // case: gid_in_rtr
  // expect: the local GID is set in INIT, except for raw packet queue pairs: call init().gid(...)
  (void)waiting.rtr().gid(gid_index{1});

  // case: reads_of_uc_in_rtr
  // expect: the limit of incoming reads and the RNR timer are set in RTR of RC and of XRC targets:
  // call rtr().max_destination_read_atomic(...) or rtr().rnr_timer(...)
  (void)waiting_uc.rtr().max_destination_read_atomic(1);

  // case: timer_of_uc
  // expect: rtr().max_destination_read_atomic(...) or rtr().rnr_timer(
  (void)waiting_uc.rtr().rnr_timer(rnr_timer::from_code(1));

  // case: retries_of_uc
  // expect: timeouts, retries and the limit of outgoing reads are set in RTS of reliable
  // connections (RC, XRC): call rts().retry_count(...) and so on
  (void)receiving_uc.rts().retry_count(1);

  // case: timeout_of_ud
  // expect: timeouts, retries and the limit of outgoing reads are set in RTS of reliable
  // connections (RC, XRC): call rts().retry_count(...) and so on
  (void)receiving_ud.rts().acknowledge_timeout(acknowledge_timeout::from_code(1));

  // case: mtu_in_rts
  // expect: the peer and its address are set in RTR of connections (RC, UC, XRC): call
  // rtr().remote(...); later a connection changes its address, and the rate with it, once its send
  // queue is drained: call drain(), then change().address(...); each datagram (UD) names a
  // destination: send(...).to(destination)
  (void)receiving.rts().path_mtu(mtu::bytes_256);

  // case: partition_in_rts
  // expect: the partition is set in INIT or RTR, except for raw packet queue pairs: call
  // init().pkey_index(...)
  (void)receiving.rts().pkey_index(pkey_index{0});

  // case: paths_of_ud
  // expect: only connections (RC, UC, XRC) support path migration: call rtr().alternate_path(...),
  // then rts().path_migration(...)
  (void)receiving_ud.rts().path_migration(path_migration_state::migrated);

  // case: current_state_in_rtr
  // expect: call rts().current_state(
  (void)waiting.rtr().current_state(qp_state::init);

  // case: drain_notification_in_rts
  // expect: call drain().notify_when_drained(
  (void)receiving.rts().notify_when_drained();

  // case: rate_limit_of_rc
  // expect: only raw packet queue pairs have a rate limit, from RTR on: call rts().rate_limit(...)
  (void)receiving.rts().rate_limit(1);

  // case: psn_in_rtr
  // expect: the first packet sequence number is announced to the peer in INIT: call init().psn(...)
  (void)waiting.rtr().psn(sequence);

  // case: psn_in_rts
  // expect: the first packet sequence number is announced to the peer in INIT: call init().psn(...)
  (void)receiving.rts().psn(sequence);

  // case: port_twice
  // expect: this attribute is already set
  (void)fresh.init().port(port).port(port);

  // case: psn_twice
  // expect: this attribute is already set
  (void)fresh.init().psn(sequence).port(port).psn(sequence);

  // case: peer_and_address
  // expect: this attribute is already set
  (void)waiting.rtr().remote(peer).address(way);

  // case: number_and_peer
  // expect: this attribute is already set
  (void)waiting.rtr().remote_queue_pair(number).remote(peer);

#elif ADVERB_MUST_FAIL == 2
  // The instantiation that fails here fails above too.

  // case: peer_of_ud
  // expect: each datagram (UD) names a destination: send(...).to(destination)
  (void)waiting_ud.rtr().remote(peer);
#endif
}
