// SPDX-License-Identifier: MIT
// Requests that cannot be posted to a queue pair, by its state and transport.
#include <adverb/adverb.hpp>

using namespace adverb;

template <transport Transport, qp_state State>
using pair_in = const queue_pair<Transport, State>&;

[[maybe_unused]] static void post(
    pair_in<transport::rc, qp_state::reset> fresh, pair_in<transport::rc, qp_state::init> waiting,
    pair_in<transport::rc, qp_state::rtr> receiving, pair_in<transport::rc, qp_state::any> any,
    pair_in<transport::rc, qp_state::error> failed, pair_in<transport::rc, qp_state::rts> rc,
    pair_in<transport::uc, qp_state::rts> uc, pair_in<transport::ud, qp_state::rts> ud,
    const datagram_destination& somebody,
    remote_buffer<std::uint64_t, access_right::remote_read> readable, remote_buffer<> writable,
    remote_buffer<std::uint64_t, access_right::remote_atomic> counter, mutable_buffer buffer) {
  waiting.post(receive(buffer)).check();
  receiving.post(receive(buffer)).check();
  failed.post(receive(buffer)).check();
  failed.post(send(buffer)).check();
  rc.post(send(buffer), write(writable, buffer), read(readable, buffer),
          fetch_and_add(counter, 1, buffer))
      .check();
  rc.post(send(buffer).fenced()).check();
  any.as<qp_state::rts>().post(send(buffer)).check();
  rc.post(receive(buffer), receive()).check();
  uc.post(send(buffer), write(writable, buffer)).check();
  uc.post(receive(buffer)).check();
  ud.post(send(buffer).to(somebody)).check();

  (void)fresh;
#if ADVERB_MUST_FAIL == 1
  // case: receive_before_init
  // expect: receives can be posted only from INIT on: finish init() first
  fresh.post(receive(buffer)).check();

  // case: send_in_reset
  // expect: sends can be posted when the queue pair is ready to send: finish rts() or connect()
  // first
  fresh.post(send(buffer)).check();

  // case: send_in_init
  // expect: sends can be posted when the queue pair is ready to send: finish rts() or connect()
  // first
  waiting.post(send(buffer)).check();

  // case: send_in_rtr
  // expect: sends can be posted when the queue pair is ready to send: finish rts() or connect()
  // first
  receiving.post(send(buffer)).check();

  // case: send_in_any_state
  // expect: the type of the queue pair has no state: call .as<qp_state::...>() or
  // .assume<qp_state::...>()
  any.post(send(buffer)).check();

  // case: fence_on_uc
  // expect: a UC queue pair can send and write: reads, atomics and fences need RC
  uc.post(send(buffer).fenced()).check();

  // case: fence_on_ud
  // expect: a UD queue pair can only send: writes need UC or RC, reads, atomics and fences need RC
  ud.post(send(buffer).fenced().to(somebody)).check();

  // case: write_on_ud
  // expect: a UD queue pair can only send: writes need UC or RC, reads, atomics and fences need RC
  ud.post(write(writable, buffer).to(somebody)).check();

  // case: datagram_without_destination
  // expect: a datagram needs its destination: add .to(destination)
  ud.post(send(buffer)).check();

  // case: destination_on_rc
  // expect: only datagrams (UD) and XRC requests have a destination
  rc.post(send(buffer).to(somebody)).check();

  // case: mixed_queues
  // expect: sends and receives go to different queues: post them in two calls
  rc.post(send(buffer), receive(buffer)).check();

  // case: nothing_to_post
  // expect: there is nothing to post
  rc.post().check();

  // case: no_work_request
  // expect: only work requests can be posted: send(
  rc.post(send(buffer), buffer).check();

  // case: ignored_result
  // expect: a post can fail: call .check()
  rc.post(send(buffer));

  // case: reference_to_a_temporary
  // expect(gcc): use of deleted function
  // expect(clang): call to deleted constructor
  const queue_pair_ref<transport::rc> dangling{queue_pair<transport::rc>{}};

#elif ADVERB_MUST_FAIL == 2
  // The instantiation that fails here fails above too.

  // case: read_on_uc
  // expect: a UC queue pair can send and write: reads, atomics and fences need RC
  uc.post(read(readable, buffer)).check();

#elif ADVERB_MUST_FAIL == 3
  // The instantiation that fails here fails above too.

  // case: atomic_on_uc
  // expect: a UC queue pair can send and write: reads, atomics and fences need RC
  uc.post(compare_and_swap(counter, {.expected = 1, .desired = 2}, buffer)).check();
#endif
}
