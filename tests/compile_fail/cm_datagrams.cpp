// SPDX-License-Identifier: MIT
// Connections of datagrams, datagrams over connections, and destinations that are about to die.
#include <array>
#include <cstddef>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>

using namespace adverb;

[[maybe_unused]] static void use(cm::connector<transport::ud, cm::step::start>& start,
                                 cm::connector<transport::ud, cm::step::address_resolved>& near,
                                 cm::connector<transport::ud, cm::step::route_resolved>& far,
                                 cm::connector<transport::rc, cm::step::route_resolved>& stream,
                                 cm::connection_request<transport::ud>& request,
                                 cm::connection_request<transport::ud, cm::step::ready>& ready,
                                 cm::connection_request<transport::rc>& wish,
                                 const cm::datagram_endpoint& here,
                                 const cm::socket_address& address, mutable_buffer buffer) {
  const cm::datagram_peer peer = far.resolve_peer(here.protection_domain());
  here.queue_pair().post(send(buffer).to(peer)).check();
  request.accept_datagrams(here.queue_pair());
  const cm::datagram_endpoint another = near.create_queue_pair();
  (void)start, (void)stream, (void)wish, (void)address, (void)another;
  const cm::datagram_endpoint own = ready.accept_datagrams();
#if ADVERB_MUST_FAIL == 1
  // case: connect_of_datagrams
  // expect: datagrams (UD) have no connection: call resolve_peer()
  (void)far.connect();

  // case: accept_of_datagrams
  // expect: datagrams (UD) have no connection: call accept_datagrams()
  (void)ready.accept();

  // case: peer_of_a_connection
  // expect: resolve_peer() is for datagrams (UD) only: call connect()
  (void)stream.resolve_peer(here.protection_domain());

  // case: peer_without_route
  // expect: resolve_peer() needs a resolved route: call resolve_route() first
  (void)near.resolve_peer(here.protection_domain());

  // case: pair_without_address
  // expect: a datagram queue pair needs a resolved address: call resolve_address() first
  (void)start.create_queue_pair();

  // case: datagrams_of_a_connection
  // expect: accept_datagrams() is for datagrams (UD) only: call accept()
  wish.accept_datagrams(here.queue_pair());

  // case: accept_without_pair
  // expect: no queue pair exists yet: call create_queue_pair() first, or accept_datagrams(pair)
  (void)request.accept_datagrams();

  // case: accept_with_two_pairs
  // expect: the request already has a queue pair: call accept_datagrams() without one
  ready.accept_datagrams(here.queue_pair());

  // case: parameters_of_datagrams
  // expect: a request for datagrams (UD) has no parameters, only private data
  (void)request.parameters();

  // case: dying_peer
  // expect(gcc): use of deleted function
  // expect(clang): invokes a deleted function
  here.queue_pair().post(send(buffer).to(here.resolve_peer(address))).check();

  // case: copy_of_membership
  // expect(gcc): use of deleted function
  // expect(clang): call to implicitly-deleted copy constructor
  {
    const cm::multicast_membership group = here.join(address);
    const cm::multicast_membership copy = group;
  }
#endif
}
