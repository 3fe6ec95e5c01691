// SPDX-License-Identifier: MIT
// What raw packet, XRC and driver queue pairs cannot do, and what no transport can.
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
#if defined(ADVERB_EXPECT_WRITE_OF_RAW_PACKETS)
  // expect: a raw packet queue pair can only send packets as they are, or segmented
  raw.post(write(remote, buffer)).check();
#elif defined(ADVERB_EXPECT_IMMEDIATE_OF_RAW_PACKETS)
  // expect: a raw packet queue pair can only send packets as they are, or segmented
  raw.post(send_with_immediate(immediate{1}, buffer)).check();
#elif defined(ADVERB_EXPECT_ENDPOINT_OF_RAW_PACKETS)
  // expect: this transport has no peer to announce itself to
  (void)waiting_raw.endpoint();
#elif defined(ADVERB_EXPECT_CONNECT_OF_RAW_PACKETS)
  // expect: datagrams (UD) and raw packets have no connection
  (void)waiting_raw.connect({});
#elif defined(ADVERB_EXPECT_ACCESS_OF_RAW_PACKETS)
  // expect: the peer's rights are granted in INIT, RTR or RTS, by connections only
  (void)fresh_raw.init().port(port_number{1}).allow({}).apply();
#elif defined(ADVERB_EXPECT_GID_OF_RAW_PACKETS)
  // expect: by pairs that announce themselves (not raw packet pairs)
  (void)fresh_raw.init().port(port_number{1}).gid(gid_index{1}).apply();
#elif defined(ADVERB_EXPECT_DRAIN_OF_RAW_PACKETS)
  // expect: raw packet queue pairs have no state SQD
  (void)sending_raw.drain();
#elif defined(ADVERB_EXPECT_INVALIDATION_WITH_DESTINATION)
  // expect: windows are bound and keys invalidated on this side: that has no destination
  initiator.post(local_invalidate(rkey{1}).to(there)).check();
#elif defined(ADVERB_EXPECT_XRC_WITHOUT_DESTINATION)
  // expect: an XRC request needs the number of the peer's shared receive queue: add .to(number)
  initiator.post(send(buffer)).check();
#elif defined(ADVERB_EXPECT_SHARED_QUEUE_ON_RC)
  // expect: only datagrams (UD) and XRC requests have a destination
  rc.post(send(buffer).to(there)).check();
#elif defined(ADVERB_EXPECT_RECEIVE_OF_XRC_INITIATOR)
  // expect: an XRC queue pair has no receive queue: post to the shared receive queue
  initiator.post(receive(buffer)).check();
#elif defined(ADVERB_EXPECT_RECEIVE_OF_XRC_TARGET)
  // expect: an XRC queue pair has no receive queue: post to the shared receive queue
  target.post(receive(buffer)).check();
#elif defined(ADVERB_EXPECT_SEND_OF_XRC_TARGET)
  // expect: an XRC target sends nothing: its peer's initiator does
  target.post(send(buffer)).check();
#elif defined(ADVERB_EXPECT_SEGMENTED_ON_RC)
  // expect: only datagrams (UD) and raw packets can be sent segmented
  rc.post(send_segmented(header, 1000, buffer)).check();
#elif defined(ADVERB_EXPECT_CREATE_OF_DRIVER_TYPE)
  // expect: queue pairs of the driver are made by its own calls: adopt them
  (void)queue_pair<transport::driver>::create(domain, {});
#elif defined(ADVERB_EXPECT_CREATE_OF_XRC_TARGET_IN_A_DOMAIN)
  // expect: an XRC target is made in an XRC domain
  (void)queue_pair<transport::xrc_recv>::create(domain, {});
#elif defined(ADVERB_EXPECT_CHANGE_IN_RTR)
  // expect: no attribute can be changed in this state of this transport
  receiving.change().allow({}).apply();
#elif defined(ADVERB_EXPECT_CHANGE_IN_RESET)
  // expect: no attribute can be changed in this state of this transport
  (void)fresh_raw.change();
#elif defined(ADVERB_EXPECT_CHANGE_IN_ANY_STATE)
  // expect: no attribute can be changed in this state of this transport
  (void)queue_pair<transport::driver, qp_state::any>{}.change();
#elif defined(ADVERB_EXPECT_ENDPOINT_AS_PEER_OF_DRIVER_TYPE)
  // expect: a queue pair of the driver has no endpoint as its peer: give the parts
  (void)driver.init().remote({}).apply();
#elif defined(ADVERB_EXPECT_CHANGE_OF_NOTHING)
  // expect: nothing to change was given
  rc.change().apply();
#elif defined(ADVERB_EXPECT_DRAIN_BEFORE_RTS)
  // expect: drain() starts from RTS: finish rts() first
  (void)receiving.drain();
#elif defined(ADVERB_EXPECT_RATE_LIMIT_OF_RC)
  // expect: rates are limited of raw packet pairs, from RTR on: call rts().rate_limit(
  rc.change().rate_limit(1000).apply();
#elif defined(ADVERB_EXPECT_ALTERNATE_PATH_OF_UD)
  // expect: paths migrate of connections only (RC, UC, XRC)
  ud.change().alternate_path({}).apply();
#elif defined(ADVERB_EXPECT_MTU_IN_RTS)
  // expect: the peer and the way to it are given in RTR of connections (RC, UC, XRC)
  rc.change().path_mtu(mtu::bytes_256).apply();
#endif
}
