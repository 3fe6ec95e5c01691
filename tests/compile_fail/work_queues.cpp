// SPDX-License-Identifier: MIT
// What cannot be done with a work queue in a state.
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
#if defined(ADVERB_EXPECT_POST_IN_RESET)
  // expect: receives can be posted when the work queue is ready: what is posted in RESET is lost
  fresh.post(receive(buffer)).check();
#elif defined(ADVERB_EXPECT_POST_IN_ANY_STATE)
  // expect: say which state the work queue is in: .as<work_queue_state::
  any.post(receive(buffer)).check();
#elif defined(ADVERB_EXPECT_SEND)
  // expect: only receives can be posted here: receive(
  ready.post(send(readable)).check();
#elif defined(ADVERB_EXPECT_NOTHING_TO_POST)
  // expect: there is nothing to post
  ready.post().check();
#elif defined(ADVERB_EXPECT_READY_TWICE)
  // expect: ready() starts from RESET: a queue in ERR goes there with reset()
  (void)ready.ready();
#elif defined(ADVERB_EXPECT_READY_FROM_ERROR)
  // expect: ready() starts from RESET: a queue in ERR goes there with reset()
  (void)failed.ready();
#elif defined(ADVERB_EXPECT_ERROR_FROM_RESET)
  // expect: a work queue in RESET has nothing to flush: error() comes after ready()
  (void)fresh.error();
#elif defined(ADVERB_EXPECT_KNOWN_STATE)
  // expect: the state is known already: only a work_queue<work_queue_state::any> can be told it
  (void)ready.assume<work_queue_state::reset>();
#elif defined(ADVERB_EXPECT_REFERENCE_IN_ANOTHER_STATE)
  // expect(gcc): conversion from
  // expect(clang): no viable conversion
  const work_queue_ref<> wrong = fresh;
  (void)wrong;
#elif defined(ADVERB_EXPECT_REFERENCE_TO_A_TEMPORARY)
  // expect(gcc): use of deleted function
  // expect(clang): call to deleted constructor
  const work_queue_ref<> dangling{work_queue<>{}};
  (void)dangling;
#endif
}
