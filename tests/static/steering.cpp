// SPDX-License-Identifier: MIT
// Work queues and flow steering: sizes, names, addresses, and the fields that packets are matched
// by.
#include <string_view>
#include <type_traits>

#include <adverb/adverb.hpp>

namespace {

using std::string_view;
using namespace adverb;

// Every owner is a pointer that moves and does not copy.
template <class Owner>
constexpr bool is_lean_owner =
    sizeof(Owner) == sizeof(void*) && std::is_nothrow_move_constructible_v<Owner> &&
    std::is_nothrow_move_assignable_v<Owner> && !std::is_copy_constructible_v<Owner>;
static_assert(is_lean_owner<work_queue<>> && is_lean_owner<work_queue<work_queue_state::any>>);
static_assert(is_lean_owner<indirection_table> && is_lean_owner<flow>);
static_assert(is_lean_owner<flow_action> && is_lean_owner<counters>);
static_assert(sizeof(work_queue_ref<>) == sizeof(void*));
static_assert(sizeof(flow_destination) == sizeof(void*));

// Only `any` takes queues in other states.
static_assert(std::is_nothrow_constructible_v<work_queue<work_queue_state::any>, work_queue<>>);
static_assert(!std::is_constructible_v<work_queue<>, work_queue<work_queue_state::reset>>);
static_assert(!std::is_constructible_v<work_queue_ref<>, work_queue<work_queue_state::reset>&>);

static_assert(string_view{to_text(work_queue_state::reset)} == "RESET");
static_assert(string_view{to_text(work_queue_state::ready)} == "ready");
static_assert(string_view{to_text(work_queue_state::error)} == "ERR");
static_assert(string_view{to_text(work_queue_state::unknown)} == "unknown");
static_assert(string_view{to_text(work_queue_state::any)} == "any");
static_assert(string_view{to_text(work_queue_state{4})} == "unknown (4)");
static_assert(string_view{to_text(work_queue_flags::from_bits(0x1f))} ==
              "strip_vlan|scatter_frame_check_sequence|delay_drop|pci_write_end_padding|0x10");

static_assert(string_view{to_text(flow_type::normal)} == "normal");
static_assert(string_view{to_text(flow_type::all_default)} == "all default");
static_assert(string_view{to_text(flow_type::multicast_default)} == "multicast default");
static_assert(string_view{to_text(flow_type::sniffer)} == "sniffer");
static_assert(string_view{to_text(flow_type{4})} == "unknown (4)");
static_assert(string_view{to_text(flow_flags::from_bits(7))} == "do_not_trap|egress|0x1");
static_assert(string_view{to_text(counted::packets)} == "packets");
static_assert(string_view{to_text(counted::bytes)} == "bytes");
static_assert(string_view{to_text(counted{2})} == "unknown (2)");

static_assert(string_view{to_text(mac_address{0x52, 0x54, 0, 0x12, 0x34, 0xf})} ==
              "52:54:00:12:34:0f");
static_assert(string_view{to_text(ipv4_address{10, 0, 0, 255})} == "10.0.0.255");
static_assert(string_view{to_text(ipv6_address{0x2001, 0xdb8, 0, 0, 0, 0, 0, 1})} == "2001:db8::1");
static_assert(ipv6_address{gid{ipv6_address{1, 2, 3, 4, 5, 6, 7, 8}.bytes()}} ==
              ipv6_address{1, 2, 3, 4, 5, 6, 7, 8});

static_assert(subnet(ipv4_address{10, 1, 2, 3}, 0).mask == ipv4_address{});
static_assert(subnet(ipv4_address{10, 1, 2, 3}, 9).mask == ipv4_address{255, 128, 0, 0});
static_assert(subnet(ipv4_address{10, 1, 2, 3}, 32).mask == ipv4_address{255, 255, 255, 255});
static_assert(subnet(ipv4_address{10, 1, 2, 3}, 99).mask == ipv4_address{255, 255, 255, 255});
static_assert(subnet(ipv6_address{}, 20).mask == ipv6_address{0xffff, 0xf000, 0, 0, 0, 0, 0, 0});

// Not given: not looked at. Given: all bits. Masked: what is outside of the mask is not there.
using field = match_field<std::uint16_t, 12>;
static_assert(field{}.value() == 0 && field{}.mask() == 0);
static_assert(!field{}.is_partial() && !field{}.too_large());
static_assert(field{0}.value() == 0 && field{0}.mask() == 0xfff && !field{0}.is_partial());
static_assert(!field{0xfff}.too_large() && field{0x1000}.too_large());
static_assert(field{masked<std::uint16_t>{0x123, 0xf0}}.value() == 0x20);
static_assert(field{masked<std::uint16_t>{0x123, 0xf0}}.is_partial());
static_assert(!field{masked<std::uint16_t>{0x123, 0xfff}}.is_partial());
static_assert(field{masked<std::uint16_t>{0, 0x1000}}.too_large());
static_assert(match_field<bool>{false}.mask() && !match_field<bool>{}.mask());
using address_field = match_field<ipv4_address>;
static_assert(address_field{}.mask() == ipv4_address{} && !address_field{}.is_partial());
static_assert(address_field{subnet(ipv4_address{10, 1, 2, 3}, 8)}.value() ==
              ipv4_address{10, 0, 0, 0});
static_assert(address_field{subnet(ipv4_address{10, 1, 2, 3}, 8)}.is_partial());
static_assert(!address_field{subnet(ipv4_address{10, 1, 2, 3}, 32)}.is_partial());

}  // namespace
