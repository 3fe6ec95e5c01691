// SPDX-License-Identifier: MIT
// Flow rules, byte by byte as the provider reads them.
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <support/catch.hpp>
#include <support/reported.hpp>

#include "test_bench.hpp"

using namespace adverb;
namespace called = fake::called;

namespace {

/// A specification as a line has it, without the spaces between its bytes.
std::string packed(std::string_view text) {
  const std::size_t bytes = text.find(' ') + 1;
  std::string result{text.substr(0, bytes)};
  for (const char each : text.substr(bytes))
    if (each != ' ') result += each;
  return result;
}

struct flow_bench : test_bench {
  queue_pair<transport::ud> pair = ready<transport::ud>();

  /// The one specification of a rule, as the provider reads it.
  template <class Specification>
  [[nodiscard]] std::string bytes_of(const Specification& specification) {
    const flow steered{pair, flow_rule{{}, specification}};
    const std::string line = machine.line();
    // The same from a list.
    const std::vector<flow_specification> list{specification};
    const flow listed{pair, {}, list};
    CHECK(machine.line() == line);

    const std::string start = "ibv_create_flow qp0 type=NORMAL port=1: ";
    REQUIRE(line.starts_with(start));
    return line.substr(start.size());
  }

  /// The explanation of a refused rule.
  template <class... Specifications>
  [[nodiscard]] failure refused(int error, const flow_rule<Specifications...>& rule) {
    return reported([&] { machine.fail<called::create_flow>(error); },
                    [&](auto&&... policy) { const flow none{pair, rule, policy...}; });
  }
};

}  // namespace

TEST_CASE_METHOD(flow_bench, "a flow rule is contiguous memory: attributes, then specifications",
                 "[ibv_create_flow][ibv_destroy_flow]") {
  const counters counted_by{context};
  machine.forget_calls();
  {
    const flow steered{
        pair, flow_rule{{.priority = 3, .port = port_number{1}, .flags = flow_flag::do_not_trap},
                        match_ethernet{.ether_type = 0x0800},
                        match_ipv4{.destination = ipv4_address{10, 0, 0, 1}},
                        match_udp{.destination_port = 4791},
                        action_tag{42},
                        action_count{counted_by}}};
    CHECK(steered.context().native_handle() == context.native_handle());
  }
  CHECK_THAT(machine.lines(), is_log(R"(
    ibv_create_flow qp0 type=NORMAL priority=3 port=1 flags=DONT_TRAP:
      ETH(40) 00000000000000000000000008000000000000000000000000000000ffff00000000;
      IPV4(24) 0000000000000a00000100000000ffffffff;
      UDP(16) 12b70000ffff00000000;
      ACTION_TAG(12) tag_id=0x2a;
      ACTION_COUNT(16) counters0
    ibv_destroy_flow flow0)"));
}

TEST_CASE_METHOD(flow_bench, "every type and flag of a rule has the number of the C API",
                 "[ibv_create_flow]") {
  machine.forget_calls();
  for (const flow_type type : {flow_type::normal, flow_type::all_default,
                               flow_type::multicast_default, flow_type::sniffer})
    const flow made{pair, flow_rule{{.type = type}}};
  const flow egress{pair, flow_rule{{.port = port_number{2}, .flags = flow_flag::egress}}};
  CHECK_THAT(machine.lines<called::create_flow>(), is_log(R"(
    ibv_create_flow qp0 type=NORMAL port=1
    ibv_create_flow qp0 type=ALL_DEFAULT port=1
    ibv_create_flow qp0 type=MC_DEFAULT port=1
    ibv_create_flow qp0 type=SNIFFER port=1
    ibv_create_flow qp0 type=NORMAL port=2 flags=EGRESS)"));
}

TEST_CASE_METHOD(flow_bench, "each match contains its values and masks in network byte order",
                 "[ibv_create_flow]") {
  // Ethernet: addresses, type, VLAN tag.
  CHECK(bytes_of(match_ethernet{}) == "ETH(40) " + std::string(68, '0'));
  CHECK(bytes_of(match_ethernet{.destination = mac_address{1, 2, 3, 4, 5, 6},
                                .source = mac_address{0xa, 0xb, 0xc, 0xd, 0xe, 0xf},
                                .ether_type = 0x0800,
                                .vlan_id = 0x123,
                                .vlan_priority = 5,
                                .vlan_drop_eligible = true}) ==
        packed("ETH(40) 010203040506 0a0b0c0d0e0f 0800 b123  ffffffffffff ffffffffffff ffff ffff "
               "0000"));
  // Zero is a value, and only what is given is compared.
  CHECK(bytes_of(match_ethernet{.vlan_id = 0}) ==
        packed("ETH(40) 000000000000 000000000000 0000 0000  000000000000 000000000000 0000 0fff "
               "0000"));
  CHECK(bytes_of(match_ethernet{.vlan_priority = 0, .vlan_drop_eligible = false}) ==
        packed("ETH(40) 000000000000 000000000000 0000 0000  000000000000 000000000000 0000 f000 "
               "0000"));
  // All multicast addresses.
  CHECK(bytes_of(match_ethernet{.destination = masked{mac_address{0xff, 0xff, 0, 0, 0, 0},
                                                      mac_address{1, 0, 0, 0, 0, 0}}}) ==
        packed("ETH(40) 010000000000 000000000000 0000 0000  010000000000 000000000000 0000 0000 "
               "0000"));

  // IPv4: addresses, subnets, and the extended fields.
  CHECK(bytes_of(match_ipv4{.source = ipv4_address{10, 0, 0, 1},
                            .destination = ipv4_address{192, 168, 1, 2}}) ==
        packed("IPV4(24) 0000  0a000001 c0a80102  ffffffff ffffffff"));
  CHECK(bytes_of(match_ipv4{.destination = subnet(ipv4_address{10, 1, 2, 3}, 12)}) ==
        packed("IPV4(24) 0000  00000000 0a000000  00000000 fff00000"));
  CHECK(bytes_of(match_ipv4{.source = ipv4_address{}}) ==
        packed("IPV4(24) 0000  00000000 00000000  ffffffff 00000000"));
  CHECK(bytes_of(match_ipv4_extended{.source = ipv4_address{10, 0, 0, 1},
                                     .destination = ipv4_address{10, 0, 0, 2},
                                     .protocol = 17,
                                     .type_of_service = 0xb8,
                                     .time_to_live = 64,
                                     .flags = 2}) ==
        packed("IPV4_EXT(32) 0000  0a000001 0a000002 11 b8 40 02  ffffffff ffffffff ff ff ff ff"));
  CHECK(bytes_of(match_ipv4_extended{.protocol = 6}) ==
        packed("IPV4_EXT(32) 0000  00000000 00000000 06 00 00 00  00000000 00000000 ff 00 00 00"));

  // IPv6: addresses, flow label and the bytes behind it.
  CHECK(bytes_of(match_ipv6{.source = ipv6_address{0x2001, 0xdb8, 0, 0, 0, 0, 0, 1},
                            .destination = ipv6_address{0xfe80, 0, 0, 0, 0, 0, 0, 2},
                            .flow_label = 0x12345,
                            .next_header = 17,
                            .traffic_class = 0xb8,
                            .hop_limit = 64}) ==
        packed("IPV6(88) 0000"
               "  20010db8000000000000000000000001 fe800000000000000000000000000002"
               "  00012345 11 b8 40 00"
               "  ffffffffffffffffffffffffffffffff ffffffffffffffffffffffffffffffff"
               "  000fffff ff ff ff 00"));
  CHECK(bytes_of(
            match_ipv6{.destination = subnet(ipv6_address{0x2001, 0xdb8, 0, 0, 0, 0, 0, 1}, 33)}) ==
        packed("IPV6(88) 0000"
               "  00000000000000000000000000000000 20010db8000000000000000000000000"
               "  00000000 00 00 00 00"
               "  00000000000000000000000000000000 ffffffff800000000000000000000000"
               "  00000000 00 00 00 00"));

  // TCP, UDP and ESP.
  CHECK(bytes_of(match_tcp{.source_port = 0x1234, .destination_port = 80}) ==
        packed("TCP(16) 0050 1234  ffff ffff  0000"));
  CHECK(bytes_of(match_udp{.destination_port = 4791}) ==
        packed("UDP(16) 12b7 0000  ffff 0000  0000"));
  CHECK(bytes_of(match_udp{.source_port = masked<std::uint16_t>{0xc123, 0xc000}}) ==
        packed("UDP(16) 0000 c000  0000 c000  0000"));
  CHECK(
      bytes_of(match_esp{.security_parameters_index = 0x11223344, .sequence_number = 0x55667788}) ==
      packed("ESP(24) 0000  11223344 55667788  ffffffff ffffffff"));

  // Tunnels and labels.
  CHECK(bytes_of(match_vxlan{.network_identifier = 0x123456}) ==
        packed("VXLAN_TUNNEL(16) 0000  00123456  00ffffff"));
  CHECK(bytes_of(match_gre{.checksum_present = true,
                           .key_present = true,
                           .sequence_number_present = true,
                           .version = 1,
                           .protocol = 0x6558,
                           .key = 0x11223344}) ==
        packed("GRE(24) 0000  b001 6558 11223344  b007 ffff ffffffff"));
  CHECK(bytes_of(match_gre{.key_present = false}) ==
        packed("GRE(24) 0000  0000 0000 00000000  2000 0000 00000000"));
  CHECK(bytes_of(match_mpls{
            .label = 0x12345, .traffic_class = 5, .bottom_of_stack = true, .time_to_live = 64}) ==
        packed("MPLS(16) 0000  12345b40  ffffffff"));
  CHECK(bytes_of(match_mpls{.label = 3}) == packed("MPLS(16) 0000  00003000  fffff000"));
}

TEST_CASE_METHOD(flow_bench, "a match inside a tunnel differs only in its type",
                 "[ibv_create_flow]") {
  CHECK(bytes_of(match_inner{match_ipv4{.source = ipv4_address{10, 0, 0, 1}}}) ==
        packed("INNER|IPV4(24) 0000  0a000001 00000000  ffffffff 00000000"));
  const auto check = [&](const auto& specification) {
    CHECK(bytes_of(match_inner{specification}) == "INNER|" + bytes_of(specification));
  };
  check(match_ethernet{});
  check(match_ipv4_extended{.protocol = 6});
  check(match_ipv6{.next_header = 17});
  check(match_esp{.sequence_number = 1});
  check(match_tcp{.source_port = 80});
  check(match_udp{.destination_port = 4791});
  check(match_mpls{.label = 3});
}

TEST_CASE_METHOD(flow_bench, "actions contain their number or their object", "[ibv_create_flow]") {
  const flow_action decrypt{context,
                            {.key = {std::array<std::byte, 16>{}, std::array<std::byte, 4>{}}}};
  const counters counted_by{context};
  CHECK(bytes_of(action_tag{0x112233}) == "ACTION_TAG(12) tag_id=0x112233");
  CHECK(bytes_of(action_drop{}) == "ACTION_DROP(8) 0000");
  CHECK(bytes_of(action_handle{decrypt}) == "ACTION_HANDLE(16) action0");
  CHECK(bytes_of(action_count{counted_by}) == "ACTION_COUNT(16) counters0");
}

TEST_CASE_METHOD(flow_bench, "a rule can be used for several flows and kinds of pairs") {
  const flow_rule rule{{.priority = 7}, match_vxlan{.network_identifier = 1}};
  const auto fresh_one = fresh<transport::ud>();
  machine.forget_calls();
  const flow of_owner{fresh_one, rule};
  const queue_pair_ref<transport::ud> typed = pair;
  const flow of_reference{typed, rule};
  const flow of_native{pair.native_handle(), rule};
  const reference<ibv_qp> untyped = pair;
  const flow of_untyped{untyped, rule};
  CHECK_THAT(machine.lines(), is_log(R"(
    ibv_create_flow qp1 type=NORMAL priority=7 port=1: VXLAN_TUNNEL(16) 00000000000100ffffff
    ibv_create_flow qp0 type=NORMAL priority=7 port=1: VXLAN_TUNNEL(16) 00000000000100ffffff
    ibv_create_flow qp0 type=NORMAL priority=7 port=1: VXLAN_TUNNEL(16) 00000000000100ffffff
    ibv_create_flow qp0 type=NORMAL priority=7 port=1: VXLAN_TUNNEL(16) 00000000000100ffffff)"));
}

TEST_CASE_METHOD(flow_bench, "a list of specifications is passed like the equivalent rule",
                 "[ibv_create_flow]") {
  const match_ipv4 to_one_host{.destination = ipv4_address{10, 0, 0, 7}};
  const match_udp to_one_port{.destination_port = std::uint16_t{4791}};
  const flow of_rule{pair, flow_rule{{}, match_ethernet{}, to_one_host, to_one_port}};
  const std::vector<std::string> rule = machine.lines<called::create_flow>().lines;
  machine.forget_calls();
  const std::vector<flow_specification> list{match_ethernet{}, to_one_host, to_one_port};
  const flow of_list{pair, {}, list};
  REQUIRE(rule.size() == 1);
  CHECK(machine.lines<called::create_flow>().lines == rule);
}

TEST_CASE_METHOD(flow_bench, "a number that does not fit its field is refused, not truncated") {
  const auto explanation = [&](const auto& specification) {
    const failure why = reported(
        [&](auto&&... policy) { const flow none{pair, flow_rule{{}, specification}, policy...}; });
    CHECK(why.code() == std::errc::invalid_argument);
    const std::vector<flow_specification> list{action_drop{}, specification, match_udp{}};
    CHECK(reported([&](auto&&... policy) {
            const flow none{pair, {}, list, policy...};
          }).explanation() == why.explanation());
    return std::string{why.explanation()};
  };
  CHECK(explanation(match_ethernet{.vlan_id = 4096}) ==
        "vlan_id is 4096, which does not fit into its 12 bits");
  CHECK(explanation(match_ethernet{.vlan_priority = 8}) ==
        "vlan_priority is 8, which does not fit into its 3 bits");
  // The first of several is named.
  CHECK(explanation(match_ethernet{.vlan_id = 4096, .vlan_priority = 8}) ==
        "vlan_id is 4096, which does not fit into its 12 bits");
  CHECK(explanation(match_ipv6{.flow_label = 0x100000}) ==
        "flow_label is 1048576, which does not fit into its 20 bits");
  CHECK(explanation(match_vxlan{.network_identifier = 1U << 24}) ==
        "network_identifier is 16777216, which does not fit into its 24 bits");
  CHECK(explanation(match_mpls{.label = 0x100000}) ==
        "label is 1048576, which does not fit into its 20 bits");
  CHECK(explanation(match_gre{.version = 8}) == "version is 8, which does not fit into its 3 bits");
  CHECK(explanation(match_inner{match_ethernet{.vlan_id = masked<std::uint16_t>{1, 0xffff}}}) ==
        "the mask of vlan_id is 65535, which does not fit into its 12 bits");
  CHECK(machine.count<called::create_flow>() == 0);
}

TEST_CASE_METHOD(flow_bench, "a refused flow is explained by visible causes") {
  const flow_rule plain{{}, match_ethernet{}};
  CHECK(std::string{refused(EPERM, plain).what()} ==
        "ibv_create_flow on fake0 qp 0x11: EPERM (Operation not permitted); "
        "steering packets needs the capability CAP_NET_RAW");
  CHECK(refused(ENXIO, plain).explanation() ==
        "possible causes: the device currently steers no flows, or none of this kind");
  CHECK(refused(ENOMEM, plain).explanation().empty());
  CHECK(refused(EINVAL, plain).explanation().empty());
  CHECK(refused(EOPNOTSUPP, plain).explanation() == "fake0 has no flow steering");
  CHECK(refused(EINVAL, flow_rule{{.port = port_number{2},
                                   .type = flow_type::sniffer,
                                   .flags = flow_flag::do_not_trap},
                                  action_tag{0x1000000}})
            .explanation() ==
        "port 2 is out of range: the device has 1, numbered from 1; do_not_trap requires a normal "
        "rule, this one is of type "
        "sniffer; tag 0x1000000 has more than the 24 bits that devices store");
  CHECK(refused(EINVAL, flow_rule{{.port = port_number{0}}}).explanation() ==
        "port 0 is out of range: the device has 1, numbered from 1");
  CHECK(refused(EINVAL, flow_rule{{}, match_ipv4{.source = subnet(ipv4_address{10, 0, 0, 0}, 8)}})
            .explanation() ==
        "the rule compares part of a field; most devices compare whole fields only");
  CHECK(refused(EINVAL, flow_rule{{}, match_udp{.source_port = masked<std::uint16_t>{1, 1}}})
            .explanation() ==
        "the rule compares part of a field; most devices compare whole fields only");

  limits().device_cap_flags = IBV_DEVICE_MANAGED_FLOW_STEERING;
  CHECK(refused(EOPNOTSUPP, plain).explanation() ==
        "the device steers flows, but lacks one of these matches, actions or flags");
}

TEST_CASE_METHOD(flow_bench, "a refused flow names an unsuitable transport") {
  const auto connected = fresh<transport::rc>();
  CHECK(reported([&] { machine.fail<called::create_flow>(EINVAL); },
                 [&](auto&&... policy) {
                   const flow none{connected.native_handle(), flow_rule{{}}, policy...};
                 })
            .explanation() == "flows steer packets to UD and raw packet pairs, this pair is RC");
}

TEST_CASE_METHOD(flow_bench,
                 "a refused list of specifications is explained by its length and order") {
  const auto explanation = [&](const std::vector<flow_specification>& list) {
    return std::string{
        reported([&] { machine.fail<called::create_flow>(EINVAL); },
                 [&](auto&&... policy) { const flow none{pair, {}, list, policy...}; })
            .explanation()};
  };
  CHECK(explanation({match_udp{}, match_ipv4{}}) ==
        "the headers are not in the order of the packet");
  CHECK(explanation({match_ipv4{}, match_ipv6{}}) == "a header is named twice");
  CHECK(explanation({match_inner{match_ipv4{}}, match_ipv4{}}) ==
        "an outer header follows an inner one");
  CHECK(explanation({action_drop{}, action_drop{}}) == "an action is named twice");
  CHECK(explanation({match_ethernet{}, match_ipv4{}, match_udp{}, match_esp{}, match_vxlan{},
                     match_inner{match_ethernet{}}, match_inner{match_ipv6{}},
                     match_inner{match_esp{}}, match_inner{match_tcp{}}, match_mpls{}, match_mpls{},
                     action_tag{1}}) == "12 specifications exceed the limit of Linux, 10");

  const std::vector<flow_specification> too_many(256, match_mpls{});
  CHECK(reported([&](auto&&... policy) {
          const flow none{pair, {}, too_many, policy...};
        }).explanation() == "a rule has at most 255 specifications");
}

TEST_CASE_METHOD(flow_bench, "empty objects are reported and not passed to the provider") {
  const queue_pair<transport::ud> no_pair;
  CHECK(reported([&](auto&&... policy) {
          const flow none{no_pair, flow_rule{{}}, policy...};
        }).explanation() == "the queue pair is empty: moved from, closed, or never created");
  const counters no_counters{};
  const flow_action no_action{};
  const std::string empty =
      "an action of the rule has empty counters or an empty flow action: moved from, closed, or "
      "never created";
  CHECK(reported([&](auto&&... policy) {
          const flow none{pair, flow_rule{{}, action_count{no_counters}}, policy...};
        }).explanation() == empty);
  CHECK(reported([&](auto&&... policy) {
          const flow none{pair, flow_rule{{}, action_handle{no_action}}, policy...};
        }).explanation() == empty);
  CHECK(machine.count<called::create_flow>() == 0);
}

TEST_CASE_METHOD(flow_bench, "closing the pair, counters or action of a flow fails") {
  counters counted_by{context};
  flow_action decrypt{context, {.key = {std::array<std::byte, 16>{}, std::array<std::byte, 4>{}}}};
  flow steered{pair, flow_rule{{}, action_handle{decrypt}, action_count{counted_by}}};
  const std::string kept = "still in use by 1 flow; destroy these first";
  failure why;
  pair.close(why);
  CHECK(why.explanation() == kept);
  counted_by.close(why);
  CHECK(why.explanation() == kept);
  decrypt.close(why);
  CHECK(why.explanation() == kept);
  CHECK(machine.count<called::destroy_qp>() == 0);

  flow moved = std::move(steered);
  moved.close();
  pair.close();
  counted_by.close();
  decrypt.close();
  CHECK(machine.count<called::destroy_flow>() == 1);
}
