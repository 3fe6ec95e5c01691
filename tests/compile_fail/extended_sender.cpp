// SPDX-License-Identifier: MIT
// What cannot be sent through the extended calls, and what cannot be posted without them.
#include <cstdint>
#include <span>

#include <adverb/adverb.hpp>

using namespace adverb;

[[maybe_unused]] static void use(
    const queue_pair<transport::rc>& rc, const queue_pair<transport::rc, qp_state::init>& waiting,
    extended_sender<transport::rc> sender, extended_sender<transport::ud> datagrams,
    extended_sender<transport::rc, send_operation::send | send_operation::atomic_write> words,
    const queue_pair<transport::uc>& uc, const queue_pair<transport::ud>& ud,
    const queue_pair<transport::raw_packet>& raw, const queue_pair<transport::xrc_recv>& target,
    const datagram_destination& somebody,
    remote_buffer<std::byte, access_right::flush_global> flushable,
    remote_buffer<std::uint64_t, access_right::remote_write> remote,
    remote_buffer<std::uint64_t, access_right::remote_read> readable, mutable_buffer buffer) {
  sender.post(send(buffer), write(remote, buffer)).check();
  datagrams.post(send(buffer).to(somebody)).check();
  words.post(atomic_write(remote, 7)).check();
  (void)rc.extended();
  (void)uc.extended();
  (void)ud.extended<send_operation::send | send_operation::tcp_segmentation>();
  (void)raw.extended<send_operation::send | send_operation::tcp_segmentation>();
  (void)target;
  (void)flush(flushable, placement::global);
  (void)waiting;
  (void)readable;
#if defined(ADVERB_EXPECT_RECEIVE)
  // expect: only requests that send can be posted through the extended sender
  sender.post(receive(buffer)).check();
#elif defined(ADVERB_EXPECT_OPERATION_NOT_NAMED)
  // expect: the extended sender was not made for this operation: name it in extended<operations>()
  sender.post(atomic_write(remote, 7)).check();
#elif defined(ADVERB_EXPECT_WRITE_NOT_NAMED)
  // expect: the extended sender was not made for this operation: name it in extended<operations>()
  words.post(write(remote, buffer)).check();
#elif defined(ADVERB_EXPECT_NO_DESTINATION)
  // expect: a datagram needs its destination: add .to(destination)
  datagrams.post(send(buffer)).check();
#elif defined(ADVERB_EXPECT_READ_OF_DATAGRAMS)
  // expect: a UD queue pair can only send: writes need UC or RC, reads, atomics and fences need RC
  datagrams.post(read(readable, buffer).to(somebody)).check();
#elif defined(ADVERB_EXPECT_NOTHING)
  // expect: there is nothing to post
  sender.post().check();
#elif defined(ADVERB_EXPECT_BEFORE_RTS)
  // expect: requests can be sent when the queue pair is ready to send: finish rts() or connect()
  // first
  (void)waiting.extended();
#elif defined(ADVERB_EXPECT_IN_ANY_STATE)
  // expect: say which state the queue pair is in: .as<qp_state::
  (void)queue_pair<transport::rc, qp_state::any>{}.extended();
#elif defined(ADVERB_EXPECT_ATOMIC_WRITE_BY_POST)
  // expect: this operation exists only in the extended calls: post it through extended()
  rc.post(atomic_write(remote, 7)).check();
#elif defined(ADVERB_EXPECT_FLUSH_BY_POST)
  // expect: this operation exists only in the extended calls: post it through extended()
  rc.post(flush(flushable, placement::global)).check();
#elif defined(ADVERB_EXPECT_FLUSH_NOT_NAMED)
  // expect: the extended sender was not made for this operation: name it in extended<operations>()
  sender.post(flush(flushable, placement::global)).check();
#elif defined(ADVERB_EXPECT_FLUSH_WITHOUT_RIGHT)
  // expect: placement::global needs a remote buffer with the right flush_global
  (void)flush(remote, placement::global);
#elif defined(ADVERB_EXPECT_PERSISTENT_FLUSH_WITHOUT_RIGHT)
  // expect: placement::persistent needs a remote buffer with the right flush_persistent
  (void)flush_region(flushable, placement::global | placement::persistent);
#elif defined(ADVERB_EXPECT_FLUSH_OF_UC)
  // expect: a UC queue pair can send and write: reads, atomics and fences need RC
  (void)uc.extended<send_operation::flush>();
#elif defined(ADVERB_EXPECT_READS_OF_UC)
  // expect: a UC queue pair can send and write: reads, atomics and fences need RC
  (void)uc.extended<basic_operations(transport::rc)>();
#elif defined(ADVERB_EXPECT_SEGMENTATION_OF_RC)
  // expect: only datagrams (UD) and raw packets can be sent segmented
  (void)rc.extended<send_operation::send | send_operation::tcp_segmentation>();
#elif defined(ADVERB_EXPECT_SEGMENTATION_OF_UC)
  // expect: only datagrams (UD) and raw packets can be sent segmented
  (void)uc.extended<send_operation::tcp_segmentation>();
#elif defined(ADVERB_EXPECT_WINDOWS_OF_UD)
  // expect: a UD queue pair can only send: writes need UC or RC, reads, atomics and fences need RC
  (void)ud.extended<send_operation::bind_window>();
#elif defined(ADVERB_EXPECT_IMMEDIATES_OF_RAW_PACKETS)
  // expect: a raw packet queue pair can only send packets as they are, or segmented
  (void)raw.extended<send_operation::send_with_immediate>();
#elif defined(ADVERB_EXPECT_SENDS_OF_A_TARGET)
  // expect: an XRC target sends nothing: its peer's initiator does
  (void)target.extended<send_operation::send>();
#elif defined(ADVERB_EXPECT_ATOMIC_WRITE_READ_ONLY)
  // expect: a write needs a remote buffer with the right remote_write
  (void)atomic_write(readable, 7);
#elif defined(ADVERB_EXPECT_IGNORED_COMMIT)
  // expect: ignoring return
  sender.start().add(send(buffer)).commit();
#elif defined(ADVERB_EXPECT_NO_COMMIT)
  // expect: ignoring return
  sender.start().add(send(buffer)).add(send(buffer));
#elif defined(ADVERB_EXPECT_COPIED_BATCH)
  // expect(gcc): use of deleted function
  // expect(clang): call to
  auto batch = sender.start();
  auto second = batch;
#endif
}
