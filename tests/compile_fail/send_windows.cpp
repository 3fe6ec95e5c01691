// SPDX-License-Identifier: MIT
// Over what no send window can be made, and what does not go through one.
#include <cstddef>

#include <adverb/adverb.hpp>

using namespace adverb;

[[maybe_unused]] static void use(const queue_pair<transport::rc>& rc,
                                 const queue_pair<transport::rc, qp_state::init>& waiting,
                                 const queue_pair<transport::rc, qp_state::any>& any,
                                 const queue_pair<transport::ud>& ud,
                                 remote_buffer<std::byte, access_right::remote_write> remote,
                                 mutable_buffer buffer) {
  send_window window{rc};
  window.post(write(remote, buffer), send(buffer)).check();
  prepared_list list{send(buffer), 2};
  window.post(list).check();
  window.post(list.first(1)).check();
  window.post(prepared_request{send(buffer)}).check();
  (void)waiting;
  (void)any;
  (void)ud;
#if ADVERB_MUST_FAIL == 1
  // case: before_rts
  // expect: a send window is made over a queue pair that is ready to send: finish rts() or
  // connect() first
  (void)send_window{waiting};

  // case: in_any_state
  // expect: say which state the queue pair is in: .as<qp_state::
  (void)send_window{any};

  // case: temporary
  // expect(gcc): use of deleted function
  // expect(clang): deleted
  (void)send_window{queue_pair<transport::rc>{}};

  // case: receive
  // expect: only requests that send go through a send window: post receives to the pair
  window.post(receive(buffer)).check();

  // case: nothing
  // expect: there is nothing to post
  window.post().check();

  // case: no_destination
  // expect: a datagram needs its destination: add .to(destination)
  {
    send_window datagrams{ud};
    datagrams.post(send(buffer)).check();
  }

  // case: const_prepared
  // expect: a prepared request, batch or list is posted by itself, and is not const
  {
    const prepared_request request{send(buffer)};
    window.post(request).check();
  }

  // case: prepared_beside_plain
  // expect: a prepared request, batch or list is posted by itself, and is not const
  {
    prepared_request request{send(buffer)};
    window.post(request, send(buffer)).check();
  }

  // case: one_of_a_list
  // expect: a request of a prepared batch or list is posted with it
  // expect(not): only requests that send
  window.post(list[0]).check();

  // case: prepared_through_extended
  // expect: prepared requests are posted by the queue pair: the extended calls build each
  {
    send_window extended{rc.extended()};
    prepared_request request{send(buffer)};
    extended.post(request).check();
  }

  // case: ignored
  // expect: ignoring return
  window.post(send(buffer));

#elif ADVERB_MUST_FAIL == 2
  // The instantiation that fails here fails above too.

  // case: prepared_receive
  // expect: only requests that send go through a send window: post receives to the pair
  window.post(prepared_request{receive(buffer)}).check();
#endif
}
