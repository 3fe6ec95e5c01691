// SPDX-License-Identifier: MIT
// What is bound by a call, and what by a work request.
#include <adverb/adverb.hpp>

using namespace adverb;

using window_1 = memory_window<window_type::one>;
using window_2 = memory_window<window_type::two>;

void use(const queue_pair<transport::rc>& rc, const queue_pair<transport::uc>& uc,
         const queue_pair<transport::ud>& ud, const queue_pair<transport::rc, qp_state::init>& init,
         const queue_pair<transport::rc, qp_state::any>& any, const memory_region& region,
         const window_1& first, const window_2& second, ibv_mw* native) {
  const auto bound = rc.bind(first, region, 0, 64);
  rc.unbind(bound);
  const auto binding = second.prepare(region, 0, 64);
  const auto readable = second.prepare<std::byte, access_right::remote_read>(region, 0, 64);
  uc.post(bind_window(binding), local_invalidate(binding)).check();
  any.as<qp_state::rts>().post(bind_window(binding)).check();
  const memory_window_ref<window_type::two> reference = second;
  (void)ud, (void)init, (void)native, (void)readable, (void)reference;
#if defined(ADVERB_EXPECT_TYPE_2_BOUND_BY_A_CALL)
  // expect: a window of type 2 is bound by a work request: post(bind_window(window.prepare(
  (void)rc.bind(second, region, 0, 64);
#elif defined(ADVERB_EXPECT_TYPE_1_PREPARED)
  // expect: a window of type 1 is bound by a call: queue_pair.bind(window, region,
  (void)first.prepare(region, 0, 64);
#elif defined(ADVERB_EXPECT_TYPE_1_BOUND_BY_A_REQUEST)
  // expect: a window of type 1 is bound by a call: queue_pair.bind(window, region,
  rc.post(bind_window(bound)).check();
#elif defined(ADVERB_EXPECT_WINDOW_BOUND_UNPREPARED)
  // expect: bind_window takes what was prepared: bind_window(window.prepare(region,
  bind_window(second);
#elif defined(ADVERB_EXPECT_TYPE_1_INVALIDATED)
  // expect: a window of type 1 is unbound by a call: queue_pair.unbind(binding)
  rc.post(local_invalidate(bound)).check();
#elif defined(ADVERB_EXPECT_TYPE_2_UNBOUND)
  // expect: a window of type 2 is taken back by a work request: post(local_invalidate(binding))
  rc.unbind(binding);
#elif defined(ADVERB_EXPECT_OTHER_TYPE_REFERRED_TO)
  // expect(gcc): conversion from
  // expect(clang): no viable conversion
  const memory_window_ref<window_type::one> other = second;
#elif defined(ADVERB_EXPECT_REFERENCE_TO_A_TEMPORARY)
  // expect(gcc): use of deleted function
  // expect(clang): deleted
  const memory_window_ref<window_type::one> dangling{window_1{}};
#elif defined(ADVERB_EXPECT_NO_RIGHTS)
  // expect: the rights of a window are some of remote_read, remote_write and remote_atomic, and
  // zero_based
  (void)second.prepare<std::byte, access_rights{}>(region, 0, 64);
#elif defined(ADVERB_EXPECT_FLUSH_RIGHTS)
  // expect: the rights of a window are some of remote_read, remote_write and remote_atomic, and
  // zero_based
  (void)second.prepare<std::byte, access_right::remote_write | access_right::flush_global>(region,
                                                                                           0, 64);
#elif defined(ADVERB_EXPECT_LOCAL_RIGHTS)
  // expect: the rights of a window are some of remote_read, remote_write and remote_atomic, and
  // zero_based
  (void)second.prepare<std::byte, access_right::local_write>(region, 0, 64);
#elif defined(ADVERB_EXPECT_ZERO_BASED_TYPE_1)
  // expect: only a window of type 2 can be zero_based
  (void)rc.bind<std::byte, access_right::remote_read | access_right::zero_based>(first, region, 0,
                                                                                 64);
#elif defined(ADVERB_EXPECT_MORE_RIGHTS_THAN_BOUND)
  // expect: a remote buffer cannot be converted to one with more rights
  const remote_buffer<> more = readable.remote();
#elif defined(ADVERB_EXPECT_BIND_ON_UD)
  // expect: memory windows need a connection: UC, RC or XRC
  (void)ud.bind(first, region, 0, 64);
#elif defined(ADVERB_EXPECT_BIND_REQUEST_ON_UD)
  // expect: a UD queue pair can only send
  ud.post(bind_window(binding)).check();
#elif defined(ADVERB_EXPECT_BIND_BEFORE_RTS)
  // expect: windows can be bound when the queue pair is ready to send: finish rts() or connect()
  // first
  (void)init.bind(first, region, 0, 64);
#elif defined(ADVERB_EXPECT_UNBIND_IN_ANY_STATE)
  // expect: say which state the queue pair is in
  any.unbind(bound);
#elif defined(ADVERB_EXPECT_FENCED_BIND_ON_UC)
  // expect: a UC queue pair can send and write: reads, atomics and fences need RC
  uc.post(bind_window(binding).fenced()).check();
#elif defined(ADVERB_EXPECT_SOLICITED_BIND)
  // expect: only requests that complete a receive of the peer can be solicited
  rc.post(bind_window(binding).solicited()).check();
#elif defined(ADVERB_EXPECT_IGNORED_BINDING)
  // expect: ignoring return
  second.prepare(region, 0, 64);
#elif defined(ADVERB_EXPECT_IGNORED_BIND)
  // expect: ignoring return
  rc.bind(first, region, 0, 64);
#elif defined(ADVERB_EXPECT_RAW_WINDOW)
  // expect: no matching
  const window_2 window{native};
#endif
}
