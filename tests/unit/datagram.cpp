// SPDX-License-Identifier: MIT
// The header of a received datagram, and its payload.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <adverb/format.hpp>
#include <adverb/request/datagram.hpp>
#include <support/catch.hpp>

using namespace adverb;

namespace {

using header_bytes = std::array<std::byte, grh_size>;

header_bytes bytes_of(const std::array<std::uint8_t, grh_size>& numbers) {
  header_bytes bytes{};
  std::memcpy(bytes.data(), numbers.data(), grh_size);
  return bytes;
}

// Traffic class 0x12, flow label 0x34567, 0x0120 bytes, UDP, hop limit 64.
const header_bytes over_ipv6 = bytes_of(
    {0x61, 0x23, 0x45, 0x67, 0x01, 0x20, 17, 64, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
     0,    0,    0,    1,    0xff, 0x0e, 0,  0,  0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 2});

// Type of service 0x1c, 84 bytes in all, time to live 63, 10.0.0.1 to 239.1.2.3. The header has its
// checksum.
const header_bytes over_ipv4 =
    bytes_of({0,    0,    0, 0,  0, 0, 0,    0, 0,  0,  0,    0,    0,  0, 0, 0, 0,   0, 0, 0,
              0x45, 0x1c, 0, 84, 0, 0, 0x40, 0, 63, 17, 0x40, 0x78, 10, 0, 0, 1, 239, 1, 2, 3});

}  // namespace

TEST_CASE("An IPv6 header returns each of its fields") {
  const global_route_header header{over_ipv6};
  CHECK(header.version() == 6);
  CHECK_FALSE(header.is_ipv4());
  CHECK(header.traffic_class() == 0x12);
  CHECK(header.flow_label() == 0x34567);
  CHECK(header.payload_length() == 0x120);
  CHECK(header.next_header() == 17);
  CHECK(header.hop_limit() == 64);
  CHECK(std::string{to_text(header.source())} == "fe80::1");
  CHECK(std::string{to_text(header.destination())} == "ff0e::2");
  CHECK(header.destination().is_multicast());
  const ibv_grh native = header.native();
  CHECK(std::memcmp(&native, over_ipv6.data(), grh_size) == 0);
}

TEST_CASE("An IPv4 header is read from the last 20 bytes of the GRH area") {
  const global_route_header header{over_ipv4};
  CHECK(header.version() == 4);
  CHECK(header.is_ipv4());
  CHECK(header.traffic_class() == 0x1c);
  CHECK(header.flow_label() == 0);
  CHECK(header.payload_length() == 64);
  CHECK(header.next_header() == 17);
  CHECK(header.hop_limit() == 63);
  CHECK(std::string{to_text(header.source())} == "::ffff:10.0.0.1");
  CHECK(std::string{to_text(header.destination())} == "::ffff:239.1.2.3");
  CHECK(header.destination().is_multicast());
  CHECK_FALSE(header.source().is_multicast());
}

TEST_CASE("The checksum identifies an IPv4 header behind bytes that look like IPv6") {
  header_bytes misleading = over_ipv4;
  misleading[0] = std::byte{0x60};
  CHECK(global_route_header{misleading}.version() == 4);
  misleading[30] = std::byte{0x41};
  CHECK(global_route_header{misleading}.version() == 6);
  misleading[0] = std::byte{0};
  CHECK(global_route_header{misleading}.version() == 4);
}

TEST_CASE("Bytes without a header have version 0") {
  CHECK(global_route_header{header_bytes{}}.version() == 0);
}

TEST_CASE("The payload of a datagram follows the GRH area") {
  struct {
    std::uint32_t bytes;
    std::uint32_t length() const noexcept { return bytes; }
  } message{43};
  std::array<std::byte, 64> buffer{};
  const auto payload = datagram_payload(buffer, message);
  CHECK(payload.data() == &buffer[grh_size]);
  CHECK(payload.size() == 3);
  message.bytes = 40;
  CHECK(datagram_payload(buffer, message).empty());
  // The payload ends with the buffer, whatever the completion contains.
  message.bytes = 1000;
  CHECK(datagram_payload(buffer, message).size() == 24);
  CHECK(datagram_payload(std::span{buffer}.first(20), message).empty());
}
