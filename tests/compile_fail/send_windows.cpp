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
#if defined(ADVERB_EXPECT_BEFORE_RTS)
  // expect: a send window is made over a queue pair that is ready to send: finish rts() or
  // connect() first
  (void)send_window{waiting};
#elif defined(ADVERB_EXPECT_IN_ANY_STATE)
  // expect: say which state the queue pair is in: .as<qp_state::
  (void)send_window{any};
#elif defined(ADVERB_EXPECT_TEMPORARY)
  // expect(gcc): use of deleted function
  // expect(clang): deleted
  (void)send_window{queue_pair<transport::rc>{}};
#elif defined(ADVERB_EXPECT_RECEIVE)
  // expect: only requests that send go through a send window: post receives to the pair
  window.post(receive(buffer)).check();
#elif defined(ADVERB_EXPECT_NOTHING)
  // expect: there is nothing to post
  window.post().check();
#elif defined(ADVERB_EXPECT_NO_DESTINATION)
  // expect: a datagram needs its destination: add .to(destination)
  send_window datagrams{ud};
  datagrams.post(send(buffer)).check();
#elif defined(ADVERB_EXPECT_PREPARED_RECEIVE)
  // expect: only requests that send go through a send window: post receives to the pair
  window.post(prepared_request{receive(buffer)}).check();
#elif defined(ADVERB_EXPECT_CONST_PREPARED)
  // expect: a prepared request, batch or list is posted by itself, and is not const
  const prepared_request request{send(buffer)};
  window.post(request).check();
#elif defined(ADVERB_EXPECT_PREPARED_BESIDE_PLAIN)
  // expect: a prepared request, batch or list is posted by itself, and is not const
  prepared_request request{send(buffer)};
  window.post(request, send(buffer)).check();
#elif defined(ADVERB_EXPECT_ONE_OF_A_LIST)
  // expect: a request of a prepared batch or list is posted with it
  // expect(not): only requests that send
  window.post(list[0]).check();
#elif defined(ADVERB_EXPECT_PREPARED_THROUGH_EXTENDED)
  // expect: prepared requests are posted by the queue pair: the extended calls build each
  send_window extended{rc.extended()};
  prepared_request request{send(buffer)};
  extended.post(request).check();
#elif defined(ADVERB_EXPECT_IGNORED)
  // expect: ignoring return
  window.post(send(buffer));
#endif
}
