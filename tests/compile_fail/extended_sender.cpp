// SPDX-License-Identifier: MIT
// Requests that cannot be sent through the extended calls, and requests that cannot be posted
// without them.
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
#if ADVERB_MUST_FAIL == 1
  // case: receive
  // expect: the extended sender posts only send queue requests: post receives to the queue pair
  sender.post(receive(buffer)).check();

  // case: operation_not_named
  // expect: the extended sender was created without this operation: name it in
  // extended<operations>()
  sender.post(atomic_write(remote, 7)).check();

  // case: write_not_named
  // expect: the extended sender was created without this operation: name it in
  // extended<operations>()
  words.post(write(remote, buffer)).check();

  // case: no_destination
  // expect: a datagram needs its destination: add .to(destination)
  datagrams.post(send(buffer)).check();

  // case: read_of_datagrams
  // expect: a UD queue pair can only send: writes need UC or RC, reads, atomics and fences need RC
  datagrams.post(read(readable, buffer).to(somebody)).check();

  // case: nothing
  // expect: there is nothing to post
  sender.post().check();

  // case: before_rts
  // expect: requests can be sent when the queue pair is ready to send: finish rts() or connect()
  // first
  (void)waiting.extended();

  // case: in_any_state
  // expect: the type of the queue pair has no state: call .as<qp_state::...>() or
  // .assume<qp_state::...>()
  (void)queue_pair<transport::rc, qp_state::any>{}.extended();

  // case: atomic_write_by_post
  // expect: this operation exists only in the extended calls: post it through extended()
  rc.post(atomic_write(remote, 7)).check();

  // case: flush_by_post
  // expect: this operation exists only in the extended calls: post it through extended()
  rc.post(flush(flushable, placement::global)).check();

  // case: flush_not_named
  // expect: the extended sender was created without this operation: name it in
  // extended<operations>()
  sender.post(flush(flushable, placement::global)).check();

  // case: flush_without_right
  // expect: placement::global needs a remote buffer with the right flush_global
  (void)flush(remote, placement::global);

  // case: persistent_flush_without_right
  // expect: placement::persistent needs a remote buffer with the right flush_persistent
  (void)flush_region(flushable, placement::global | placement::persistent);

  // case: flush_of_uc
  // expect: a UC queue pair can send and write: reads, atomics and fences need RC
  (void)uc.extended<send_operation::flush>();

  // case: segmentation_of_rc
  // expect: only datagrams (UD) and raw packets can be sent segmented
  (void)rc.extended<send_operation::send | send_operation::tcp_segmentation>();

  // case: segmentation_of_uc
  // expect: only datagrams (UD) and raw packets can be sent segmented
  (void)uc.extended<send_operation::tcp_segmentation>();

  // case: windows_of_ud
  // expect: a UD queue pair can only send: writes need UC or RC, reads, atomics and fences need RC
  (void)ud.extended<send_operation::bind_window>();

  // case: immediates_of_raw_packets
  // expect: a raw packet queue pair supports only plain and segmented sends
  (void)raw.extended<send_operation::send_with_immediate>();

  // case: sends_of_a_target
  // expect: an XRC target cannot send: only an initiator can, transport::xrc_send
  (void)target.extended<send_operation::send>();

  // case: atomic_write_read_only
  // expect: a write needs a remote buffer with the right remote_write
  (void)atomic_write(readable, 7);

  // case: ignored_commit
  // expect: ignoring return
  sender.start().add(send(buffer)).commit();

  // case: no_commit
  // expect: ignoring return
  sender.start().add(send(buffer)).add(send(buffer));

  // case: copied_batch
  // expect(gcc): use of deleted function
  // expect(clang): call to
  {
    auto batch = sender.start();
    auto second = batch;
  }

#elif ADVERB_MUST_FAIL == 2
  // The instantiation that fails here fails above too.

  // case: reads_of_uc
  // expect: a UC queue pair can send and write: reads, atomics and fences need RC
  (void)uc.extended<basic_operations(transport::rc)>();
#endif
}
