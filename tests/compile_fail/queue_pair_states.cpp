// SPDX-License-Identifier: MIT
// Operations that a queue pair lacks in its state.
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

#if ADVERB_MUST_FAIL == 1
  // case: init_not_from_reset
  // expect: init() starts from RESET
  (void)ready.init();

  // case: rtr_not_from_init
  // expect: rtr() starts from INIT: finish init() first
  (void)fresh.rtr();

  // case: rts_not_from_rtr
  // expect: rts() starts from RTR: finish rtr() first
  (void)waiting.rts();

  // case: init_from_any
  // expect: init() starts from RESET
  (void)any.init();

  // case: connect_not_from_init
  // expect: connect() starts from INIT: finish init() first
  (void)receiving.connect(peer);

  // case: connect_of_ud
  // expect: datagrams (UD) and raw packets have no connection
  (void)waiting_ud.connect(peer);

  // case: connect_of_uc_with_retries
  // expect(gcc): cannot convert '<brace-enclosed initializer list>' to
  // expect(clang): 'retry_count' does not refer to any field
  (void)waiting_uc.connect(peer, {.retry_count = 3});

  // case: assume_of_a_known_state
  // expect: as() and assume() need a queue_pair<..., qp_state::any>: this type already has a state
  (void)receiving.assume<qp_state::rts>();

  // case: view_of_a_known_state
  // expect: as() and assume() need a queue_pair<..., qp_state::any>: this type already has a state
  (void)receiving.as<qp_state::rts>();

  // case: endpoint_in_reset
  // expect: a queue pair has an endpoint only in INIT and RTR, and a UD one also in RTS
  (void)fresh.endpoint();

  // case: endpoint_in_rts
  // expect: a queue pair has an endpoint only in INIT and RTR, and a UD one also in RTS
  (void)ready.endpoint();

  // case: endpoint_in_any
  // expect: a queue pair has an endpoint only in INIT and RTR, and a UD one also in RTS
  (void)any.endpoint();

  // case: address_in_rts
  // expect: address_of() needs the port and GID, which a queue pair keeps only in INIT and RTR, and
  // a UD one also in RTS
  (void)ready.address_of(peer);

  // case: announcement_in_rts
  // expect: a queue pair keeps its announced attributes only in INIT and RTR, and a UD one also in
  // RTS
  (void)ready.announced();

  // case: copy
  // expect(gcc): use of deleted function
  // expect(clang): call to implicitly-deleted copy constructor
  [[maybe_unused]] const queue_pair<transport::rc> copy = ready;

  // case: other_state
  // expect(gcc): conversion from 'queue_pair<
  // expect(clang): no viable conversion
  [[maybe_unused]] const queue_pair<transport::rc> guessed = std::move(receiving);

  // case: announcement_missing_in_adoption
  // expect(gcc): no matching function for call to
  // expect(clang): no matching constructor for initialization
  [[maybe_unused]] const queue_pair<transport::rc, qp_state::init> adopted{adopt, ready.release()};
#endif
}
