// SPDX-License-Identifier: MIT
// Both sides of a stream against each other, in every order of events and in random ones, and
// against a hostile peer.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <adverb/remote/detail/stream_offer.hpp>
#include <adverb/remote/detail/stream_state.hpp>
#include <support/catch.hpp>
#include <support/sanitized.hpp>

#include "every_state.hpp"

namespace {

using adverb::detail::stream_limits;
using adverb::detail::stream_message;
using adverb::detail::stream_notice;
using adverb::detail::stream_offer;
using adverb::detail::stream_sizes;
using adverb::detail::stream_state;
using adverb::detail::stream_target;
using adverb::detail::stream_transfer;
using adverb::detail::stream_violation;

constexpr std::uint32_t key = 7;

[[nodiscard]] stream_offer offer_of(const stream_sizes& sizes) {
  return {.receives = sizes.receives,
          .list = {.length = stream_limits::list_size},
          .buffer = {.key = key, .length = sizes.receive_buffer / 2}};
}

struct packet {
  std::uint32_t message = 0;
  std::uint32_t written = 0;
};

/// One side, its memory, its send queue, and the network to the other side. Addresses are offsets
/// in the memory. Bytes are numbered from 1; 0 is no byte.
struct end {
  end(const stream_sizes& of, std::uint32_t bytes, bool waits)
      : sizes{of},
        must_wait{waits},
        state{of},
        memory(of.receive_buffer),
        send_buffer(of.send_buffer),
        to_write{bytes} {
    state.connect(offer_of(of), waits);
  }

  void post(const end& peer, std::uint32_t message, std::uint32_t length, bool is_signaled,
            const stream_transfer* from = nullptr) {
    const std::uint32_t requests = length != 0 ? sizes.requests_of_write : 1;
    // A send window with this many requests does the same.
    unsignaled += requests;
    is_signaled = is_signaled || unsignaled >= sizes.requests / 4;
    if (is_signaled) unsignaled = 0;
    posted.push_back({.requests = requests, .is_signaled = is_signaled});
    if (from != nullptr && !from->is_inline) {
      posted.back().source = from->source;
      posted.back().bytes = length;
    }
    outstanding += requests;
    network.push_back({message, length});
    if (must_wait || outstanding > sizes.requests || network.size() > peer.sizes.receives)
      is_wrong = true;
  }
  /// Writes data. Returns false if it has to wait.
  [[nodiscard]] bool write(end& peer, std::uint32_t most) {
    const stream_transfer made = state.write(std::min(most, to_write - written));
    const std::uint32_t length = made.target.length;
    if (length == 0) return false;
    if (made.target.key != key || made.target.address + length > peer.memory.size()) {
      is_wrong = true;
      return true;
    }
    // The device may write at once, and reads the send buffer until the request has completed.
    for (std::uint32_t each = 0; each < length; ++each) {
      std::uint32_t& at = peer.memory[made.target.address + each];
      if (at != 0) is_wrong = true;
      at = ++written;
    }
    for (std::uint32_t each = 0; !made.is_inline && each < length; ++each)
      if (std::exchange(send_buffer.at(made.source + each), 1) != 0) is_wrong = true;
    post(peer, made.message(), length, made.is_signaled, &made);
    return true;
  }
  /// Posts a notice. Returns false if none is due, or if it has to wait.
  [[nodiscard]] bool notify(end& peer) {
    const auto due = state.notice();
    if (!due) return false;
    if (due->freed) {
      stream_target& entry = peer.list.at(due->freed->entry);
      if (entry.length != 0) is_wrong = true;
      entry = {.address = due->freed->offset, .key = key, .length = sizes.receive_buffer / 2};
    }
    post(peer, due->message, due->freed ? stream_target::encoded_size : 0, true);
    ++notices;
    return true;
  }
  /// The first packet of the peer arrives.
  void arrive(end& peer) {
    const packet first = peer.network.front();
    peer.network.erase(peer.network.begin());
    ++peer.acknowledged;
    must_wait = false;
    stream_target& entry = list.at(state.entry());
    const std::uint32_t buffers = state.buffers();
    if (state.arrive(first.message, first.written, entry) != stream_violation::none)
      is_wrong = true;
    if (state.buffers() > buffers) entry = {};
  }
  /// Returns true if a signaled request has been acknowledged.
  [[nodiscard]] bool can_complete() const {
    return std::any_of(posted.begin(), posted.begin() + acknowledged,
                       [](const auto& each) { return each.is_signaled; });
  }
  void complete() {
    bool is_signaled = false;
    while (!is_signaled) {
      const posted_message& first = posted.front();
      is_signaled = first.is_signaled;
      outstanding -= first.requests;
      std::fill_n(send_buffer.begin() + first.source, first.bytes, 0);
      posted.erase(posted.begin());
      --acknowledged;
    }
    state.completed(outstanding);
  }
  void take(std::uint32_t most) {
    std::uint32_t size = std::min(most, state.contiguous());
    for (std::uint32_t at = state.read_offset(); size != 0; --size, ++at) {
      if (memory[at] != ++read) is_wrong = true;
      memory[at] = 0;
      state.consume(1);
    }
  }

  [[nodiscard]] std::string name() const {
    std::string name;
    const auto add = [&](std::uint64_t number) {
      name.append(reinterpret_cast<const char*>(&number), sizeof number);
    };
    add(network.size());
    for (const packet& each : network) add(each.message);
    add(posted.size());
    for (const auto& each : posted) add(each.requests * 2 + (each.is_signaled ? 1 : 0));
    for (const std::uint64_t each :
         {std::uint64_t{acknowledged}, std::uint64_t{written}, std::uint64_t{read},
          std::uint64_t{notices}, std::uint64_t{unsignaled}, std::uint64_t{state.readable()},
          std::uint64_t{state.buffers()}, std::uint64_t{state.entry()}, std::uint64_t{must_wait},
          std::uint64_t{state.is_shut_down()}, std::uint64_t{state.has_peer_shut_down()},
          std::uint64_t{state.owes_notice()}})
      add(each);
    for (const stream_target& each : list) add(each.length);
    // The writes that are possible now.
    stream_state rest = state;
    std::uint64_t writes = 0;
    while (rest.write(1).target.length != 0) ++writes;
    add(writes);
    // The notice after the one that is due now.
    rest = state;
    for (int each = 0; each != 3; ++each) add(rest.notice() ? rest.owes_notice() : 2);
    return name;
  }

  struct posted_message {
    std::uint32_t requests = 0;
    bool is_signaled = false;
    /// The bytes of the send buffer that it uses.
    std::uint32_t source = 0;
    std::uint32_t bytes = 0;
  };

  stream_sizes sizes;
  /// The first message must be that of the peer.
  bool must_wait;
  stream_state state;
  std::vector<std::uint32_t> memory;
  /// 1 for each byte in use.
  std::vector<char> send_buffer;
  std::array<stream_target, stream_limits::list_size> list{};
  std::vector<packet> network;
  std::vector<posted_message> posted;
  std::uint32_t acknowledged = 0;
  std::uint32_t outstanding = 0;
  std::uint32_t unsignaled = 0;
  std::uint32_t notices = 0;
  std::uint32_t to_write;
  std::uint32_t written = 0;
  std::uint32_t read = 0;
  bool is_wrong = false;
};

struct two_ends {
  std::array<end, 2> ends;

  [[nodiscard]] std::string name() const { return ends[0].name() + ends[1].name(); }
  [[nodiscard]] bool is_wrong() const { return ends[0].is_wrong || ends[1].is_wrong; }
  /// Returns true if both have everything, and the end of the other.
  [[nodiscard]] bool is_done() const {
    const auto has_all = [](const end& here, const end& peer) {
      return here.read == peer.to_write && here.state.has_peer_shut_down() &&
             here.state.has_finished();
    };
    return has_all(ends[0], ends[1]) && has_all(ends[1], ends[0]);
  }
};

struct exploration {
  std::size_t states = 0;
  std::size_t wrong = 0;
  std::size_t stuck = 0;
  std::size_t done = 0;

  void explore(const two_ends& start) {
    states = models::visit_every_state(
        start, &two_ends::name,
        [this](const two_ends& at, const auto& add) { go_on_from(at, add); });
  }

 private:
  template <class Add>
  void go_on_from(const two_ends& at, const Add& add) {
    if (at.is_wrong()) {
      ++wrong;
      return;
    }
    bool goes_on = false;
    two_ends next = at;
    // An action that cannot be taken changes nothing.
    const auto then = [&](const auto& action) {
      if (!action()) return;
      goes_on = true;
      add(next);
      next = at;
    };
    for (const std::size_t which : {0U, 1U}) {
      const end& here = at.ends[which];
      const std::size_t other = 1 - which;
      if (here.written != here.to_write)
        then([&] { return next.ends[which].write(next.ends[other], 100); });
      else if (!here.state.is_shut_down())
        then([&] {
          next.ends[which].state.shut_down();
          return true;
        });
      then([&] { return next.ends[which].notify(next.ends[other]); });
      if (!here.network.empty())
        then([&] {
          next.ends[other].arrive(next.ends[which]);
          return true;
        });
      if (here.can_complete())
        then([&] {
          next.ends[which].complete();
          return true;
        });
      if (here.state.readable() != 0)
        then([&] {
          next.ends[which].take(1);
          return true;
        });
    }
    if (goes_on) return;
    if (at.is_done())
      ++done;
    else
      ++stuck;
  }
};

/// A side that is connected to a hostile peer, and has sent as many messages of one byte.
[[nodiscard]] stream_state attacked(std::uint32_t sent = 0) {
  const stream_sizes sizes{
      .requests = 32, .send_buffer = 64, .receive_buffer = 64, .receives = 16, .max_inline = 64};
  stream_state state{sizes};
  state.connect(offer_of(sizes), false);
  for (; sent != 0; --sent) static_cast<void>(state.write(1));
  return state;
}

[[nodiscard]] std::uint32_t data(std::uint32_t length) {
  return stream_message::encode(stream_message::kind::data, length);
}
[[nodiscard]] std::uint32_t credits(std::uint32_t number) {
  return stream_message::encode(stream_message::kind::credits, number);
}
[[nodiscard]] std::uint32_t control(std::uint32_t which) {
  return stream_message::encode(stream_message::kind::control, which);
}

constexpr std::uint32_t name_size = stream_target::encoded_size;

}  // namespace

TEST_CASE("Every byte of a stream arrives once, in any order of events, and no side gets stuck") {
  struct size {
    std::uint32_t receive_buffer;
    std::uint32_t send_buffer;
    std::uint32_t requests_of_write;
    std::array<std::uint32_t, 2> bytes;
    std::size_t states;
  };
  for (const size each :
       {size{2, 1, 1, {4, 0}, 10'000}, size{4, 3, 1, {5, 0}, 17'000}, size{2, 2, 1, {2, 1}, 56'000},
        size{4, 2, 2, {3, 0}, 3'700}, size{2, 1, 2, {2, 1}, 33'000}}) {
    CAPTURE(each.receive_buffer, each.send_buffer, each.requests_of_write);
    // The sanitizers find nothing in the larger ones that they do not find in the others.
    if (test_support::is_sanitized && each.states > 20'000) continue;
    const stream_sizes sizes{.requests = 8,
                             .requests_of_write = each.requests_of_write,
                             .send_buffer = each.send_buffer,
                             .receive_buffer = each.receive_buffer,
                             .receives = 8};
    exploration every;
    every.explore({{end{sizes, each.bytes[0], false},
                    end{sizes, each.bytes[1], each.requests_of_write == 2}}});
    CHECK(every.wrong == 0);
    CHECK(every.stuck == 0);
    CHECK(every.done != 0);
    CHECK(every.states >= each.states);
  }
}

TEST_CASE("Streams of random sizes carry every byte") {
  const std::uint32_t streams = test_support::is_sanitized ? 12 : 60;
  for (std::uint32_t seed = 0; seed < streams; ++seed) {
    CAPTURE(seed);
    std::mt19937 random{seed};
    const auto below = [&](std::uint32_t limit) {
      return static_cast<std::uint32_t>(random() % limit);
    };
    const bool is_iwarp = below(3) == 0;
    const auto any_sizes = [&] {
      const std::uint32_t send_buffer = 1 + below(40);
      return stream_sizes{.requests = 16 + below(16),
                          .requests_of_write = is_iwarp ? 2U : 1U,
                          .send_buffer = send_buffer,
                          .receive_buffer = 2 * (1 + below(30)),
                          .receives = static_cast<std::uint16_t>(8 + below(20)),
                          .max_inline = below(3) == 0 ? below(8) : 0};
    };
    const std::array sizes{any_sizes(), any_sizes()};
    two_ends both{{end{sizes[0], 90'000, false}, end{sizes[1], below(2) * 90'000, is_iwarp}}};
    both.ends[0].state.connect(offer_of(sizes[1]), false);
    both.ends[1].state.connect(offer_of(sizes[0]), is_iwarp);
    std::uint64_t steps = 0;
    for (; steps < 5'000'000 && !both.is_done() && !both.is_wrong(); ++steps) {
      const std::uint32_t which = below(2);
      end& here = both.ends[which];
      end& peer = both.ends[1 - which];
      switch (below(5)) {
        case 0:
          if (here.written != here.to_write)
            static_cast<void>(here.write(peer, 1 + below(20)));
          else
            here.state.shut_down();
          break;
        case 1: static_cast<void>(here.notify(peer)); break;
        case 2:
          if (!peer.network.empty()) here.arrive(peer);
          break;
        case 3:
          if (here.can_complete()) here.complete();
          break;
        default: here.take(1 + below(20));
      }
    }
    CHECK_FALSE(both.is_wrong());
    CHECK(both.is_done());
  }
}

TEST_CASE("A message of a stream has its kind in the highest 3 bits") {
  STATIC_REQUIRE(stream_message::encode(stream_message::kind::data, 0x1fffffff) == 0x1fffffff);
  STATIC_REQUIRE(stream_message::encode(stream_message::kind::credits, 384) == 0x80000180);
  STATIC_REQUIRE(stream_message::encode(stream_message::control::shutdown) == 0xe0000002);
}

TEST_CASE("A message that breaks the protocol of streams is refused") {
  const stream_target half{.address = 32, .key = key, .length = 32};
  const auto refuses = [&](std::uint32_t message, std::uint32_t written, stream_violation why,
                           stream_target named = stream_target{}) {
    CAPTURE(message, written);
    CHECK(attacked().arrive(message, written, named) == why);
  };
  refuses(data(33), 33, stream_violation::too_many_bytes);
  refuses(data(8), 9, stream_violation::wrong_length);
  refuses(data(0), 0, stream_violation::wrong_length);
  for (const std::uint32_t kind : {1U, 2U, 3U, 5U, 6U})
    refuses(kind << 29U, 0, stream_violation::unknown_message);
  refuses(control(3), 0, stream_violation::unknown_control);
  refuses(control(2), 4, stream_violation::wrong_length);
  refuses(credits(15), 0, stream_violation::wrong_credits);
  refuses(credits(17), 0, stream_violation::wrong_credits);
  refuses(credits(16), 15, stream_violation::wrong_length);
  stream_target long_half = half;
  long_half.length = 33;
  refuses(credits(16), name_size, stream_violation::wrong_buffer, long_half);
  refuses(credits(16), name_size, stream_violation::wrong_buffer);
  stream_target wrapped = half;
  wrapped.address = ~std::uint64_t{8};
  refuses(credits(16), name_size, stream_violation::wrong_buffer, wrapped);
  refuses(credits(16), name_size, stream_violation::none, half);
}

TEST_CASE("Messages of a stream that follow each other wrongly are refused") {
  const stream_target half{.address = 32, .key = key, .length = 32};
  SECTION("more messages than credits") {
    stream_state state = attacked();
    for (std::uint32_t each = 0; each < 16; ++each)
      REQUIRE(state.arrive(data(1), 1, {}) == stream_violation::none);
    CHECK(state.arrive(data(1), 1, {}) == stream_violation::too_many_messages);
  }
  SECTION("a third buffer") {
    stream_state state = attacked();
    REQUIRE(state.arrive(credits(16), name_size, half) == stream_violation::none);
    CHECK(state.arrive(credits(16), name_size, half) == stream_violation::early_buffer);
  }
  SECTION("credits that go back, and for messages that were not sent") {
    stream_state state = attacked(5);
    REQUIRE(state.arrive(credits(19), 0, {}) == stream_violation::none);
    stream_state other = state;
    CHECK(state.arrive(credits(18), 0, {}) == stream_violation::wrong_credits);
    CHECK(other.arrive(credits(22), 0, {}) == stream_violation::wrong_credits);
  }
  SECTION("a second disconnect") {
    stream_state state = attacked();
    REQUIRE(state.arrive(control(0), 0, {}) == stream_violation::none);
    CHECK(state.arrive(control(0), 0, {}) == stream_violation::after_disconnect);
  }
  SECTION("data behind a disconnect") {
    stream_state state = attacked();
    REQUIRE(state.arrive(control(0), 0, {}) == stream_violation::none);
    CHECK(state.arrive(data(1), 1, {}) == stream_violation::after_disconnect);
  }
  SECTION("data and a second shutdown behind a shutdown") {
    stream_state state = attacked();
    REQUIRE(state.arrive(control(2), 0, {}) == stream_violation::none);
    stream_state other = state;
    CHECK(state.arrive(data(1), 1, {}) == stream_violation::after_shutdown);
    CHECK(other.arrive(control(2), 0, {}) == stream_violation::after_shutdown);
  }
}

TEST_CASE("A keepalive of a stream changes nothing, and credits may follow a disconnect") {
  stream_state state = attacked(3);
  CHECK(state.arrive(control(1), 0, {}) == stream_violation::none);
  CHECK_FALSE(state.has_peer_shut_down());
  CHECK(state.arrive(control(0), 0, {}) == stream_violation::none);
  CHECK(state.arrive(credits(17), 0, {}) == stream_violation::none);
}

TEST_CASE("A side of a stream leaves receives of the peer to messages that are not data") {
  stream_state state = attacked(40);
  // 16 receives, of which 4 are left.
  CHECK(state.write(1).target.length == 0);
  REQUIRE(state.arrive(credits(16 + 12), 0, {}) == stream_violation::none);
  CHECK(state.write(1).target.length == 1);
}

TEST_CASE("Credits of a stream go through all numbers of 16 bits") {
  stream_state state = attacked();
  for (std::uint32_t each = 0; each < 70'000; ++each) {
    REQUIRE(state.arrive(data(1), 1, {}) == stream_violation::none);
    state.consume(1);
    while (state.owes_notice()) {
      static_cast<void>(state.notice());
      state.completed(0);
    }
  }
}

TEST_CASE("A side of a stream has at most 4 messages in progress that are not data") {
  stream_state state = attacked();
  std::uint32_t notices = 0;
  for (std::uint32_t each = 0; each < 400; ++each) {
    if (state.arrive(data(1), 1, {}) != stream_violation::none) break;
    state.consume(1);
    if (state.notice()) ++notices;
  }
  CHECK(notices == 4);
  CHECK(state.owes_notice());
  state.completed(3);
  CHECK(state.notice().has_value());
}

TEST_CASE("A write of two requests is over when both have completed") {
  stream_state state{{.requests = 16,
                      .requests_of_write = 2,
                      .send_buffer = 1,
                      .receive_buffer = 64,
                      .receives = 16}};
  state.connect(offer_of({.receive_buffer = 64, .receives = 16}), false);
  REQUIRE(state.write(1).target.length == 1);
  state.completed(1);
  CHECK(state.write(1).target.length == 0);
  CHECK_FALSE(state.has_delivered());
  state.completed(0);
  CHECK(state.has_delivered());
  CHECK(state.write(1).target.length == 1);
}

namespace {

/// Returns the message of the next notice; 0 if none is due.
[[nodiscard]] std::uint32_t next(stream_state& state) {
  return state.notice().value_or(stream_notice{}).message;
}

}  // namespace

TEST_CASE("A disconnect waits until the peer has everything before it") {
  stream_state state = attacked();
  REQUIRE(next(state) == credits(16));
  REQUIRE(state.write(1).target.length == 1);
  state.disconnect();
  CHECK(state.is_shut_down());
  CHECK(next(state) == control(2));
  CHECK(next(state) == 0);
  state.completed(1);
  CHECK(next(state) == 0);
  CHECK(state.owes_notice());
  CHECK_FALSE(state.has_finished());
  state.completed(0);
  CHECK(next(state) == control(0));
  CHECK(state.has_delivered());
  CHECK_FALSE(state.has_finished());
  state.completed(0);
  CHECK(state.has_finished());
}

TEST_CASE("A disconnect does not wait for a peer that is gone") {
  stream_state state = attacked();
  REQUIRE(next(state) == credits(16));
  SECTION("before it") {
    REQUIRE(state.arrive(control(0), 0, {}) == stream_violation::none);
    state.disconnect();
  }
  SECTION("behind the shutdown") {
    state.disconnect();
    CHECK(next(state) == control(2));
    CHECK(next(state) == 0);
    REQUIRE(state.arrive(control(0), 0, {}) == stream_violation::none);
  }
  CHECK(next(state) == control(0));
  CHECK_FALSE(state.owes_notice());
}

TEST_CASE("A disconnect follows the shutdown, whatever the peer has sent") {
  // Nothing, its shutdown, its disconnect.
  for (const std::optional<std::uint32_t> of_peer :
       {std::optional<std::uint32_t>{}, std::optional{2U}, std::optional{0U}}) {
    CAPTURE(of_peer.value_or(9));
    stream_state state = attacked();
    REQUIRE(next(state) == credits(16));
    if (of_peer) REQUIRE(state.arrive(control(*of_peer), 0, {}) == stream_violation::none);
    state.shut_down();
    state.shut_down();
    CHECK(next(state) == control(2));
    CHECK_FALSE(state.owes_notice());
    state.completed(0);
    state.disconnect();
    CHECK(next(state) == control(0));
    CHECK_FALSE(state.owes_notice());
    CHECK_FALSE(state.has_finished());
    state.completed(0);
    CHECK(state.has_finished());
  }
}

TEST_CASE("The offer of a stream is that of rsockets") {
  const stream_offer sent{.order = std::endian::little,
                          .receives = 0x0180,
                          .list = {.address = 0x0102030405060708, .key = 0x11121314, .length = 2},
                          .buffer = {.address = 0x2122232425262728, .key = 9, .length = 65536}};
  const auto bytes = sent.encode();
  const std::array<int, 24> front{1, 0, 1, 0x80, 0,    0,    0,    0,    1, 2, 3, 4,
                                  5, 6, 7, 8,    0x11, 0x12, 0x13, 0x14, 0, 0, 0, 2};
  CHECK(std::equal(front.begin(), front.end(), bytes.begin(), [](int number, std::byte each) {
    return static_cast<std::byte>(number) == each;
  }));
  std::error_code why;
  const auto read = stream_offer::decode(std::span<const std::byte>{bytes}, why);
  CHECK_FALSE(why);
  CHECK(read.order == sent.order);
  CHECK(read.receives == sent.receives);
  CHECK(read.list == sent.list);
  CHECK(read.buffer == sent.buffer);
}

TEST_CASE("Private data that offers no stream is refused") {
  const stream_offer right{.receives = 16,
                           .list = {.address = 0x1000, .key = 3, .length = 2},
                           .buffer = {.address = 0x2000, .key = 3, .length = 64}};
  const auto is_refused = [](std::span<const std::byte> bytes) {
    std::error_code why;
    static_cast<void>(stream_offer::decode(bytes, why));
    return why == std::errc::protocol_error;
  };
  const auto with = [&](const auto& change) {
    stream_offer wrong = right;
    change(wrong);
    return is_refused(wrong.encode());
  };
  CHECK_FALSE(is_refused(right.encode()));
  CHECK(with([](stream_offer& wrong) { wrong.receives = 7; }));
  CHECK(with([](stream_offer& wrong) { wrong.list.length = 0; }));
  CHECK(with([](stream_offer& wrong) { wrong.buffer.length = 0; }));
  CHECK(with([](stream_offer& wrong) { wrong.buffer.length = 1U << 29U; }));
  CHECK(with([](stream_offer& wrong) { wrong.buffer.address = ~std::uint64_t{62}; }));
  auto bytes = right.encode();
  CHECK(is_refused(std::span<const std::byte>{bytes}.first(39)));
  bytes[0] = std::byte{2};
  CHECK(is_refused(bytes));
  CHECK(is_refused({}));
}

TEST_CASE("A name of a buffer is in the byte order of its reader") {
  constexpr stream_target target{.address = 0x0102030405060708, .key = 0x11121314, .length = 5};
  for (const std::endian order : {std::endian::little, std::endian::big}) {
    const auto bytes = target.encode(order);
    CHECK(bytes[order == std::endian::big ? 0 : 7] == std::byte{1});
    CHECK(stream_target::decode(bytes, order) == target);
  }
}
