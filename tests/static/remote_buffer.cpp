// SPDX-License-Identifier: MIT
// Remote buffers at compile time: their types, and the documented bytes on the wire.
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <adverb/memory/remote_buffer.hpp>

namespace {

using namespace adverb;

using read_only = remote_buffer<std::byte, access_right::remote_read>;
using write_only = remote_buffer<std::byte, access_right::remote_write>;
using read_write = remote_buffer<>;
using numbers = remote_buffer<std::uint64_t, access_right::remote_read>;

static_assert(std::is_same_v<read_write::value_type, std::byte>);
static_assert(read_write::rights == (access_right::remote_read | access_right::remote_write));
static_assert(std::is_trivially_copyable_v<read_write>);
static_assert(sizeof(read_write) <= 24);

// Rights are given up by themselves.
static_assert(std::is_nothrow_convertible_v<read_write, read_only>);
static_assert(std::is_nothrow_convertible_v<read_write, write_only>);
// The type of the elements changes on request only.
static_assert(!std::is_constructible_v<numbers, read_only>);
static_assert(!std::is_constructible_v<read_write, std::uint64_t, std::size_t, rkey>);

constexpr read_write whole{adopt, 0x1000, 64, rkey{7}};
static_assert(whole.address() == 0x1000 && whole.size() == 64 && whole.size_bytes() == 64);
static_assert(whole.key() == rkey{7} && !whole.empty() && read_write{}.empty());
static_assert(read_only{whole}.address() == 0x1000 && read_only{whole}.size() == 64);
static_assert(read_only{whole}.key() == rkey{7});

static_assert(whole.slice(16, 8) == read_write{adopt, 0x1010, 8, rkey{7}});
static_assert(whole.slice(64, 0).empty() && whole.slice(0, 64) == whole);
static_assert(whole.at(63) == read_write{adopt, 0x103f, 1, rkey{7}});

constexpr auto as_numbers = read_only{whole}.as<std::uint64_t>();
static_assert(std::is_same_v<decltype(as_numbers), const numbers>);
static_assert(as_numbers.size() == 8 && as_numbers.size_bytes() == 64);
static_assert(as_numbers.at(7) == numbers{adopt, 0x1038, 1, rkey{7}});
// A rest that holds no whole element is left out.
static_assert(whole.slice(0, 63).as<std::uint64_t>().size() == 7);

constexpr numbers sent{adopt, 0x0102'0304'0506'0708, 3, rkey{0xa1b2'c3d4}};
constexpr std::array<std::byte, 24> wire = sent.encode();
constexpr std::array<unsigned char, 24> documented{
    0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,  // address
    24,   0,    0,    0,    0,    0,    0,    0,     // length in bytes
    0xd4, 0xc3, 0xb2, 0xa1,                          // remote key
    0x04, 0,    0,    0,                             // rights: remote_read
};
static_assert(numbers::encoded_size == wire.size());
static_assert([] {
  for (std::size_t i = 0; i < wire.size(); ++i)
    if (std::to_integer<unsigned char>(wire[i]) != documented[i]) return false;
  return true;
}());
static_assert(numbers::decode(wire) == sent);
static_assert(read_write::decode(whole.encode()) == whole);
// Fewer rights than were granted can be taken, and another type of elements.
static_assert(write_only::decode(whole.encode()) == write_only{whole});
static_assert(numbers::decode(whole.encode()).size() == 8);
// It may reach up to the end of the address space.
static_assert(read_only::decode(read_only{adopt, ~std::uint64_t{15}, 15, rkey{}}.encode()).size() ==
              15);

}  // namespace
