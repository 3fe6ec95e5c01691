// SPDX-License-Identifier: MIT
// When a connection takes a queue pair of the program's, and how UC and XRC begin.
#include <utility>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>

using namespace adverb;

[[maybe_unused]] static void use(cm::connector<transport::rc, cm::step::route_resolved>& far,
                                 cm::connector<transport::rc, cm::step::address_resolved>& near,
                                 cm::connection_request<transport::rc>& request,
                                 cm::connection_request<transport::rc, cm::step::ready>& ready,
                                 queue_pair<transport::rc, qp_state::reset>& fresh,
                                 queue_pair<transport::rc, qp_state::init>& waiting,
                                 cm::connector<transport::ud, cm::step::route_resolved>& peer,
                                 cm::connection_request<transport::ud>& asked,
                                 queue_pair<transport::ud, qp_state::reset>& datagrams,
                                 const cm::socket_address& address) {
  (void)far.use_queue_pair(std::move(fresh));
  (void)request.use_queue_pair(std::move(fresh));
  (void)cm::connector<transport::uc>::resolve(address);
  (void)cm::connector<transport::xrc_send>::resolve(address);
  (void)cm::listener<transport::xrc_recv>::create(address);
  (void)near;
  (void)ready;
  (void)waiting;
  (void)peer;
  (void)asked;
  (void)datagrams;

#if ADVERB_MUST_FAIL == 1
  // case: pair_before_the_route
  // expect: use_queue_pair() runs once, after the route is resolved: call resolve_route() first
  (void)near.use_queue_pair(std::move(fresh));

  // case: second_pair_of_a_request
  // expect: the request already has a queue pair
  (void)ready.use_queue_pair(std::move(fresh));

  // case: pair_in_init
  // expect(gcc): cannot convert
  // expect(clang): no viable conversion from 'queue_pair<
  (void)far.use_queue_pair(std::move(waiting));

  // case: datagram_pair
  // expect: datagrams (UD) have no connection: use the queue pair without an identifier
  (void)peer.use_queue_pair(std::move(datagrams));

  // case: datagram_pair_of_a_request
  // expect: datagrams (UD) have no connection: pass the queue pair to accept_datagrams(pair)
  (void)asked.use_queue_pair(std::move(datagrams));

  // case: uc_without_address
  // expect: a UC or XRC connector starts from an address: call resolve(address)
  (void)cm::connector<transport::uc>::create();

  // case: listening_initiator
  // expect: an XRC initiator cannot listen, only connect: use a target, transport::xrc_recv
  (void)cm::listener<transport::xrc_send>::create(address);

  // case: pair_of_librdmacm_taken
  // expect: librdmacm created the queue pair: this call needs one from use_queue_pair()
  (void)ready.take_queue_pair();
#endif
}
