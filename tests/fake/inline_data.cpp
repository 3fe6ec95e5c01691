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

/// A header that a user's program puts before its messages.
struct message_header {
  std::array<char, 5> kind;
  std::array<char, 4> size;
};

struct inline_bench : test_bench {
  static constexpr send_operations operations =
      basic_operations(transport::rc) | send_operation::send_with_invalidate;
  queue_pair<transport::rc> pair =
      ready<transport::rc>({.max_inline_data = 64, .send_operations = operations});
  remote_buffer<> remote{adopt, 0x7000, 64, rkey{0x99}};
  message_header header{{'k', 'i', 'n', 'd', ' '}, {'s', 'i', 'z', 'e'}};
  std::string text = "hello";
  std::vector<std::uint16_t> numbers{0x6161, 0x6262};

  [[nodiscard]] std::array<inline_data, 3> pieces() const {
    return {inline_data{header}, inline_data{text}, inline_data{numbers}};
  }
  /// The data that these requests send, through both engines.
  template <class... Requests>
  [[nodiscard]] fake::log_lines sent(const Requests&... requests) {
    return machine.lines_of<fake::called::post_send, fake::called::wr_complete>([&] {
      (pair.post(requests).check(), ...);
      (pair.extended<operations>().post(requests).check(), ...);
    });
  }
};

bool refers_to(const inline_data& data, const void* begin, std::size_t size) {
  return data.bytes().data() == begin && data.bytes().size() == size;
}

}  // namespace

TEST_CASE("inline_data is constructible from an object, a container, an array or a span") {
  const message_header header{};
  CHECK(refers_to(inline_data{header}, &header, 9));
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
  CHECK(refers_to(inline_data{headers}, headers.data(), 27));
  CHECK(refers_to(inline_data{std::span{headers}.subspan(1)}, &headers[1], 18));
  CHECK(refers_to(inline_data{std::as_bytes(std::span{headers})}, headers.data(), 27));
  const int plain[4] = {};
  CHECK(refers_to(inline_data{plain}, plain, 16));
  const inline_data once{header};
  const inline_data twice{once};
  CHECK(refers_to(twice, &header, 9));
  // The temporary lives as long as the expression that posts it.
  CHECK(inline_data{remote_buffer<>{}.encode()}.bytes().size() == 24);
}

TEST_CASE("Inline data beyond every device's limit is passed as too large, not truncated") {
  const std::byte start{};
  constexpr std::size_t beyond_every_device = std::size_t{1} << 24;
  constexpr std::size_t gibibytes_4 = std::size_t{1} << 32;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, beyond_every_device - 1, beyond_every_device,
        beyond_every_device + 8, gibibytes_4 / 2, gibibytes_4 - 1, gibibytes_4, gibibytes_4 + 8,
        (std::size_t{1} << 55) + 17}) {
    CAPTURE(size);
    const inline_data data{std::span{&start, size}};
    CHECK(refers_to(data, &start, size));
    const ibv_sge element = data.native();
    CHECK(element.addr == reinterpret_cast<std::uintptr_t>(&start));
    if (size < beyond_every_device) {
      CHECK(element.length == size);
      CHECK(element.lkey == 0);
    } else {
      CHECK(element.length >= beyond_every_device);
      // The largest number of elements adds up to a positive number of 32 bits.
      CHECK(element.length < (1U << 31) / 63);
    }
    // The same holds for a list element of the extended calls.
    ibv_data_buf buffer{};
    std::memcpy(&buffer, &element, sizeof buffer);
    CHECK(buffer.addr == &start);
    CHECK((size < beyond_every_device ? buffer.length == size : buffer.length > gibibytes_4));
  }
}

TEST_CASE("A list of inline data is passed to the calls uncopied, piece by piece",
          "[ibv_post_send][ibv_wr_set_inline_data_list]") {
  inline_bench bench;
  const std::array pieces = bench.pieces();
  detail::no_memory none;
  CHECK(static_cast<const void*>(detail::gather(std::span{pieces}).lower(none)) == pieces.data());
  std::vector<inline_data> list(pieces.begin(), pieces.end());
  const std::span<const inline_data> constant{list};
  CHECK_THAT(
      bench.sent(send(std::span{pieces}).id(4).signaled(), write(bench.remote, std::span{list}),
                 send_with_immediate(immediate{1}, constant),
                 send_with_invalidate(rkey{1}, constant), send(constant.first(0)),
                 send(pieces[0], pieces[1], pieces[2])),
      is_log(R"(
    ibv_post_send qp0: SEND wr_id=4 flags=SIGNALED|INLINE "kind size" "hello" "aabb"
    ibv_post_send qp0: RDMA_WRITE flags=INLINE remote_addr=0x7000 rkey=0x99
      "kind size" "hello" "aabb"
    ibv_post_send qp0: SEND_WITH_IMM flags=INLINE imm_data=0x1 "kind size" "hello" "aabb"
    ibv_post_send qp0: SEND_WITH_INV flags=INLINE invalidate_rkey=0x1 "kind size" "hello" "aabb"
    ibv_post_send qp0: SEND flags=INLINE
    ibv_post_send qp0: SEND flags=INLINE "kind size" "hello" "aabb"
    ibv_wr_complete qp0: SEND wr_id=4 flags=SIGNALED|INLINE inline_list "kind sizehelloaabb"
    ibv_wr_complete qp0: RDMA_WRITE flags=INLINE remote_addr=0x7000 rkey=0x99
      inline_list "kind sizehelloaabb"
    ibv_wr_complete qp0: SEND_WITH_IMM flags=INLINE imm_data=0x1 inline_list "kind sizehelloaabb"
    ibv_wr_complete qp0: SEND_WITH_INV flags=INLINE invalidate_rkey=0x1
      inline_list "kind sizehelloaabb"
    ibv_wr_complete qp0: SEND flags=INLINE inline_list ""
    ibv_wr_complete qp0: SEND flags=INLINE inline_list "kind sizehelloaabb")"));

  // The classic call copies nothing before the provider does.
  bench.pair.post(send(std::span{pieces})).check();
  const auto request = bench.machine.calls<fake::called::post_send>().back().requests.at(0);
  REQUIRE(request.elements.size() == 3);
  const std::array<const void*, 3> places{&bench.header, bench.text.data(), bench.numbers.data()};
  for (std::size_t index = 0; index < places.size(); ++index)
    CHECK(request.elements[index].addr == reinterpret_cast<std::uintptr_t>(places[index]));
}

TEST_CASE("A list of inline data may have any length", "[ibv_post_send]") {
  inline_bench bench;
  const std::vector<inline_data> list(40, inline_data{bench.numbers});
  bench.pair.extended().post(send(std::span{list})).check();
  std::string bytes;
  for (const inline_data& each : list) bytes += each.bytes().empty() ? "" : "aabb";
  CHECK(bench.machine.line() ==
        "ibv_wr_complete qp0: SEND flags=INLINE inline_list \"" + bytes + "\"");
  // The fake takes four elements; a real device takes its reported maximum.
  bench.pair.post(send(std::span{list}.first(4))).check();
  CHECK(bench.machine.line() ==
        "ibv_post_send qp0: SEND flags=INLINE \"aabb\" \"aabb\" \"aabb\" \"aabb\"");
}
