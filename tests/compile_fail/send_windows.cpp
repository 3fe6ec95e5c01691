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
  // expect: a send window needs a queue pair that is ready to send: finish rts() or connect() first
  (void)send_window{waiting};

  // case: in_any_state
  // expect: the type of the queue pair has no state: call .as<qp_state::...>() or
  // .assume<qp_state::...>()
  (void)send_window{any};

  // case: temporary
  // expect(gcc): use of deleted function
  // expect(clang): deleted
  (void)send_window{queue_pair<transport::rc>{}};

  // case: receive
  // expect: a send window posts only send queue requests: post receives to the queue pair
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
  // expect: a prepared request, batch or list must be the only argument, and not const: the window
  // may signal its last request
  {
    const prepared_request request{send(buffer)};
    window.post(request).check();
  }

  // case: prepared_beside_plain
  // expect: a prepared request, batch or list must be the only argument, and not const: the window
  // may signal its last request
  {
    prepared_request request{send(buffer)};
    window.post(request, send(buffer)).check();
  }

  // case: one_of_a_list
  // expect: a request of a prepared batch or list cannot be posted separately: post the batch, the
  // list, or list.first(n)
  // expect(not): send queue requests
  window.post(list[0]).check();

  // case: prepared_through_extended
  // expect: the extended sender cannot post prepared requests, because it builds each request anew:
  // post them through the queue pair
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
  // expect: a send window posts only send queue requests: post receives to the queue pair
  window.post(prepared_request{receive(buffer)}).check();
#endif
}
