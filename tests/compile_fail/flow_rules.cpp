// SPDX-License-Identifier: MIT
// Rules that no packet can match, and flows that lead nowhere.
#include <array>
#include <cstddef>
#include <span>

#include <adverb/adverb.hpp>

using namespace adverb;

[[maybe_unused]] static void use(const queue_pair<transport::ud>& datagrams,
                                 const queue_pair<transport::rc>& connected,
                                 const queue_pair<transport::driver>& special,
                                 const counters& counted_by, std::span<const std::byte> bytes) {
  (void)flow{datagrams, flow_rule{{},
                                  match_ethernet{},
                                  match_ipv4{},
                                  match_udp{},
                                  match_esp{},
                                  match_vxlan{},
                                  match_inner{match_ethernet{}},
                                  match_inner{match_ipv6{}},
                                  match_inner{match_esp{}},
                                  match_inner{match_tcp{}},
                                  match_mpls{},
                                  match_mpls{},
                                  action_tag{1},
                                  action_count{counted_by}}};
  (void)flow_rule{{}, action_drop{}, match_esp{}, match_tcp{}};
  const std::array<std::byte, 4> salt{};
  (void)aes_gcm_key{std::array<std::byte, 16>{}, salt};
  (void)aes_gcm_key{bytes.first<32>(), salt};

  (void)connected;
  (void)special;
#if ADVERB_MUST_FAIL == 1
  // case: ip_after_transport
  // expect: a rule names headers in the order of the packet: Ethernet, IP, then ESP, TCP or UDP
  (void)flow_rule{{}, match_udp{}, match_ipv4{}};

  // case: ethernet_after_ip
  // expect: a rule names headers in the order of the packet: Ethernet, IP, then ESP, TCP or UDP
  (void)flow_rule{{}, match_ipv6{}, action_tag{1}, match_ethernet{}};

  // case: inner_ip_after_transport
  // expect: a rule names headers in the order of the packet: Ethernet, IP, then ESP, TCP or UDP
  (void)flow_rule{{}, match_inner{match_udp{}}, match_inner{match_ipv4{}}};

  // case: two_ethernets
  // expect: a rule names each header once: match headers inside a tunnel with match_inner{...}
  (void)flow_rule{{}, match_ethernet{}, match_ethernet{}};

  // case: ipv4_and_ipv6
  // expect: a rule names each header once: match headers inside a tunnel with match_inner{...}
  (void)flow_rule{{}, match_ipv4{}, match_ipv6{}};

  // case: tcp_and_udp
  // expect: a rule names each header once: match headers inside a tunnel with match_inner{...}
  (void)flow_rule{{}, match_tcp{}, match_udp{}};

  // case: outer_after_inner
  // expect: headers inside a tunnel must follow the outer headers
  (void)flow_rule{{}, match_inner{match_ipv4{}}, match_udp{}};

  // case: two_tags
  // expect: a rule has at most one action_tag and one action_drop
  (void)flow_rule{{}, action_tag{1}, action_tag{2}};

  // case: tunnel_in_a_tunnel
  // expect: a rule cannot match a tunnel inside another tunnel
  (void)flow_rule{{}, match_inner{match_gre{}}};

  // case: no_specification
  // expect: a rule is made of matches and actions: match_ethernet{
  (void)flow_rule{{}, match_ethernet{}, 42};

  // case: connected_pair
  // expect: packets can be steered only to UD and raw packet queue pairs
  (void)flow{connected, flow_rule{{}}};

  // case: pair_of_the_driver
  // expect: packets can be steered only to UD and raw packet queue pairs
  (void)flow{special, flow_rule{{}}};

  // case: pair_that_is_temporary
  // expect(gcc): use of deleted function
  // expect(clang): deleted
  (void)flow{queue_pair<transport::ud>{}, flow_rule{{}}};

  // case: counters_that_are_temporary
  // expect(gcc): use of deleted function
  // expect(clang): deleted
  (void)action_count{counters{}};

  // case: address_as_a_number
  // expect(gcc): could not convert
  // expect(clang): no viable conversion
  (void)match_ipv4{.source = 0x0a000001};

  // case: key_of_20_bytes
  // expect: an AES key has 16, 24 or 32 bytes: pass a std::array or a std::span of fixed size
  (void)aes_gcm_key{std::array<std::byte, 20>{}, salt};

  // case: key_of_any_length
  // expect: an AES key has 16, 24 or 32 bytes: pass a std::array or a std::span of fixed size
  (void)aes_gcm_key{bytes, salt};
#endif
}
