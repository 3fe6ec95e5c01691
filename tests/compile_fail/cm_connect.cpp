// SPDX-License-Identifier: MIT
// One line that connects is for transports with connections, from the side that asks for one.
#include <adverb/cm.hpp>

using namespace adverb;

[[maybe_unused]] static void use(const cm::socket_address& address) {
  (void)cm::connect(address);
  (void)cm::connect<transport::uc>(address);
  (void)cm::connect<transport::xrc_send>("host", 7471);
#if defined(ADVERB_EXPECT_DATAGRAMS)
  // expect: datagrams (UD) have no connections: a datagram_endpoint sends them
  (void)cm::connect<transport::ud>(address);
#elif defined(ADVERB_EXPECT_DATAGRAMS_TO_A_HOST)
  // expect: datagrams (UD) have no connections: a datagram_endpoint sends them
  (void)cm::connect<transport::ud>("host", 7471, {}, [](auto&) {});
#elif defined(ADVERB_EXPECT_TARGET)
  // expect: the target of XRC listens; what connects is its initiator: transport::xrc_send
  (void)cm::connect<transport::xrc_recv>(address);
#elif defined(ADVERB_EXPECT_IGNORED)
  // expect: ignoring return
  cm::connect(address);
#endif
}
