// SPDX-License-Identifier: MIT
// Inline data: what it is made from, and how its pieces and lists of them arrive in both engines.
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <support/catch.hpp>

#include "test_bench.hpp"

using namespace adverb;

namespace {

/// What a user's program puts before its messages.
struct message_header {
  std::uint32_t kind;
  std::uint32_t size;
};

struct inline_bench : test_bench {
  queue_pair<transport::rc> pair = ready<transport::rc>(
      {.max_inline_data = 64, .send_operations = basic_operations(transport::rc)});
  remote_buffer<> remote{adopt, 0x7000, 64, rkey{0x99}};
  message_header header{7, 5};
  std::string text = "hello";
  std::vector<std::uint16_t> numbers{0x6161, 0x6262};

  [[nodiscard]] std::array<inline_data, 3> pieces() const {
    return {inline_data{header}, inline_data{text}, inline_data{numbers}};
  }
  [[nodiscard]] std::string bytes() const {
    std::string all(sizeof header, '\0');
    std::memcpy(all.data(), &header, sizeof header);
    return all + text + "aabb";
  }

  template <class Request>
  [[nodiscard]] fake::posted<ibv_send_wr> posted(const Request& request) {
    pair.post(request).check();
    return machine.calls<fake::called::post_send>().back().requests.at(0);
  }
  template <class Request>
  [[nodiscard]] fake::extended_request built(const Request& request) {
    pair.extended().post(request).check();
    return machine.calls<fake::called::wr_complete>().back().requests.at(0);
  }

  void check_pieces(const fake::posted<ibv_send_wr>& request) const {
    REQUIRE(request.elements.size() == 3);
    CHECK(request.elements[0].addr == reinterpret_cast<std::uintptr_t>(&header));
    CHECK(request.elements[0].length == sizeof header);
    CHECK(request.elements[1].addr == reinterpret_cast<std::uintptr_t>(text.data()));
    CHECK(request.elements[1].length == 5);
    CHECK(request.elements[2].addr == reinterpret_cast<std::uintptr_t>(numbers.data()));
    CHECK(request.elements[2].length == 4);
    CHECK(request.inline_bytes == bytes());
  }
};

bool refers_to(const inline_data& data, const void* begin, std::size_t size) {
  return data.bytes().data() == begin && data.bytes().size() == size;
}

}  // namespace

TEST_CASE("Inline data is made from an object, a container, an array or a span") {
  const message_header header{1, 2};
  CHECK(refers_to(inline_data{header}, &header, 8));
  const std::uint64_t number = 3;
  CHECK(refers_to(inline_data{number}, &number, 8));
  const qp_number strong{5};
  CHECK(refers_to(inline_data{strong}, &strong, 4));
  std::vector<std::uint16_t> numbers(5);
  CHECK(refers_to(inline_data{numbers}, numbers.data(), 10));
  const std::string text = "text";
  CHECK(refers_to(inline_data{text}, text.data(), 4));
  const std::string_view view{text.data(), 2};
  CHECK(refers_to(inline_data{view}, text.data(), 2));
  const std::array<message_header, 3> headers{};
  CHECK(refers_to(inline_data{headers}, headers.data(), 24));
  CHECK(refers_to(inline_data{std::span{headers}.subspan(1)}, &headers[1], 16));
  CHECK(refers_to(inline_data{std::as_bytes(std::span{headers})}, headers.data(), 24));
  const int plain[4] = {};
  CHECK(refers_to(inline_data{plain}, plain, 16));
  const inline_data once{header};
  const inline_data twice{once};
  CHECK(refers_to(twice, &header, 8));
  // The temporary lives as long as the expression that posts it.
  CHECK(inline_data{remote_buffer<>{}.encode()}.bytes().size() == 24);
}

TEST_CASE("Inline data that no device takes keeps its size, and is not cut to one that fits") {
  const std::byte start{};
  constexpr std::size_t bits_31 = std::size_t{1} << 31;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, bits_31 - 1, bits_31, bits_31 + 8, 2 * bits_31 - 1,
        2 * bits_31, 2 * bits_31 + 8, 3 * bits_31 + 5, (std::size_t{1} << 62) + 17}) {
    CAPTURE(size);
    const inline_data data{std::span{&start, size}};
    CHECK(refers_to(data, &start, size));
    const ibv_sge element = data.native();
    CHECK(element.addr == reinterpret_cast<std::uintptr_t>(&start));
    if (size < bits_31) {
      CHECK(element.length == size);
      CHECK(element.lkey == 0);
    } else {
      CHECK(element.length >= bits_31);
    }
    // As a list element of the extended calls.
    ibv_data_buf buffer{};
    std::memcpy(&buffer, &element, sizeof buffer);
    CHECK(buffer.addr == &start);
    CHECK((size < bits_31 ? buffer.length == size : buffer.length > 2 * bits_31));
  }
}

TEST_CASE("A list of inline data goes to the classic call as it stands", "[ibv_post_send]") {
  inline_bench bench;
  const std::array pieces = bench.pieces();
  detail::no_memory none;
  CHECK(static_cast<const void*>(detail::gather(std::span{pieces}).lower(none)) == pieces.data());
  const auto sent = bench.posted(send(std::span{pieces}).id(4).signaled());
  CHECK(sent.wr.opcode == IBV_WR_SEND);
  CHECK(sent.wr.wr_id == 4);
  CHECK(sent.wr.send_flags == (IBV_SEND_INLINE | IBV_SEND_SIGNALED));
  bench.check_pieces(sent);

  std::vector<inline_data> list(pieces.begin(), pieces.end());
  const auto written = bench.posted(write(bench.remote, std::span{list}));
  CHECK(written.wr.opcode == IBV_WR_RDMA_WRITE);
  CHECK(written.wr.wr.rdma.remote_addr == 0x7000);
  CHECK(written.wr.send_flags == IBV_SEND_INLINE);
  bench.check_pieces(written);

  bench.check_pieces(
      bench.posted(send_with_immediate(immediate{1}, std::span<const inline_data>{list})));
  bench.check_pieces(
      bench.posted(send_with_invalidate(rkey{1}, std::span<const inline_data>{list})));
  CHECK(bench.posted(send(std::span{list}.first(0))).wr.num_sge == 0);
}

TEST_CASE("The pieces of inline data can be named one by one", "[ibv_post_send]") {
  inline_bench bench;
  const auto sent = bench.posted(
      send(inline_data{bench.header}, inline_data{bench.text}, inline_data{bench.numbers}));
  CHECK(sent.wr.send_flags == IBV_SEND_INLINE);
  bench.check_pieces(sent);
}

TEST_CASE("A list of inline data goes to the extended call as it stands",
          "[ibv_wr_set_inline_data_list]") {
  inline_bench bench;
  const std::array pieces = bench.pieces();
  const auto sent = bench.built(send(std::span{pieces}).id(4).signaled());
  CHECK(sent.opcode == IBV_WR_SEND);
  CHECK(sent.id == 4);
  CHECK(sent.flags == (IBV_SEND_INLINE | IBV_SEND_SIGNALED));
  CHECK(sent.data_call == "inline_list");
  CHECK(sent.inline_bytes == bench.bytes());

  const auto written = bench.built(write(bench.remote, std::span{pieces}.first(2)));
  CHECK(written.data_call == "inline_list");
  CHECK(written.inline_bytes == bench.bytes().substr(0, 13));
  CHECK(bench.built(send(std::span{pieces}.first(0))).inline_bytes.empty());
}

TEST_CASE("A list of inline data is as long as it is", "[ibv_post_send]") {
  inline_bench bench;
  const std::vector<inline_data> list(40, inline_data{bench.header.kind});
  CHECK(bench.built(send(std::span{list})).inline_bytes.size() == 160);
  // The fake takes four elements; a real device, as many as it said.
  CHECK(bench.posted(send(std::span{list}.first(4))).inline_bytes.size() == 16);
}
