// SPDX-License-Identifier: MIT
// Requests to connect: what may be done next is in the type.
#include <adverb/cm.hpp>

using namespace adverb;

using requested = cm::connection_request<transport::rc>;
using ready = cm::connection_request<transport::rc, cm::step::ready>;

[[maybe_unused]] static void use(const cm::listener<transport::rc>& listener, requested& request,
                                 ready& waiting, cm::event& event) {
  request = listener.next_request();
  request = requested::take(event);
  request.reject();
  waiting = request.create_queue_pair();
  (void)waiting.queue_pair();
  (void)waiting.accept();
  waiting.reject();
#if ADVERB_MUST_FAIL == 1
  // case: take_with_pair
  // expect: a new request has no queue pair: take it in step::requested
  (void)ready::take(event);

  // case: pair_twice
  // expect: the request already has a queue pair
  (void)waiting.create_queue_pair();

  // case: no_pair
  // expect: no queue pair exists yet: call create_queue_pair() first
  (void)request.queue_pair();

  // case: accept_without_pair
  // expect: a connection needs a queue pair: call create_queue_pair() first
  (void)request.accept();

  // case: ignored
  // expect: ignoring return
  listener.next_request();

  // case: other_transport
  // expect(gcc): no match for 'operator='
  // expect(clang): no viable overloaded '='
  {
    cm::connection<transport::ud> datagrams;
    datagrams = waiting.accept();
  }
#endif
}
