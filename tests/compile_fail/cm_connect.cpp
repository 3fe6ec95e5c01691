// SPDX-License-Identifier: MIT
// One line that connects is for transports with connections, on the active side.
#include <adverb/cm.hpp>

using namespace adverb;

[[maybe_unused]] static void use(const cm::socket_address& address) {
  (void)cm::connect(address);
  (void)cm::connect<transport::uc>(address);
  (void)cm::connect<transport::xrc_send>("host", 7471);
#if ADVERB_MUST_FAIL == 1
  // case: datagrams
  // expect: datagrams (UD) have no connection: create a datagram_endpoint and call its
  // resolve_peer()
  (void)cm::connect<transport::ud>(address);

  // case: datagrams_to_a_host
  // expect: datagrams (UD) have no connection: create a datagram_endpoint and call its
  // resolve_peer()
  (void)cm::connect<transport::ud>("host", 7471, {}, [](auto&) {});

  // case: target
  // expect: an XRC target cannot connect, only listen: use an initiator, transport::xrc_send
  (void)cm::connect<transport::xrc_recv>(address);

  // case: port_before_the_host
  // expect: the host comes first, then the port: connect(host, port)
  (void)cm::connect(7471, "host");

  // case: ignored
  // expect: ignoring return
  cm::connect(address);

  // case: queue_pair_of_a_temporary
  // expect(clang): temporary whose address is used as value of local variable 'pair'
  [[maybe_unused]] const auto pair = cm::connect(address).queue_pair();
#endif
}
