// SPDX-License-Identifier: MIT
// Operations that raw packet, XRC and driver queue pairs lack, and operations that every transport
// lacks.
#include <cstddef>
#include <cstdint>
#include <span>

#include <adverb/adverb.hpp>

using namespace adverb;

[[maybe_unused]] static void use(protection_domain& domain,
                                 const queue_pair<transport::raw_packet>& raw,
                                 queue_pair<transport::raw_packet, qp_state::init>& waiting_raw,
                                 const queue_pair<transport::xrc_send>& initiator,
                                 queue_pair<transport::xrc_recv>& target,
                                 queue_pair<transport::driver, qp_state::reset>& driver,
                                 queue_pair<transport::rc>& rc, queue_pair<transport::ud>& ud,
                                 queue_pair<transport::raw_packet>& sending_raw,
                                 queue_pair<transport::rc, qp_state::rtr>& receiving,
                                 queue_pair<transport::raw_packet, qp_state::reset>& fresh_raw,
                                 remote_buffer<std::uint64_t, access_right::remote_write> remote,
                                 mutable_buffer buffer, std::span<const std::byte> header) {
  constexpr shared_receive_queue_number there{7};
  raw.post(send(buffer), send_segmented(header, 1000, buffer)).check();
  initiator.post(send(buffer).to(there), write(remote, buffer).to(there)).check();
  initiator.post(local_invalidate(rkey{1})).check();
  (void)driver.init().port(port_number{1}).path_mtu(mtu::bytes_1024).apply();
  rc.change().allow(access_right::remote_read).apply();
  (void)rc.drain().notify_when_drained().apply();
  (void)domain;
  (void)waiting_raw;
  (void)target;
  (void)ud;
  (void)sending_raw;
  (void)receiving;
  (void)fresh_raw;
#if ADVERB_MUST_FAIL == 1
  // case: write_of_raw_packets
  // expect: a raw packet queue pair supports only plain and segmented sends
  raw.post(write(remote, buffer)).check();

  // case: immediate_of_raw_packets
  // expect: a raw packet queue pair supports only plain and segmented sends
  raw.post(send_with_immediate(immediate{1}, buffer)).check();

  // case: endpoint_of_raw_packets
  // expect: queue pairs of this transport have no endpoint
  (void)waiting_raw.endpoint();

  // case: connect_of_raw_packets
  // expect: datagrams (UD) and raw packets have no connection
  (void)waiting_raw.connect({});

  // case: access_of_raw_packets
  // expect: remote access is granted in INIT, RTR or RTS of connections (RC, UC, XRC): call
  // init().allow(...)
  (void)fresh_raw.init().port(port_number{1}).allow({}).apply();

  // case: gid_of_raw_packets
  // expect: the local GID is set in INIT, except for raw packet queue pairs: call init().gid(...)
  (void)fresh_raw.init().port(port_number{1}).gid(gid_index{1}).apply();

  // case: drain_of_raw_packets
  // expect: raw packet queue pairs have no state SQD
  (void)sending_raw.drain();

  // case: invalidation_with_destination
  // expect: bind_window and local_invalidate are local operations without a destination: remove
  // .to(...)
  initiator.post(local_invalidate(rkey{1}).to(there)).check();

  // case: xrc_without_destination
  // expect: an XRC request needs the number of the peer's shared receive queue: add .to(number)
  initiator.post(send(buffer)).check();

  // case: shared_queue_on_rc
  // expect: only datagrams (UD) and XRC requests have a destination
  rc.post(send(buffer).to(there)).check();

  // case: receive_of_xrc_initiator
  // expect: an XRC queue pair has no receive queue: post to the shared receive queue
  initiator.post(receive(buffer)).check();

  // case: receive_of_xrc_target
  // expect: an XRC queue pair has no receive queue: post to the shared receive queue
  target.post(receive(buffer)).check();

  // case: send_of_xrc_target
  // expect: an XRC target cannot send: only an initiator can, transport::xrc_send
  target.post(send(buffer)).check();

  // case: segmented_on_rc
  // expect: only datagrams (UD) and raw packets can be sent segmented
  rc.post(send_segmented(header, 1000, buffer)).check();

  // case: create_of_driver_type
  // expect: driver queue pairs are created by the driver's calls: adopt them
  (void)queue_pair<transport::driver>::create(domain, {});

  // case: create_of_xrc_target_in_a_domain
  // expect: an XRC target is created in an XRC domain: create(xrc_domain)
  (void)queue_pair<transport::xrc_recv>::create(domain, {});

  // case: change_in_rtr
  // expect: no attribute can be changed in this state of this transport
  receiving.change().allow({}).apply();

  // case: change_in_reset
  // expect: no attribute can be changed in this state of this transport
  (void)fresh_raw.change();

  // case: change_in_any_state
  // expect: no attribute can be changed in this state of this transport
  (void)queue_pair<transport::driver, qp_state::any>{}.change();

  // case: endpoint_as_peer_of_driver_type
  // expect: a driver queue pair cannot take an endpoint as its peer: set the parts, .address(...)
  // and so on
  (void)driver.init().remote({}).apply();

  // case: change_of_nothing
  // expect: the change sets no attribute
  rc.change().apply();

  // case: drain_before_rts
  // expect: drain() starts from RTS: finish rts() first
  (void)receiving.drain();

  // case: rate_limit_of_rc
  // expect: only raw packet queue pairs have a rate limit, from RTR on: call rts().rate_limit(...)
  rc.change().rate_limit(1000).apply();

  // case: alternate_path_of_ud
  // expect: only connections (RC, UC, XRC) support path migration: call rtr().alternate_path(...),
  // then rts().path_migration(...)
  ud.change().alternate_path({}).apply();

  // case: mtu_in_rts
  // expect: the peer and its address are set in RTR of connections (RC, UC, XRC): call
  // rtr().remote(...); later a connection changes its address, and the rate with it, once its send
  // queue is drained: call drain(), then change().address(...); each datagram (UD) names a
  // destination: send(...).to(destination)
  rc.change().path_mtu(mtu::bytes_256).apply();
#endif
}
