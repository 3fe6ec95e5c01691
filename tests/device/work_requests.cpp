// SPDX-License-Identifier: MIT
// Chains of mixed requests with one doorbell, lists as long as the device takes, and inline data up
// to the last byte, in both engines.
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "support.hpp"

using namespace adverb;

namespace {

constexpr std::size_t most_elements = 32;

/// The options of the pairs of a test: for both engines, with long lists.
loopback_options<transport::rc> long_lists() {
  loopback_options<transport::rc> options;
  options.pair.max_send_sge = most_elements;
  options.pair.max_recv_sge = most_elements;
  options.pair.send_operations = basic_operations(transport::rc);
  return options;
}

struct both_engines : loopback<transport::rc> {
  both_engines() : loopback{long_lists()} {}

  extended_sender<transport::rc> sender = near_pair.extended();

  [[nodiscard]] std::uint64_t& word_at(loopback_end& end, std::size_t offset) const {
    return *reinterpret_cast<std::uint64_t*>(end.bytes.data() + offset);
  }

  /// Elements of 3 bytes, each with another behind it that is left out.
  [[nodiscard]] std::vector<const_buffer> scattered(std::size_t count) const {
    std::vector<const_buffer> list;
    for (std::size_t index = 0; index < count; ++index)
      list.push_back(near_end.region.const_slice(index * 4, 3));
    return list;
  }
  [[nodiscard]] bool holds_gathered(std::size_t count) const {
    for (std::size_t index = 0; index < count * 3; ++index)
      if (far_end.bytes[index] != near_end.bytes[index / 3 * 4 + index % 3]) return false;
    return true;
  }
};

/// One of each request that Soft-RoCE has and that needs no window, as `post` takes them; what it
/// does to both sides is checked.
template <class Post>
void check_chain(both_engines& pair, const Post& post) {
  pair.near_end.fill(0, 64, 3);
  pair.far_end.fill(1024, 64, 9);
  pair.word_at(pair.far_end, 2048) = 40;
  pair.word_at(pair.far_end, 2056) = 50;
  const mutable_buffer local = pair.near_end.region.slice(0, 64);
  const auto far = pair.far_end.remote();
  const auto words =
      pair.far_end.remote<access_right::remote_atomic, std::uint64_t>().slice(2048 / 8, 2);
  for (std::uint64_t id = 10; id < 13; ++id)
    pair.far_pair.post(receive(pair.far_end.region.slice(id * 400, 100)).id(id)).check();

  const post_result result =
      post(send(local).id(1).signaled(),
           send_with_immediate(immediate{77}, pair.near_end.region.slice(0, 8)).id(2),
           write(far.slice(256, 64), local).id(3).signaled(),
           write_with_immediate(far.slice(384, 8), immediate{88}, pair.near_end.region.slice(0, 8))
               .id(4)
               .signaled(),
           read(far.slice(1024, 64), pair.near_end.region.slice(512, 64)).id(5).signaled(),
           fetch_and_add(words, 2, pair.near_end.region.slice(640, 8)).id(6),
           compare_and_swap(words.slice(1, 1), {.expected = 50, .desired = 60},
                            pair.near_end.region.slice(648, 8))
               .id(7)
               .fenced()
               .signaled(),
           write(far.slice(448, 4), inline_data{std::uint32_t{0x64636261}}).id(8).signaled());
  REQUIRE(result);
  CHECK(result.accepted() == 8);

  constexpr std::array<std::pair<std::uint64_t, completion_opcode>, 6> signaled{
      {{1, completion_opcode::send},
       {3, completion_opcode::write},
       {4, completion_opcode::write},
       {5, completion_opcode::read},
       {7, completion_opcode::compare_and_swap},
       {8, completion_opcode::write}}};
  for (const auto& [id, opcode] : signaled) {
    const completion done = next_success(pair.near_end.queue);
    CHECK(done.id() == id);
    CHECK(done.success().opcode() == opcode);
  }
  CHECK(next_success(pair.far_end.queue).success().receive().length() == 64);
  CHECK(next_success(pair.far_end.queue).success().receive().immediate() == immediate{77});
  CHECK(next_success(pair.far_end.queue).success().receive().immediate() == immediate{88});
  CHECK(pair.far_end.holds(4000, 64, 3));
  CHECK(pair.far_end.holds(4400, 8, 3));
  CHECK(pair.far_end.holds(256, 64, 3));
  CHECK(pair.far_end.holds(384, 8, 3));
  CHECK(std::memcmp(pair.far_end.bytes.data() + 448, "abcd", 4) == 0);
  CHECK(pair.near_end.holds(512, 64, 9));
  CHECK(pair.word_at(pair.near_end, 640) == 40);
  CHECK(pair.word_at(pair.near_end, 648) == 50);
  CHECK(pair.word_at(pair.far_end, 2048) == 42);
  CHECK(pair.word_at(pair.far_end, 2056) == 60);
}

/// Posts a list whose elements are named one by one.
template <std::size_t... Index>
post_result post_by_value(const queue_pair<transport::rc>& pair,
                          const std::vector<const_buffer>& list, std::index_sequence<Index...>) {
  return pair.post(send(list[Index]...).signaled());
}

}  // namespace

TEST_CASE("One post executes a chain of mixed requests", "[ibv_post_send]") {
  both_engines pair;
  check_chain(pair, [&](const auto&... requests) { return pair.near_pair.post(requests...); });
}

TEST_CASE("One batch of the extended calls executes a chain of mixed requests",
          "[ibv_wr_start][ibv_wr_complete]") {
  both_engines pair;
  check_chain(pair, [&](const auto&... requests) { return pair.sender.post(requests...); });
}

TEST_CASE("A message gathers as many elements as the device allows",
          "[ibv_post_send][ibv_post_recv]") {
  both_engines pair;
  const std::size_t room = pair.near_pair.query().max_send_sge();
  REQUIRE(room >= most_elements);
  pair.near_end.fill(0, 4 * room, 5);
  const std::vector<const_buffer> list = pair.scattered(room);
  pair.far_pair.post(receive(pair.far_end.region.slice(0, 4096))).check();
  pair.near_pair.post(send(std::span{list}).signaled()).check();
  next_success(pair.near_end.queue);
  CHECK(next_success(pair.far_end.queue).success().receive().length() == room * 3);
  CHECK(pair.holds_gathered(room));

  pair.far_end.fill(0, 4096, 0);
  pair.far_pair.post(receive(pair.far_end.region.slice(0, 4096))).check();
  post_by_value(pair.near_pair, list, std::make_index_sequence<most_elements>{}).check();
  next_success(pair.near_end.queue);
  CHECK(next_success(pair.far_end.queue).success().receive().length() == most_elements * 3);
  CHECK(pair.holds_gathered(most_elements));
}

TEST_CASE("A message scatters over as many buffers as the device allows", "[ibv_post_recv]") {
  both_engines pair;
  const std::size_t room = pair.far_pair.query().max_recv_sge();
  REQUIRE(room >= most_elements);
  std::vector<mutable_buffer> list;
  for (std::size_t index = 0; index < room; ++index)
    list.push_back(pair.far_end.region.slice(index * 4, 3));
  pair.near_end.fill(0, room * 3, 5);
  pair.far_pair.post(receive(std::span{list})).check();
  pair.near_pair.post(send(pair.near_end.region.slice(0, room * 3))).check();
  CHECK(next_success(pair.far_end.queue).success().receive().length() == room * 3);
  for (std::size_t index = 0; index < room * 3; ++index)
    CHECK(pair.far_end.bytes[index / 3 * 4 + index % 3] == pair.near_end.bytes[index]);
}

TEST_CASE("Inline data of max_inline_data bytes is sent, and one byte more is refused",
          "[ibv_post_send]") {
  both_engines pair;
  const std::size_t room = pair.near_pair.query().max_inline_data();
  REQUIRE(room >= 64);
  const std::string text(room + 1, 'i');
  const auto check = [&](const auto& whole, const auto& too_much) {
    pair.far_end.fill(0, room, 0);
    pair.far_pair.post(receive(pair.far_end.region.slice(0, 4096))).check();
    REQUIRE(whole());
    CHECK(next_success(pair.far_end.queue).success().receive().length() == room);
    CHECK(std::memcmp(pair.far_end.bytes.data(), text.data(), room) == 0);
    const post_result refused = too_much();
    CHECK(!refused);
    CHECK(refused.accepted() == 0);
    failure why;
    refused.check(why);
    CHECK(why.explanation().find("too much inline data") != std::string_view::npos);
  };
  const std::span all{text};
  const auto classic = [&](std::size_t size) {
    return pair.near_pair.post(send(inline_data{all.first(size)}));
  };
  check([&] { return classic(room); }, [&] { return classic(room + 1); });
  const auto extended = [&](std::size_t size) {
    return pair.sender.post(send(inline_data{all.first(size)}));
  };
  check([&] { return extended(room); }, [&] { return extended(room + 1); });
  // The same in three pieces.
  const auto listed = [&](std::size_t size) {
    const std::array pieces{inline_data{all.first(1)}, inline_data{all.first(20)},
                            inline_data{all.first(size - 21)}};
    return pair.near_pair.post(send(std::span{pieces}));
  };
  check([&] { return listed(room); }, [&] { return listed(room + 1); });
}

TEST_CASE("Inline data of more than 32 bits in length is refused, not truncated",
          "[ibv_post_send]") {
  both_engines pair;
  const std::span<const std::byte> huge{pair.near_end.bytes.data(), (std::size_t{1} << 32) + 8};
  CHECK(!pair.near_pair.post(send(inline_data{huge})));
  CHECK(!pair.sender.post(send(inline_data{huge})));
  const std::array pieces{inline_data{huge}};
  CHECK(!pair.near_pair.post(send(std::span{pieces})));
}

TEST_CASE("Pieces of inline data with a sum of more than 32 bits are refused", "[ibv_post_send]") {
  both_engines pair;
  const std::span<const std::byte> half{pair.near_end.bytes.data(), std::size_t{1} << 31};
  CHECK(!pair.near_pair.post(send(inline_data{half}, inline_data{half})));
  CHECK(!pair.sender.post(send(inline_data{half}, inline_data{half})));
  const std::array pieces{inline_data{half}, inline_data{half}};
  CHECK(!pair.near_pair.post(send(std::span{pieces})));
  CHECK(!pair.sender.post(send(std::span{pieces})));
}

TEST_CASE("A list of inline data of different types arrives in one message", "[ibv_post_send]") {
  both_engines pair;
  struct {
    std::uint32_t kind = 0x64636261;
    std::uint32_t size = 0x68676665;
  } const header;
  const std::string body = " and body";
  const std::array pieces{inline_data{header}, inline_data{body}};
  pair.far_pair.post(receive(pair.far_end.region.slice(0, 4096))).check();
  pair.near_pair.post(send(std::span{pieces})).check();
  CHECK(next_success(pair.far_end.queue).success().receive().length() == 17);
  CHECK(std::memcmp(pair.far_end.bytes.data(), "abcdefgh and body", 17) == 0);

  pair.near_pair.post(write(pair.far_end.remote().slice(100, 17), std::span{pieces}).signaled())
      .check();
  next_success(pair.near_end.queue);
  CHECK(std::memcmp(pair.far_end.bytes.data() + 100, "abcdefgh and body", 17) == 0);
}
