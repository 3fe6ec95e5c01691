// SPDX-License-Identifier: MIT
// Operations that a work queue lacks in a state.
#include <adverb/adverb.hpp>

using namespace adverb;

[[maybe_unused]] static void use(work_queue<work_queue_state::reset>& fresh, work_queue<>& ready,
                                 work_queue<work_queue_state::error>& failed,
                                 work_queue<work_queue_state::any>& any, mutable_buffer buffer,
                                 const_buffer readable) {
  ready.post(receive(buffer)).check();
  failed.post(receive(buffer)).check();
  any.as<work_queue_state::ready>().post(receive()).check();
  work_queue_ref<>{ready}.post(receive()).check();
  (void)fresh.ready();
  (void)ready.error();
  (void)failed.reset();

  (void)readable;
#if ADVERB_MUST_FAIL == 1
  // case: post_in_reset
  // expect: a work queue in RESET discards posted receives: call ready() first
  fresh.post(receive(buffer)).check();

  // case: post_in_any_state
  // expect: the type of the work queue has no state: call .as<work_queue_state::...>() or
  // .assume<work_queue_state::...>()
  any.post(receive(buffer)).check();

  // case: send
  // expect: only receives can be posted here: receive(
  ready.post(send(readable)).check();

  // case: nothing_to_post
  // expect: there is nothing to post
  ready.post().check();

  // case: ready_twice
  // expect: ready() starts from RESET: call reset() first if the queue is in ERR
  (void)ready.ready();

  // case: ready_from_error
  // expect: ready() starts from RESET: call reset() first if the queue is in ERR
  (void)failed.ready();

  // case: error_from_reset
  // expect: a work queue in RESET has nothing to flush: call ready() before error()
  (void)fresh.error();

  // case: known_state
  // expect: as() and assume() need a work_queue<work_queue_state::any>: this type already has a
  // state
  (void)ready.assume<work_queue_state::reset>();

  // case: reference_in_another_state
  // expect(gcc): conversion from
  // expect(clang): no viable conversion
  {
    const work_queue_ref<> wrong = fresh;
    (void)wrong;
  }

  // case: reference_to_a_temporary
  // expect(gcc): use of deleted function
  // expect(clang): call to deleted constructor
  {
    const work_queue_ref<> dangling{work_queue<>{}};
    (void)dangling;
  }
#endif
}
