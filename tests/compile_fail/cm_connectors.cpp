// SPDX-License-Identifier: MIT
// The set-up of a connection on the active side: its type has the next steps.
#include <adverb/cm.hpp>

using namespace adverb;

using first_step = cm::connector<transport::rc>;
using address_resolved = cm::connector<transport::rc, cm::step::address_resolved>;
using route_resolved = cm::connector<transport::rc, cm::step::route_resolved>;
using ready = cm::connector<transport::rc, cm::step::ready>;

[[maybe_unused]] static void use(first_step& starting, address_resolved& near, route_resolved& far,
                                 ready& waiting, const cm::socket_address& address) {
  near = starting.resolve_address(address);
  (void)near.context();
  (void)near.protection_domain();
  far = near.resolve_route();
  waiting = far.create_queue_pair();
  (void)waiting.queue_pair();
  (void)waiting.connect();
  (void)waiting.rejection();
#if ADVERB_MUST_FAIL == 1
  // case: context_at_the_start
  // expect: a connector has no device until its address is resolved: call resolve_address() first
  (void)starting.context();

  // case: domain_at_the_start
  // expect: a connector has no device until its address is resolved: call resolve_address() first
  (void)starting.protection_domain();

  // case: address_twice
  // expect: the address is already resolved
  (void)near.resolve_address(address);

  // case: route_before_address
  // expect: resolve_route() runs once, after the address is resolved: call resolve_address() first
  (void)starting.resolve_route();

  // case: route_twice
  // expect: resolve_route() runs once, after the address is resolved: call resolve_address() first
  (void)far.resolve_route();

  // case: pair_before_route
  // expect: create_queue_pair() runs once, after the route is resolved: call resolve_route() first
  (void)near.create_queue_pair();

  // case: pair_twice
  // expect: create_queue_pair() runs once, after the route is resolved: call resolve_route() first
  (void)waiting.create_queue_pair();

  // case: no_pair
  // expect: no queue pair exists yet: call create_queue_pair() first
  (void)far.queue_pair();

  // case: connect_without_pair
  // expect: a connection needs a queue pair: call create_queue_pair() first
  (void)far.connect();

  // case: rejection_without_connect
  // expect: a connector has no rejection before connect() or resolve_peer()
  (void)far.rejection();

  // case: send_before_connect
  // expect: sends can be posted when the queue pair is ready to send: finish rts() or connect()
  // first
  waiting.queue_pair().post(send(mutable_buffer{})).check();

  // case: other_step
  // expect(gcc): no match for 'operator='
  // expect(clang): no viable overloaded '='
  waiting = starting.resolve_address(address);

  // case: finish_without_a_step
  // expect: this connector has no step to finish: call create_queue_pair() next
  (void)far.finish();

  // case: start_to_connect_without_pair
  // expect: a connection needs a queue pair: call create_queue_pair() first
  near.start_connect();

  // case: ignored
  // expect: ignoring return
  starting.resolve_address(address);
#endif
}
