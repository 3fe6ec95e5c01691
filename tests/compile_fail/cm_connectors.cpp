// SPDX-License-Identifier: MIT
// The set-up of a connection from the side that asks for it: what may be done next is in the type.
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
#if defined(ADVERB_EXPECT_CONTEXT_AT_THE_START)
  // expect: the device is known when the address is resolved: resolve_address() first
  (void)starting.context();
#elif defined(ADVERB_EXPECT_DOMAIN_AT_THE_START)
  // expect: the device is known when the address is resolved: resolve_address() first
  (void)starting.protection_domain();
#elif defined(ADVERB_EXPECT_ADDRESS_TWICE)
  // expect: the address is resolved already
  (void)near.resolve_address(address);
#elif defined(ADVERB_EXPECT_ROUTE_BEFORE_ADDRESS)
  // expect: the route is resolved after the address, once: resolve_address() first
  (void)starting.resolve_route();
#elif defined(ADVERB_EXPECT_ROUTE_TWICE)
  // expect: the route is resolved after the address, once: resolve_address() first
  (void)far.resolve_route();
#elif defined(ADVERB_EXPECT_PAIR_BEFORE_ROUTE)
  // expect: a queue pair is made once the route is resolved: resolve_route() first
  (void)near.create_queue_pair();
#elif defined(ADVERB_EXPECT_PAIR_TWICE)
  // expect: a queue pair is made once the route is resolved: resolve_route() first
  (void)waiting.create_queue_pair();
#elif defined(ADVERB_EXPECT_NO_PAIR)
  // expect: there is no queue pair yet: create_queue_pair() first
  (void)far.queue_pair();
#elif defined(ADVERB_EXPECT_CONNECT_WITHOUT_PAIR)
  // expect: a connection needs a queue pair: create_queue_pair() first
  (void)far.connect();
#elif defined(ADVERB_EXPECT_REJECTION_WITHOUT_CONNECT)
  // expect: a connector that was not connected was not rejected
  (void)far.rejection();
#elif defined(ADVERB_EXPECT_SEND_BEFORE_CONNECT)
  // expect: sends can be posted when the queue pair is ready to send: finish rts() or connect()
  // first
  waiting.queue_pair().post(send(mutable_buffer{})).check();
#elif defined(ADVERB_EXPECT_OTHER_STEP)
  // expect(gcc): no match for 'operator='
  // expect(clang): no viable overloaded '='
  waiting = starting.resolve_address(address);
#elif defined(ADVERB_EXPECT_IGNORED)
  // expect: ignoring return
  starting.resolve_address(address);
#endif
}
