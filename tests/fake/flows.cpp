// SPDX-License-Identifier: MIT
// Flow rules, byte by byte as the provider reads them.
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

constexpr std::size_t attributes_size = 20;

struct flow_bench : test_bench {
  queue_pair<transport::ud> pair = ready<transport::ud>();

  [[nodiscard]] called::create_flow last_flow() const {
    return machine.calls<called::create_flow>().back();
  }
  /// The one specification of a rule, in base 16, as it reaches the provider.
  template <class Specification>
  [[nodiscard]] std::string bytes_of(const Specification& specification) {
    const flow steered{pair, flow_rule{{}, specification}};
    const called::create_flow call = last_flow();
    CHECK(call.attributes.num_of_specs == 1);
    CHECK(call.attributes.size == call.bytes.size());

    // The same from a list.
    const std::vector<flow_specification> list{specification};
    const flow listed{pair, {}, list};
    CHECK(last_flow().bytes == call.bytes);
    return in_base_16(call.bytes, attributes_size);
  }

  /// Groups: type and size (8 bytes where the filters are aligned to 4, else 6), then the rest.
  [[nodiscard]] static std::string in_base_16(const std::vector<std::byte>& bytes,
                                              std::size_t from) {
    std::string text;
    for (std::size_t index = from; index < bytes.size(); ++index) {
      constexpr std::string_view digits = "0123456789abcdef";
      text += digits[std::to_integer<unsigned>(bytes[index]) >> 4];
      text += digits[std::to_integer<unsigned>(bytes[index]) & 15];
    }
    return text;
  }

  /// What a refused rule is explained with.
  template <class... Specifications>
  [[nodiscard]] failure refused(int error, const flow_rule<Specifications...>& rule) {
    return reported([&] { machine.fail<called::create_flow>(error); },
                    [&](auto&&... policy) { const flow none{pair, rule, policy...}; });
  }
};

}  // namespace

TEST_CASE_METHOD(flow_bench, "a rule is one piece: attributes, then specifications without gaps",
                 "[ibv_create_flow][ibv_destroy_flow]") {
  const counters counted_by{context};
  const ibv_flow* native = nullptr;
  {
    const flow steered{
        pair, flow_rule{{.priority = 3, .port = port_number{1}, .flags = flow_flag::do_not_trap},
                        match_ethernet{.ether_type = 0x0800},
                        match_ipv4{.destination = ipv4_address{10, 0, 0, 1}},
                        match_udp{.destination_port = 4791},
                        action_tag{42},
                        action_count{counted_by}}};
    const called::create_flow call = last_flow();
    CHECK(call.pair == pair.native_handle());
    CHECK(call.attributes.comp_mask == 0);
    CHECK(call.attributes.type == IBV_FLOW_ATTR_NORMAL);
    CHECK(call.attributes.priority == 3);
    CHECK(call.attributes.port == 1);
    CHECK(call.attributes.flags == IBV_FLOW_ATTR_FLAGS_DONT_TRAP);
    CHECK(call.attributes.num_of_specs == 5);

    // As libibverbs walks it: each specification begins where the one before ends by its size.
    std::vector<std::pair<unsigned, std::size_t>> found;
    std::size_t position = sizeof(ibv_flow_attr);
    for (unsigned index = 0; index < call.attributes.num_of_specs; ++index) {
      decltype(ibv_flow_spec::hdr) header;
      std::memcpy(&header, call.bytes.data() + position, sizeof header);
      found.emplace_back(header.type, header.size);
      position += header.size;
    }
    CHECK(position == call.bytes.size());
    CHECK(found == std::vector<std::pair<unsigned, std::size_t>>{
                       {IBV_FLOW_SPEC_ETH, sizeof(ibv_flow_spec_eth)},
                       {IBV_FLOW_SPEC_IPV4, sizeof(ibv_flow_spec_ipv4)},
                       {IBV_FLOW_SPEC_UDP, sizeof(ibv_flow_spec_tcp_udp)},
                       {IBV_FLOW_SPEC_ACTION_TAG, sizeof(ibv_flow_spec_action_tag)},
                       {IBV_FLOW_SPEC_ACTION_COUNT, sizeof(ibv_flow_spec_counter_action)}});
    ibv_flow_spec_counter_action action;
    std::memcpy(&action, call.bytes.data() + position - sizeof action, sizeof action);
    CHECK(action.counters == counted_by.native_handle());
    CHECK(steered.context().native_handle() == context.native_handle());
    native = steered.native_handle();
    CHECK(machine.count<called::destroy_flow>() == 0);
  }
  REQUIRE(machine.count<called::destroy_flow>() == 1);
  CHECK(machine.calls<called::destroy_flow>().at(0).flow == native);
}

TEST_CASE_METHOD(flow_bench, "every type and flag of a rule has its number", "[ibv_create_flow]") {
  const auto type_of = [&](flow_type type) {
    const flow made{pair, flow_rule{{.type = type}}};
    CHECK(last_flow().bytes.size() == attributes_size);
    CHECK(last_flow().attributes.num_of_specs == 0);
    return last_flow().attributes.type;
  };
  CHECK(type_of(flow_type::normal) == IBV_FLOW_ATTR_NORMAL);
  CHECK(type_of(flow_type::all_default) == IBV_FLOW_ATTR_ALL_DEFAULT);
  CHECK(type_of(flow_type::multicast_default) == IBV_FLOW_ATTR_MC_DEFAULT);
  CHECK(type_of(flow_type::sniffer) == IBV_FLOW_ATTR_SNIFFER);
  const flow egress{pair, flow_rule{{.port = port_number{2}, .flags = flow_flag::egress}}};
  CHECK(last_flow().attributes.flags == IBV_FLOW_ATTR_FLAGS_EGRESS);
  CHECK(last_flow().attributes.port == 2);
  CHECK(last_flow().attributes.priority == 0);
}

// Type and size are in the machine's byte order, which the tests take to be little-endian.

TEST_CASE_METHOD(flow_bench, "Ethernet: addresses, type and the three parts of the VLAN tag",
                 "[ibv_create_flow]") {
  CHECK(bytes_of(match_ethernet{}) ==
        "20000000"
        "2800" +
            std::string(68, '0'));
  CHECK(bytes_of(match_ethernet{.destination = mac_address{1, 2, 3, 4, 5, 6},
                                .source = mac_address{0xa, 0xb, 0xc, 0xd, 0xe, 0xf},
                                .ether_type = 0x0800,
                                .vlan_id = 0x123,
                                .vlan_priority = 5,
                                .vlan_drop_eligible = true}) ==
        "20000000"
        "2800"
        "010203040506"
        "0a0b0c0d0e0f"
        "0800"
        "b123"
        "ffffffffffff"
        "ffffffffffff"
        "ffff"
        "ffff"
        "0000");
  // Zero is a value, and only what is given is compared.
  CHECK(bytes_of(match_ethernet{.vlan_id = 0}) ==
        "20000000"
        "2800"
        "000000000000"
        "000000000000"
        "0000"
        "0000"
        "000000000000"
        "000000000000"
        "0000"
        "0fff"
        "0000");
  CHECK(bytes_of(match_ethernet{.vlan_priority = 0, .vlan_drop_eligible = false}) ==
        "20000000"
        "2800"
        "000000000000"
        "000000000000"
        "0000"
        "0000"
        "000000000000"
        "000000000000"
        "0000"
        "f000"
        "0000");
  // All multicast addresses.
  CHECK(bytes_of(match_ethernet{.destination = masked{mac_address{0xff, 0xff, 0, 0, 0, 0},
                                                      mac_address{1, 0, 0, 0, 0, 0}}}) ==
        "20000000"
        "2800"
        "010000000000"
        "000000000000"
        "0000"
        "0000"
        "010000000000"
        "000000000000"
        "0000"
        "0000"
        "0000");
}

TEST_CASE_METHOD(flow_bench, "IPv4: addresses, subnets, and the extended fields",
                 "[ibv_create_flow]") {
  CHECK(bytes_of(match_ipv4{.source = ipv4_address{10, 0, 0, 1},
                            .destination = ipv4_address{192, 168, 1, 2}}) ==
        "30000000"
        "1800"
        "0000"
        "0a000001"
        "c0a80102"
        "ffffffff"
        "ffffffff");
  CHECK(bytes_of(match_ipv4{.destination = subnet(ipv4_address{10, 1, 2, 3}, 12)}) ==
        "30000000"
        "1800"
        "0000"
        "00000000"
        "0a000000"
        "00000000"
        "fff00000");
  CHECK(bytes_of(match_ipv4{.source = ipv4_address{}}) ==
        "30000000"
        "1800"
        "0000"
        "00000000"
        "00000000"
        "ffffffff"
        "00000000");
  CHECK(bytes_of(match_ipv4_extended{.source = ipv4_address{10, 0, 0, 1},
                                     .destination = ipv4_address{10, 0, 0, 2},
                                     .protocol = 17,
                                     .type_of_service = 0xb8,
                                     .time_to_live = 64,
                                     .flags = 2}) ==
        "32000000"
        "2000"
        "0000"
        "0a000001"
        "0a000002"
        "11"
        "b8"
        "40"
        "02"
        "ffffffff"
        "ffffffff"
        "ff"
        "ff"
        "ff"
        "ff");
  CHECK(bytes_of(match_ipv4_extended{.protocol = 6}) ==
        "32000000"
        "2000"
        "0000"
        "00000000"
        "00000000"
        "06"
        "00"
        "00"
        "00"
        "00000000"
        "00000000"
        "ff"
        "00"
        "00"
        "00");
}

TEST_CASE_METHOD(flow_bench, "IPv6: addresses, flow label and the bytes behind it",
                 "[ibv_create_flow]") {
  CHECK(bytes_of(match_ipv6{.source = ipv6_address{0x2001, 0xdb8, 0, 0, 0, 0, 0, 1},
                            .destination = ipv6_address{0xfe80, 0, 0, 0, 0, 0, 0, 2},
                            .flow_label = 0x12345,
                            .next_header = 17,
                            .traffic_class = 0xb8,
                            .hop_limit = 64}) ==
        "31000000"
        "5800"
        "0000"
        "20010db8000000000000000000000001"
        "fe800000000000000000000000000002"
        "00012345"
        "11"
        "b8"
        "40"
        "00"
        "ffffffffffffffffffffffffffffffff"
        "ffffffffffffffffffffffffffffffff"
        "000fffff"
        "ff"
        "ff"
        "ff"
        "00");
  CHECK(bytes_of(
            match_ipv6{.destination = subnet(ipv6_address{0x2001, 0xdb8, 0, 0, 0, 0, 0, 1}, 33)}) ==
        "31000000"
        "5800"
        "0000"
        "00000000000000000000000000000000"
        "20010db8000000000000000000000000"
        "00000000"
        "00"
        "00"
        "00"
        "00"
        "00000000000000000000000000000000"
        "ffffffff800000000000000000000000"
        "00000000"
        "00"
        "00"
        "00"
        "00");
}

TEST_CASE_METHOD(flow_bench, "TCP, UDP and ESP in network byte order", "[ibv_create_flow]") {
  CHECK(bytes_of(match_tcp{.source_port = 0x1234, .destination_port = 80}) ==
        "40000000"
        "1000"
        "0050"
        "1234"
        "ffff"
        "ffff"
        "0000");
  CHECK(bytes_of(match_udp{.destination_port = 4791}) ==
        "41000000"
        "1000"
        "12b7"
        "0000"
        "ffff"
        "0000"
        "0000");
  CHECK(bytes_of(match_udp{.source_port = masked<std::uint16_t>{0xc123, 0xc000}}) ==
        "41000000"
        "1000"
        "0000"
        "c000"
        "0000"
        "c000"
        "0000");
  CHECK(
      bytes_of(match_esp{.security_parameters_index = 0x11223344, .sequence_number = 0x55667788}) ==
      "34000000"
      "1800"
      "0000"
      "11223344"
      "55667788"
      "ffffffff"
      "ffffffff");
}

TEST_CASE_METHOD(flow_bench, "tunnels, labels, and what is inside of them", "[ibv_create_flow]") {
  CHECK(bytes_of(match_vxlan{.network_identifier = 0x123456}) ==
        "50000000"
        "1000"
        "0000"
        "00123456"
        "00ffffff");
  CHECK(bytes_of(match_gre{.checksum_present = true,
                           .key_present = true,
                           .sequence_number_present = true,
                           .version = 1,
                           .protocol = 0x6558,
                           .key = 0x11223344}) ==
        "51000000"
        "1800"
        "0000"
        "b001"
        "6558"
        "11223344"
        "b007"
        "ffff"
        "ffffffff");
  CHECK(bytes_of(match_gre{.key_present = false}) ==
        "51000000"
        "1800"
        "0000"
        "0000"
        "0000"
        "00000000"
        "2000"
        "0000"
        "00000000");
  CHECK(bytes_of(match_mpls{
            .label = 0x12345, .traffic_class = 5, .bottom_of_stack = true, .time_to_live = 64}) ==
        "60000000"
        "1000"
        "0000"
        "12345b40"
        "ffffffff");
  CHECK(bytes_of(match_mpls{.label = 3}) ==
        "60000000"
        "1000"
        "0000"
        "00003000"
        "fffff000");

  CHECK(bytes_of(match_inner{match_ipv4{.source = ipv4_address{10, 0, 0, 1}}}) ==
        "30010000"
        "1800"
        "0000"
        "0a000001"
        "00000000"
        "ffffffff"
        "00000000");
  CHECK(bytes_of(match_inner{match_ethernet{}}).substr(0, 8) == "20010000");
  CHECK(bytes_of(match_inner{match_ipv4_extended{}}).substr(0, 8) == "32010000");
  CHECK(bytes_of(match_inner{match_ipv6{}}).substr(0, 8) == "31010000");
  CHECK(bytes_of(match_inner{match_esp{}}).substr(0, 8) == "34010000");
  CHECK(bytes_of(match_inner{match_tcp{}}).substr(0, 8) == "40010000");
  CHECK(bytes_of(match_inner{match_udp{}}).substr(0, 8) == "41010000");
  CHECK(bytes_of(match_inner{match_mpls{}}).substr(0, 8) == "60010000");
}

TEST_CASE_METHOD(flow_bench, "actions carry their number or their object", "[ibv_create_flow]") {
  CHECK(bytes_of(action_tag{0x112233}) ==
        "00100000"
        "0c00"
        "0000"
        "33221100");
  CHECK(bytes_of(action_drop{}) ==
        "01100000"
        "0800"
        "0000");

  const flow_action decrypt{context,
                            {.key = {std::array<std::byte, 16>{}, std::array<std::byte, 4>{}}}};
  const counters counted_by{context};
  CHECK(bytes_of(action_handle{decrypt}).substr(0, 16) ==
        "02100000"
        "1000"
        "0000");
  CHECK(bytes_of(action_count{counted_by}).substr(0, 16) ==
        "03100000"
        "1000"
        "0000");

  const flow both{pair, flow_rule{{}, action_handle{decrypt}, action_count{counted_by}}};
  const std::vector<std::byte> bytes = last_flow().bytes;
  ibv_flow_spec_action_handle handle;
  std::memcpy(&handle, bytes.data() + attributes_size, sizeof handle);
  CHECK(handle.action == decrypt.native_handle());
}

TEST_CASE_METHOD(flow_bench, "a rule serves many flows, and flows have many kinds of pairs") {
  const flow_rule rule{{.priority = 7}, match_ethernet{.ether_type = 0x8915}};
  const auto fresh_one = fresh<transport::ud>();
  const flow of_owner{fresh_one, rule};
  CHECK(last_flow().pair == fresh_one.native_handle());
  const queue_pair_ref<transport::ud> typed = pair;
  const flow of_reference{typed, rule};
  CHECK(last_flow().pair == pair.native_handle());
  const flow of_native{pair.native_handle(), rule};
  CHECK(last_flow().pair == pair.native_handle());
  const reference<ibv_qp> untyped = pair;
  const flow of_untyped{untyped, rule};
  CHECK(last_flow().pair == pair.native_handle());
  CHECK(last_flow().bytes == machine.calls<called::create_flow>().front().bytes);
}

TEST_CASE_METHOD(flow_bench, "a number that does not fit its field is refused, never cut") {
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
  CHECK(explanation(match_ipv6{.flow_label = 0x100000}) ==
        "flow_label is 1048576, which does not fit into its 20 bits");
  CHECK(explanation(match_vxlan{.network_identifier = 1U << 24}) ==
        "network_identifier is 16777216, which does not fit into its 24 bits");
  CHECK(explanation(match_mpls{.label = 0x100000}) ==
        "label is 1048576, which does not fit into its 20 bits");
  CHECK(explanation(match_gre{.version = 8}) == "version is 8, which does not fit into its 3 bits");
  CHECK(explanation(match_inner{match_ethernet{.vlan_id = masked<std::uint16_t>{1, 0xffff}}}) ==
        "vlan_id is 1, which does not fit into its 12 bits");
  CHECK(machine.count<called::create_flow>() == 0);
}

TEST_CASE_METHOD(flow_bench, "a refusal is explained by what can be seen") {
  const flow_rule plain{{}, match_ethernet{}};
  CHECK(std::string{refused(EPERM, plain).what()} ==
        "ibv_create_flow on fake0 qp 0x11: EPERM (Operation not permitted); "
        "steering packets needs the capability CAP_NET_RAW");
  CHECK(refused(ENXIO, plain).explanation() ==
        "the device does not steer flows by itself now, or not these");
  CHECK(refused(ENOMEM, plain).explanation().empty());
  CHECK(refused(EINVAL, plain).explanation().empty());
  CHECK(refused(EOPNOTSUPP, plain).explanation() == "fake0 has no flow steering");
  CHECK(refused(EINVAL, flow_rule{{.port = port_number{2},
                                   .type = flow_type::sniffer,
                                   .flags = flow_flag::do_not_trap},
                                  action_tag{0x1000000}})
            .explanation() ==
        "port 2 of 1 (they count from 1); do_not_trap is for normal rules, this is one of type "
        "sniffer; tag 0x1000000 has more than the 24 bits that devices keep");
  CHECK(refused(EINVAL, flow_rule{{.port = port_number{0}}}).explanation() ==
        "port 0 of 1 (they count from 1)");
  CHECK(refused(EINVAL, flow_rule{{}, match_ipv4{.source = subnet(ipv4_address{10, 0, 0, 0}, 8)}})
            .explanation() ==
        "a part of a field is compared, and most devices compare whole fields only");
  CHECK(refused(EINVAL, flow_rule{{}, match_udp{.source_port = masked<std::uint16_t>{1, 1}}})
            .explanation() ==
        "a part of a field is compared, and most devices compare whole fields only");

  limits().device_cap_flags = IBV_DEVICE_MANAGED_FLOW_STEERING;
  CHECK(refused(EOPNOTSUPP, plain).explanation() ==
        "the device steers flows, but not by all of these, or not so");
}

TEST_CASE_METHOD(flow_bench, "a pair of another transport is explained") {
  const auto connected = fresh<transport::rc>();
  CHECK(reported([&] { machine.fail<called::create_flow>(EINVAL); },
                 [&](auto&&... policy) {
                   const flow none{connected.native_handle(), flow_rule{{}}, policy...};
                 })
            .explanation() == "packets are steered to UD and raw packet pairs, this is one of RC");
}

TEST_CASE_METHOD(flow_bench, "a list is explained by its length and its order") {
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
        "an outer header stands behind an inner one");
  CHECK(explanation({action_drop{}, action_drop{}}) == "an action is named twice");
  CHECK(explanation({match_ethernet{}, match_ipv4{}, match_udp{}, match_esp{}, match_vxlan{},
                     match_inner{match_ethernet{}}, match_inner{match_ipv6{}},
                     match_inner{match_esp{}}, match_inner{match_tcp{}}, match_mpls{}, match_mpls{},
                     action_tag{1}}) == "12 specifications, Linux takes 10");

  const std::vector<flow_specification> too_many(256, match_mpls{});
  CHECK(reported([&](auto&&... policy) {
          const flow none{pair, {}, too_many, policy...};
        }).explanation() == "a rule has at most 255 specifications");
}

TEST_CASE_METHOD(flow_bench, "empty objects are reported, not handed to the provider") {
  const queue_pair<transport::ud> no_pair;
  CHECK(reported([&](auto&&... policy) {
          const flow none{no_pair, flow_rule{{}}, policy...};
        }).explanation() == "the queue pair is empty: moved from, closed, or never made");
  const counters no_counters{};
  const flow_action no_action{};
  const std::string empty =
      "an action of the rule names counters or a flow action that are empty: moved from, closed, "
      "or "
      "never made";
  CHECK(reported([&](auto&&... policy) {
          const flow none{pair, flow_rule{{}, action_count{no_counters}}, policy...};
        }).explanation() == empty);
  CHECK(reported([&](auto&&... policy) {
          const flow none{pair, flow_rule{{}, action_handle{no_action}}, policy...};
        }).explanation() == empty);
  CHECK(machine.count<called::create_flow>() == 0);
}

TEST_CASE_METHOD(flow_bench, "a flow keeps its pair, its counters and its flow action") {
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
