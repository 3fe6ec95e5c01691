// SPDX-License-Identifier: MIT
// Requests that a chain does not take, and queue pairs that do not take the chain.
#include <adverb/adverb.hpp>

using namespace adverb;

[[maybe_unused]] static void use(
    const queue_pair<transport::rc>& rc, const queue_pair<transport::uc>& uc,
    const queue_pair<transport::ud>& ud, const queue_pair<transport::rc, qp_state::init>& waiting,
    extended_sender<transport::rc> sender, remote_buffer<> writable,
    remote_buffer<std::byte, access_right::remote_read> readable,
    const window_binding<window_type::two, std::byte, access_right::remote_write>& binding,
    const datagram_destination& somebody, mutable_buffer buffer) {
  send_chain<4> chain;
  send_chain<4, transport::uc> unreliable;
  send_chain<4, transport::ud> datagrams;
  (void)chain.add(write(writable, buffer));
  (void)chain.add(read(readable, buffer));
  (void)unreliable.add(write(writable, buffer));
  (void)datagrams.add(send(buffer).to(somebody));
  rc.post(chain).check();
  rc.post(unreliable).check();
  uc.post(unreliable).check();
  ud.post(datagrams).check();
  (void)binding;
  (void)waiting;
  (void)sender;
#if ADVERB_MUST_FAIL == 1
  // case: receive
  // expect: only requests for the send queue can be chained: send(...), write(...), ...
  (void)chain.add(receive(buffer));

  // case: read_of_uc
  // expect: a UC queue pair can send and write: reads, atomics and fences need RC
  (void)unreliable.add(read(readable, buffer));

  // case: no_destination
  // expect: a datagram needs its destination: add .to(destination)
  (void)datagrams.add(send(buffer));

  // case: window
  // expect: binding a window cannot be prepared: each binding has a new key, which the post
  // stores in the window
  (void)chain.add(bind_window(binding));

  // case: too_many_buffers
  // expect: the request has more buffers than the chain has room for: send_chain<capacity,
  // transport, buffers>
  (void)chain.add(send(buffer, buffer));

  // case: chain_of_rc_on_uc
  // expect: the chain holds requests for another transport: send_chain<capacity, transport>
  uc.post(chain).check();

  // case: chain_of_ud_on_rc
  // expect: the chain holds requests for another transport: send_chain<capacity, transport>
  rc.post(datagrams).check();

  // case: not_ready
  // expect: a chain can be posted when the queue pair is ready to send: finish rts() or connect()
  // first
  waiting.post(chain).check();

  // case: extended
  // expect: the extended sender cannot post prepared requests
  sender.post(chain);

  // case: with_others
  // expect: prepared requests cannot be posted together with others: prepare them all as one batch,
  // or post them in two calls
  rc.post(chain, send(buffer)).check();
#endif
}
