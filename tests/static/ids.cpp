// SPDX-License-Identifier: MIT
// The strong numbers: their sizes, their texts, and that none turns into another.
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <adverb/core/detail/byte_order.hpp>
#include <adverb/core/ids.hpp>

namespace {

using std::string_view;
using namespace adverb;

template <class Id, class Number>
constexpr bool wraps = sizeof(Id) == sizeof(Number) && std::is_trivially_copyable_v<Id> &&
                       !std::is_convertible_v<Id, Number> && !std::is_convertible_v<Number, Id>;

static_assert(wraps<lkey, std::uint32_t>);
static_assert(wraps<rkey, std::uint32_t>);
static_assert(wraps<qp_number, std::uint32_t>);
static_assert(wraps<queue_key, std::uint32_t>);
static_assert(wraps<immediate, std::uint32_t>);
static_assert(wraps<psn, std::uint32_t>);
static_assert(wraps<lid, std::uint16_t>);
static_assert(wraps<pkey_index, std::uint16_t>);
static_assert(wraps<pkey, std::uint16_t>);
static_assert(wraps<port_number, std::uint8_t>);
static_assert(wraps<gid_index, std::uint8_t>);
static_assert(wraps<service_level, std::uint8_t>);

static_assert(!std::is_convertible_v<lkey, rkey> && !std::is_constructible_v<rkey, lkey>);
static_assert(!std::is_constructible_v<pkey_index, pkey>);

static_assert(string_view{to_text(lkey{0xbeef})} == "0xbeef");
static_assert(string_view{to_text(rkey{0})} == "0x0");
static_assert(string_view{to_text(rkey{0xffff'ffff})} == "0xffffffff");
static_assert(string_view{to_text(qp_number{0x11})} == "0x11");
static_assert(string_view{to_text(queue_key{0x1111'1111})} == "0x11111111");
static_assert(string_view{to_text(immediate{0x1234'5678})} == "0x12345678");
static_assert(string_view{to_text(psn{0xab})} == "0x0000ab");
static_assert(string_view{to_text(lid{7})} == "0x0007");
static_assert(string_view{to_text(pkey{0xffff})} == "0xffff");
static_assert(string_view{to_text(port_number{1})} == "1");
static_assert(string_view{to_text(gid_index{255})} == "255");
static_assert(string_view{to_text(pkey_index{65535})} == "65535");
static_assert(string_view{to_text(service_level{15})} == "15");

// Packet sequence numbers have 24 bits and wrap around.
constexpr psn last{0xff'ffff};
static_assert(psn{}.value() == 0);
static_assert(last.value() == 0xff'ffff);
static_assert(psn{0x100'0000}.value() == 0);
static_assert(psn{0xabff'ffff} == last);
static_assert((last + 0) == last);
static_assert((last + 1).value() == 0);
static_assert((last + 2).value() == 1);
static_assert((last + 0x100'0000) == last);
static_assert((last + 0xffff'ffff).value() == 0xff'fffe);
static_assert(psn{1} != psn{2});

// In network byte order, on a machine of either kind.
static_assert(detail::swap_network_order(detail::swap_network_order(0x1234'5678)) == 0x1234'5678);
static_assert(detail::swap_network_order(0x1234'5678) ==
              (std::endian::native == std::endian::little ? 0x7856'3412U : 0x1234'5678U));

}  // namespace
