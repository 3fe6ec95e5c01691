// SPDX-License-Identifier: MIT
// Texts in the place of addresses.
#include <string>
#include <string_view>

#include <adverb/cm.hpp>

using namespace adverb;

[[maybe_unused]] static void use(cm::identifier& id, std::string& text, std::string_view view) {
  const cm::socket_address address = cm::socket_address::parse(text, 7471).value();
  id.bind(address);
  (void)cm::connect(address);
  (void)cm::connect("10.0.0.1", 7471);
  (void)cm::connect(text, 7471);
  (void)cm::address_list{view, 7471};
  (void)cm::address_list{text, {}};
  (void)cm::listener<>::create(7471);
#if ADVERB_MUST_FAIL == 1
  // case: address_of_a_literal
  // expect: an address is a cm::socket_address, not a text: pass cm::socket_address::parse(text,
  // port).value(), or look up a host by its name with cm::connect(host, port) or
  // cm::address_list{host, port}
  // expect(not): no matching
  (void)cm::socket_address{"10.0.0.1"};

  // case: address_of_a_text_and_a_port
  // expect: an address is a cm::socket_address, not a text: pass cm::socket_address::parse
  // expect(not): no matching
  (void)cm::socket_address{text, 7471};

  // case: listener_on_a_text
  // expect: an address is a cm::socket_address, not a text: pass cm::socket_address::parse
  // expect(not): no matching
  (void)cm::listener<>::create("10.0.0.12", 7471);

  // case: bind_to_a_text
  // expect: an address is a cm::socket_address, not a text: pass cm::socket_address::parse
  // expect(not): no matching
  id.bind("10.0.0.123");

  // case: resolve_address_of_a_text
  // expect: an address is a cm::socket_address, not a text: pass cm::socket_address::parse
  // expect(not): no matching
  id.resolve_address(view);

  // case: connect_to_a_text
  // expect: an address is a cm::socket_address, not a text: pass cm::socket_address::parse
  // expect(not): no matching
  (void)cm::connect("fe80::1");

  // case: connector_to_a_text
  // expect: an address is a cm::socket_address, not a text: pass cm::socket_address::parse
  // expect(not): no matching
  (void)cm::connector<>::resolve("2001:db8::12");

  // case: datagrams_on_a_text
  // expect: an address is a cm::socket_address, not a text: pass cm::socket_address::parse
  // expect(not): no matching
  (void)cm::datagram_endpoint::create("2001:db8::123");
#endif
}
