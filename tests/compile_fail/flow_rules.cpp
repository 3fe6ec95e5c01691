// SPDX-License-Identifier: MIT
// Rules that no packet can match, and flows that lead nowhere.
#include <array>
#include <cstddef>
#include <span>

#include <adverb/adverb.hpp>

using namespace adverb;

[[maybe_unused]] static void use(const queue_pair<transport::ud>& datagrams,
                                 const queue_pair<transport::rc>& connected,
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
#if defined(ADVERB_EXPECT_IP_AFTER_TRANSPORT)
  // expect: a rule names headers in the order of the packet: Ethernet, IP, then ESP, TCP or UDP
  (void)flow_rule{{}, match_udp{}, match_ipv4{}};
#elif defined(ADVERB_EXPECT_ETHERNET_AFTER_IP)
  // expect: a rule names headers in the order of the packet: Ethernet, IP, then ESP, TCP or UDP
  (void)flow_rule{{}, match_ipv6{}, action_tag{1}, match_ethernet{}};
#elif defined(ADVERB_EXPECT_INNER_IP_AFTER_TRANSPORT)
  // expect: a rule names headers in the order of the packet: Ethernet, IP, then ESP, TCP or UDP
  (void)flow_rule{{}, match_inner{match_udp{}}, match_inner{match_ipv4{}}};
#elif defined(ADVERB_EXPECT_TWO_ETHERNETS)
  // expect: a rule names each header once: what is inside of a tunnel is match_inner{
  (void)flow_rule{{}, match_ethernet{}, match_ethernet{}};
#elif defined(ADVERB_EXPECT_IPV4_AND_IPV6)
  // expect: a rule names each header once: what is inside of a tunnel is match_inner{
  (void)flow_rule{{}, match_ipv4{}, match_ipv6{}};
#elif defined(ADVERB_EXPECT_TCP_AND_UDP)
  // expect: a rule names each header once: what is inside of a tunnel is match_inner{
  (void)flow_rule{{}, match_tcp{}, match_udp{}};
#elif defined(ADVERB_EXPECT_OUTER_AFTER_INNER)
  // expect: headers inside of a tunnel come behind those around it
  (void)flow_rule{{}, match_inner{match_ipv4{}}, match_udp{}};
#elif defined(ADVERB_EXPECT_TWO_TAGS)
  // expect: a rule has one tag, and drops once
  (void)flow_rule{{}, action_tag{1}, action_tag{2}};
#elif defined(ADVERB_EXPECT_TUNNEL_IN_A_TUNNEL)
  // expect: a rule can look into one tunnel, not into one inside of another
  (void)flow_rule{{}, match_inner{match_gre{}}};
#elif defined(ADVERB_EXPECT_NO_SPECIFICATION)
  // expect: a rule is made of matches and actions: match_ethernet{
  (void)flow_rule{{}, match_ethernet{}, 42};
#elif defined(ADVERB_EXPECT_CONNECTED_PAIR)
  // expect: packets are steered to UD and raw packet queue pairs
  (void)flow{connected, flow_rule{{}}};
#elif defined(ADVERB_EXPECT_PAIR_THAT_IS_TEMPORARY)
  // expect(gcc): use of deleted function
  // expect(clang): deleted
  (void)flow{queue_pair<transport::ud>{}, flow_rule{{}}};
#elif defined(ADVERB_EXPECT_COUNTERS_THAT_ARE_TEMPORARY)
  // expect(gcc): use of deleted function
  // expect(clang): deleted
  (void)action_count{counters{}};
#elif defined(ADVERB_EXPECT_ADDRESS_AS_A_NUMBER)
  // expect(gcc): could not convert
  // expect(clang): no viable conversion
  (void)match_ipv4{.source = 0x0a000001};
#elif defined(ADVERB_EXPECT_KEY_OF_20_BYTES)
  // expect: a key of AES has 16, 24 or 32 bytes, and its span says how many
  (void)aes_gcm_key{std::array<std::byte, 20>{}, salt};
#elif defined(ADVERB_EXPECT_KEY_OF_ANY_LENGTH)
  // expect: a key of AES has 16, 24 or 32 bytes, and its span says how many
  (void)aes_gcm_key{bytes, salt};
#endif
}
