// SPDX-License-Identifier: MIT
// The wire format of endpoints, byte by byte, and what it refuses.
#include <array>
#include <string>

#include <adverb/queue/endpoint.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

using namespace adverb;

namespace {

const endpoint sample{
    .number = qp_number{0x123456},
    .psn = psn{0xabcdef},
    .lid = lid{0x1122},
    .gid = gid{std::array<std::uint8_t, 16>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
    .mtu = mtu::bytes_4096,
    .max_destination_read_atomic = 0x55,
    .max_initiator_read_atomic = 0x66,
    .queue_key = queue_key{0x80010203}};

constexpr std::array<unsigned, 40> sample_bytes{
    1, 5, 0x22, 0x11, 0x56, 0x34, 0x12, 0,  0xef, 0xcd, 0xab, 0,  3,    2,    1, 0x80, 1, 2, 3, 4,
    5, 6, 7,    8,    9,    10,   11,   12, 13,   14,   15,   16, 0x55, 0x66, 0, 0,    0, 0, 0, 0};

std::array<std::byte, 40> as_bytes(const std::array<unsigned, 40>& numbers) {
  std::array<std::byte, 40> bytes{};
  for (std::size_t index = 0; index < bytes.size(); ++index)
    bytes[index] = static_cast<std::byte>(numbers[index]);
  return bytes;
}

/// Why the sample is refused when these of its bytes are others.
std::string refusal(std::size_t offset, std::byte value) {
  auto bytes = sample.encode();
  bytes[offset] = value;
  const failure why = reported([&](auto&&... policy) {
    const endpoint found = endpoint::decode(bytes, policy...);
    CHECK(found == endpoint{});
  });
  CHECK(why.code() == std::errc::protocol_error);
  CHECK(why.verb() == "endpoint::decode");
  return std::string{why.explanation()};
}

}  // namespace

TEST_CASE("An endpoint has a fixed layout in bytes") {
  CHECK(sample.encode() == as_bytes(sample_bytes));
}

TEST_CASE("decode returns the endpoint that was encoded") {
  CHECK(endpoint::decode(as_bytes(sample_bytes)) == sample);
  CHECK(endpoint::decode(endpoint{}.encode()) == endpoint{});
  std::error_code code = std::make_error_code(std::errc::io_error);
  CHECK(endpoint::decode(sample.encode(), code) == sample);
  CHECK(!code);
}

TEST_CASE("decode accepts numbers of 24 bits and refuses larger ones") {
  endpoint largest = sample;
  largest.number = qp_number{0xffffff};
  largest.psn = psn{0xffffff};
  CHECK(endpoint::decode(largest.encode()) == largest);
  CHECK(refusal(7, std::byte{1}) == "the queue pair number has more than 24 bits");
  CHECK(refusal(11, std::byte{1}) == "the packet sequence number has more than 24 bits");
}

TEST_CASE("decode refuses bytes of another version") {
  CHECK(refusal(0, std::byte{0}) == "possible causes: not an endpoint, or one of a later version");
  CHECK(refusal(0, std::byte{2}) == "possible causes: not an endpoint, or one of a later version");
}

TEST_CASE("decode refuses an invalid MTU") {
  CHECK(refusal(1, std::byte{0}) == "the MTU is invalid");
  CHECK(refusal(1, std::byte{6}) == "the MTU is invalid");
  CHECK(refusal(1, std::byte{255}) == "the MTU is invalid");
}

TEST_CASE("to_text of an endpoint writes its LID, queue pair number, PSN and GID") {
  CHECK(std::string{to_text(sample).view()} ==
        "lid 0x1122 qp 0x123456 psn 0xabcdef gid 102:304:506:708:90a:b0c:d0e:f10");
}
