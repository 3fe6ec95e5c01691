// SPDX-License-Identifier: MIT
// Arguments that a remote buffer refuses. The accepted ones, and the bytes on the wire, are in
// static/.
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <system_error>

#include <adverb/memory/remote_buffer.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

namespace {

using adverb::access_right;
using adverb::access_rights;
using adverb::adopt;
using adverb::remote_buffer;
using adverb::rkey;

using readable = remote_buffer<std::byte, access_right::remote_read>;
using numbers = remote_buffer<std::uint64_t, access_right::remote_read>;
using counters =
    remote_buffer<std::uint64_t, access_right::remote_read | access_right::remote_atomic>;

constexpr std::size_t largest = std::numeric_limits<std::size_t>::max();

template <class Buffer>
std::string refusal_of(const std::array<std::byte, 24>& bytes, std::errc expected) {
  const adverb::failure why =
      reported([&](auto&&... policy) { (void)Buffer::decode(bytes, policy...); });
  CHECK(why.code() == expected);
  CHECK(why.verb() == "remote_buffer::decode");
  std::error_code code;
  CHECK(Buffer::decode(bytes, code) == Buffer{});
  return std::string{why.explanation()};
}

}  // namespace

TEST_CASE("an unchecked slice equals a checked slice") {
  const numbers buffer{adopt, 0x1000, 8, rkey{1}};
  CHECK(buffer.unchecked_slice(6, 2) == buffer.slice(6, 2));
  CHECK(buffer.unchecked_slice(6, 2).address() == 0x1030);
}

TEST_CASE("a slice beyond the buffer fails with ERANGE") {
  const numbers buffer{adopt, 0x1000, 8, rkey{1}};
  const adverb::failure why =
      reported([&](auto&&... policy) { (void)buffer.slice(6, 3, policy...); });
  CHECK(std::string{why.what()} ==
        "remote_buffer::slice: ERANGE (Numerical result out of range); "
        "3 elements from 6 are not inside 8");

  std::error_code code;
  CHECK(buffer.slice(9, 0, code).empty());
  CHECK(code == std::errc::result_out_of_range);
  CHECK(buffer.slice(1, largest, code).empty());
  CHECK(code == std::errc::result_out_of_range);
  CHECK(buffer.slice(largest, 2, code).empty());
  CHECK(code == std::errc::result_out_of_range);
  CHECK(buffer.at(8, code).empty());
  CHECK(code == std::errc::result_out_of_range);
  CHECK(buffer.slice(6, 2, code).address() == 0x1030);
  CHECK_FALSE(code);
}

TEST_CASE("a buffer has as many elements of another type as fit") {
  const readable bytes{adopt, 0x1000, 19, rkey{1}};
  CHECK(bytes.as<std::uint64_t>() == numbers{adopt, 0x1000, 2, rkey{1}});
  CHECK(bytes.as<std::uint64_t>().as<std::byte>().size() == 16);
}

TEST_CASE("decode fails with EACCES if the peer lacks a required right") {
  const auto bytes = readable{adopt, 0x1000, 8, rkey{1}}.encode();
  CHECK(refusal_of<remote_buffer<>>(bytes, std::errc::permission_denied) ==
        "the peer grants remote_read, but remote_write|remote_read is needed");
}

TEST_CASE("decode refuses a length that is not a whole number of elements") {
  const auto bytes = readable{adopt, 0x1000, 9, rkey{1}}.encode();
  CHECK(refusal_of<numbers>(bytes, std::errc::protocol_error) ==
        "the length is not a whole number of elements");
}

TEST_CASE("decode refuses a buffer that wraps around the address space") {
  const auto bytes = readable{adopt, ~std::uint64_t{0} - 7, 16, rkey{1}}.encode();
  CHECK(refusal_of<readable>(bytes, std::errc::protocol_error) ==
        "the buffer wraps around the address space");
  const auto huge = readable{adopt, 16, largest, rkey{1}}.encode();
  CHECK(refusal_of<readable>(huge, std::errc::protocol_error) ==
        "the buffer wraps around the address space");
}

TEST_CASE("decode refuses an unaligned address if atomic operations are required") {
  const auto bytes = counters{adopt, 0x1004, 1, rkey{1}}.encode();
  CHECK(refusal_of<counters>(bytes, std::errc::protocol_error) ==
        "atomic operations need an address that is a multiple of 8");
  std::error_code code;
  CHECK(numbers::decode(bytes, code).address() == 0x1004);
  CHECK_FALSE(code);
}

TEST_CASE("decode accepts an empty buffer at any address") {
  for (const std::uint64_t address : {0x0ULL, 0x1000ULL, ~0x0ULL}) {
    std::error_code code;
    const readable empty{adopt, address, 0, rkey{3}};
    CHECK(readable::decode(empty.encode(), code) == empty);
    CHECK_FALSE(code);
  }
}

TEST_CASE("decode clears the error code on success") {
  std::error_code code = std::make_error_code(std::errc::io_error);
  CHECK(readable::decode(readable{adopt, 1, 2, rkey{3}}.encode(), code).size() == 2);
  CHECK_FALSE(code);
}
