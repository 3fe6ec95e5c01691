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

#if defined(ADVERB_EXPECT_PAIR_BEFORE_THE_ROUTE)
  // expect: a queue pair is used once the route is resolved: resolve_route() first
  (void)near.use_queue_pair(std::move(fresh));
#elif defined(ADVERB_EXPECT_SECOND_PAIR_OF_A_REQUEST)
  // expect: the queue pair is there already
  (void)ready.use_queue_pair(std::move(fresh));
#elif defined(ADVERB_EXPECT_PAIR_IN_INIT)
  // expect: no matching
  (void)far.use_queue_pair(std::move(waiting));
#elif defined(ADVERB_EXPECT_DATAGRAM_PAIR)
  // expect: datagrams (UD) have no connections: a pair of one's own needs no identifier
  (void)peer.use_queue_pair(std::move(datagrams));
#elif defined(ADVERB_EXPECT_DATAGRAM_PAIR_OF_A_REQUEST)
  // expect: datagrams (UD) have no connections: accept_datagrams(pair) tells the peer of a pair of
  (void)asked.use_queue_pair(std::move(datagrams));
#elif defined(ADVERB_EXPECT_UC_WITHOUT_ADDRESS)
  // expect: a connector of UC or XRC starts with its address: resolve(address)
  (void)cm::connector<transport::uc>::create();
#elif defined(ADVERB_EXPECT_LISTENING_INITIATOR)
  // expect: the initiator of XRC connects; what listens is its target: transport::xrc_recv
  (void)cm::listener<transport::xrc_send>::create(address);
#endif
}
