// SPDX-License-Identifier: MIT
// What a queue pair cannot do in the state that it is in.
#include <utility>

#include <adverb/adverb.hpp>

using namespace adverb;

[[maybe_unused]] static void move(queue_pair<transport::rc, qp_state::reset>& fresh,
                                  queue_pair<transport::rc, qp_state::init>& waiting,
                                  queue_pair<transport::uc, qp_state::init>& waiting_uc,
                                  queue_pair<transport::ud, qp_state::init>& waiting_ud,
                                  queue_pair<transport::rc, qp_state::rtr>& receiving,
                                  queue_pair<transport::rc>& ready,
                                  queue_pair<transport::rc, qp_state::any>& any,
                                  const endpoint& peer) {
  (void)fresh.init();
  (void)waiting.rtr();
  (void)receiving.rts();
  (void)waiting.connect(peer, {.retry_count = 3});
  (void)waiting_uc.connect(peer, {.path_mtu = mtu::bytes_1024});
  (void)waiting.endpoint();
  (void)waiting_ud.endpoint();
  (void)waiting_ud.address_of(peer);
  (void)receiving.announced();
  (void)any.announced();
  (void)any.as<qp_state::rts>();
  any = any.assume<qp_state::rts>();
  any = std::move(ready);

#if defined(ADVERB_EXPECT_INIT_NOT_FROM_RESET)
  // expect: init() starts from RESET
  (void)ready.init();
#elif defined(ADVERB_EXPECT_RTR_NOT_FROM_INIT)
  // expect: rtr() starts from INIT: finish init() first
  (void)fresh.rtr();
#elif defined(ADVERB_EXPECT_RTS_NOT_FROM_RTR)
  // expect: rts() starts from RTR: finish rtr() first
  (void)waiting.rts();
#elif defined(ADVERB_EXPECT_INIT_FROM_ANY)
  // expect: init() starts from RESET
  (void)any.init();
#elif defined(ADVERB_EXPECT_CONNECT_NOT_FROM_INIT)
  // expect: connect() starts from INIT: finish init() first
  (void)receiving.connect(peer);
#elif defined(ADVERB_EXPECT_CONNECT_OF_UD)
  // expect: datagrams (UD) and raw packets have no connection
  (void)waiting_ud.connect(peer);
#elif defined(ADVERB_EXPECT_CONNECT_OF_UC_WITH_RETRIES)
  // expect: no matching
  (void)waiting_uc.connect(peer, {.retry_count = 3});
#elif defined(ADVERB_EXPECT_ASSUME_OF_A_KNOWN_STATE)
  // expect: the state is known already: only a queue_pair<
  (void)receiving.assume<qp_state::rts>();
#elif defined(ADVERB_EXPECT_VIEW_OF_A_KNOWN_STATE)
  // expect: the state is known already: only a queue_pair<
  (void)receiving.as<qp_state::rts>();
#elif defined(ADVERB_EXPECT_ENDPOINT_IN_RESET)
  // expect: a queue pair has an endpoint to announce from INIT to RTR
  (void)fresh.endpoint();
#elif defined(ADVERB_EXPECT_ENDPOINT_IN_RTS)
  // expect: a queue pair has an endpoint to announce from INIT to RTR
  (void)ready.endpoint();
#elif defined(ADVERB_EXPECT_ENDPOINT_IN_ANY)
  // expect: a queue pair has an endpoint to announce from INIT to RTR
  (void)any.endpoint();
#elif defined(ADVERB_EXPECT_ADDRESS_IN_RTS)
  // expect: a queue pair knows its port and GID, and so the way to a peer, from INIT to RTR
  (void)ready.address_of(peer);
#elif defined(ADVERB_EXPECT_ANNOUNCEMENT_IN_RTS)
  // expect: a queue pair carries its announcement from INIT to RTR
  (void)ready.announced();
#elif defined(ADVERB_EXPECT_COPY)
  // expect(gcc): use of deleted function
  // expect(clang): call to implicitly-deleted copy constructor
  [[maybe_unused]] const queue_pair<transport::rc> copy = ready;
#elif defined(ADVERB_EXPECT_OTHER_STATE)
  // expect(gcc): conversion from 'queue_pair<
  // expect(clang): no viable conversion
  [[maybe_unused]] const queue_pair<transport::rc> guessed = std::move(receiving);
#elif defined(ADVERB_EXPECT_ANNOUNCEMENT_MISSING_IN_ADOPTION)
  // expect(gcc): no matching function for call to
  // expect(clang): no matching constructor for initialization
  [[maybe_unused]] const queue_pair<transport::rc, qp_state::init> adopted{adopt, ready.release()};
#endif
}
