// SPDX-License-Identifier: MIT
// Windows that are bound by a call, and windows that are bound by a work request.
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
#if ADVERB_MUST_FAIL == 1
  // case: type_2_bound_by_a_call
  // expect: a window of type 2 is bound by a work request: post(bind_window(window.prepare(
  (void)rc.bind(second, region, 0, 64);

  // case: type_1_prepared
  // expect: a window of type 1 is bound by a call: queue_pair.bind(window, region,
  (void)first.prepare(region, 0, 64);

  // case: type_1_bound_by_a_request
  // expect: a window of type 1 is bound by a call: queue_pair.bind(window, region,
  rc.post(bind_window(bound)).check();

  // case: window_bound_unprepared
  // expect: bind_window takes a prepared binding: bind_window(window.prepare(region, ...))
  bind_window(second);

  // case: type_1_invalidated
  // expect: a window of type 1 is unbound by a call: queue_pair.unbind(binding)
  rc.post(local_invalidate(bound)).check();

  // case: type_2_unbound
  // expect: a window of type 2 is unbound by a work request: post(local_invalidate(binding))
  rc.unbind(binding);

  // case: other_type_referred_to
  // expect(gcc): conversion from
  // expect(clang): no viable conversion
  const memory_window_ref<window_type::one> other = second;

  // case: reference_to_a_temporary
  // expect(gcc): use of deleted function
  // expect(clang): deleted
  const memory_window_ref<window_type::one> dangling{window_1{}};

  // case: no_rights
  // expect: a window grants one or more of remote_read, remote_write and remote_atomic, optionally
  // with zero_based
  (void)second.prepare<std::byte, access_rights{}>(region, 0, 64);

  // case: flush_rights
  // expect: a window grants one or more of remote_read, remote_write and remote_atomic, optionally
  // with zero_based
  (void)second.prepare<std::byte, access_right::remote_write | access_right::flush_global>(region,
                                                                                           0, 64);

  // case: local_rights
  // expect: a window grants one or more of remote_read, remote_write and remote_atomic, optionally
  // with zero_based
  (void)second.prepare<std::byte, access_right::local_write>(region, 0, 64);

  // case: zero_based_type_1
  // expect: only a window of type 2 can be zero_based
  (void)rc.bind<std::byte, access_right::remote_read | access_right::zero_based>(first, region, 0,
                                                                                 64);

  // case: more_rights_than_bound
  // expect: a remote buffer cannot be converted to one with more rights
  const remote_buffer<> more = readable.remote();

  // case: bind_on_ud
  // expect: memory windows need a connection: UC, RC or XRC
  (void)ud.bind(first, region, 0, 64);

  // case: bind_request_on_ud
  // expect: a UD queue pair can only send
  ud.post(bind_window(binding)).check();

  // case: bind_before_rts
  // expect: windows can be bound when the queue pair is ready to send: finish rts() or connect()
  // first
  (void)init.bind(first, region, 0, 64);

  // case: unbind_in_any_state
  // expect: the type of the queue pair has no state: call .as<qp_state::...>() or
  // .assume<qp_state::...>()
  any.unbind(bound);

  // case: fenced_bind_on_uc
  // expect: a UC queue pair can send and write: reads, atomics and fences need RC
  uc.post(bind_window(binding).fenced()).check();

  // case: solicited_bind
  // expect: only requests that complete a receive of the peer can be solicited
  rc.post(bind_window(binding).solicited()).check();

  // case: ignored_binding
  // expect: ignoring return
  second.prepare(region, 0, 64);

  // case: ignored_bind
  // expect: ignoring return
  rc.bind(first, region, 0, 64);

  // case: raw_window
  // expect: no matching
  const window_2 window{native};
#endif
}
