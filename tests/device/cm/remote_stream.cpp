// SPDX-License-Identifier: MIT
// Streams of bytes between the memories of two peers.
#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <random>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <adverb/remote.hpp>
#include <support/catch.hpp>
#include <support/sanitized.hpp>

#include "cm/async_side.hpp"
#include "cm/child_process.hpp"
#include "cm/remote_ends.hpp"

using namespace async_test;
using adverb::detail::stream_limits;
using adverb::detail::stream_message;
using adverb::detail::stream_offer;
using adverb::detail::stream_target;

namespace {

constexpr stream_options patient{.send_buffer = 4096,
                                 .receive_buffer = 4096,
                                 .max_send_wr = 32,
                                 .receives = 32,
                                 .connect_timeout = std::chrono::seconds{30},
                                 .end_timeout = std::chrono::minutes{1}};

/// A loop with a stream that accepts and one that connects.
struct both_sides : side {
  template <class Accepting, class Connecting>
  void run_both(const Accepting& accepted, const Connecting& connected,
                const stream_options& options = patient) {
    loop.spawn([&, options]() -> async::task<> {
      const remote_stream stream = co_await remote_stream::accept(listener, options);
      co_await accepted(stream);
    });
    loop.spawn([&, options]() -> async::task<> {
      const remote_stream stream = co_await remote_stream::connect(loop, address(), options);
      co_await connected(stream);
    });
    run();
  }
};

/// Reads a byte, and returns its failure.
async::task<failure> failure_of_read(const remote_stream& from) {
  std::array<std::byte, 1> byte{};
  failure why;
  static_cast<void>(co_await from.read(byte).report_to(why));
  co_return why;
}

[[nodiscard]] bool mentions(const failure& why, std::string_view words) {
  return std::string_view{why.what()}.find(words) != std::string_view::npos;
}

}  // namespace

TEST_CASE("A stream carries every byte in both directions at once",
          "[ibv_post_send][ibv_post_recv]") {
  struct sizes {
    std::uint32_t send_buffer;
    std::uint32_t receive_buffer;
    std::uint32_t max_send_wr;
    std::uint32_t receives;
    std::uint32_t longest;
    std::uint64_t total;
  };
  std::uint32_t seed = 0;
  for (const sizes each :
       {sizes{4096, 4096, 32, 32, 20'000, 300'000}, sizes{1, 2, 16, 8, 5, 200},
        sizes{100, 34, 16, 8, 200, 10'000}, sizes{3000, 60'000, 17, 9, 10, 4'000},
        sizes{131072, 131072, 384, 384, 400'000, 3'000'000}}) {
    CAPTURE(each.send_buffer, each.receive_buffer, each.longest);
    both_sides both;
    stream_options options = patient;
    options.send_buffer = each.send_buffer;
    options.receive_buffer = each.receive_buffer;
    options.max_send_wr = each.max_send_wr;
    options.receives = each.receives;
    options.max_inline_data = seed % 2 == 0 ? 64 : 32;
    const std::uint64_t total = test_support::is_sanitized ? each.total / 4 : each.total;
    std::array<std::uint64_t, 2> read{};
    const auto use = [&](std::size_t which) {
      return [&, which](const remote_stream& stream) -> async::task<> {
        async::event has_written{both.loop};
        both.loop.spawn([&, first = ++seed]() -> async::task<> {
          co_await write_numbered(stream, total, each.longest, first);
          co_await stream.shutdown();
          has_written.set();
        });
        const unsigned of_reads = ++seed;
        read[which] = co_await read_numbered(stream, each.longest, of_reads);
        static_cast<void>(co_await has_written.wait());
        co_await stream.close();
      };
    };
    both.run_both(use(0), use(1), options);
    CHECK(read[0] == total);
    CHECK(read[1] == total);
  }
}

TEST_CASE("Reading a stream does not wait for its writes") {
  both_sides both;
  std::array<std::uint64_t, 2> read{};
  async::event may_read{both.loop};
  int writing = 2;
  const auto use = [&](std::size_t which) {
    return [&, which](const remote_stream& stream) -> async::task<> {
      async::event has_written{both.loop};
      both.loop.spawn([&]() -> async::task<> {
        co_await write_numbered(stream, 50'000, 50'000, 1);
        --writing;
        co_await stream.shutdown();
        has_written.set();
      });
      if (which == 0) {
        co_await async::sleep_for(both.loop, std::chrono::milliseconds{50});
        // Each write has filled the memory of both sides.
        CHECK(writing == 2);
        may_read.set();
      }
      static_cast<void>(co_await may_read.wait());
      read[which] = co_await read_numbered(stream, 500, 1);
      static_cast<void>(co_await has_written.wait());
      co_await stream.close();
    };
  };
  both.run_both(use(0), use(1));
  CHECK(read == std::array<std::uint64_t, 2>{50'000, 50'000});
}

TEST_CASE("A side of a stream that has shut down can read, and not write") {
  both_sides both;
  std::uint64_t read = 0;
  both.run_both(
      [&](const remote_stream& client) -> async::task<> {
        std::array<std::byte, 16> bytes{};
        const std::size_t size = co_await client.read(bytes);
        CHECK(size == 5);
        const std::size_t end = co_await client.read(bytes);
        CHECK(end == 0);
        co_await write_numbered(client, 10'000, 3000, 1);
        co_await client.close();
      },
      [&](const remote_stream& server) -> async::task<> {
        co_await server.write(std::array<std::byte, 5>{});
        co_await server.shutdown();
        failure why;
        co_await server.write(std::array<std::byte, 1>{}).report_to(why);
        CHECK(why.code() == std::errc::broken_pipe);
        CHECK(mentions(why, "this side has ended its writes"));
        read = co_await read_numbered(server, 1000, 1);
        co_await server.close();
      });
  CHECK(read == 10'000);
}

TEST_CASE("A stream sends again as often as any connection, because Soft-RoCE takes 7 as endless",
          "[ibv_query_qp]") {
  both_sides both;
  // TCP repeats what is lost under iWARP.
  const int expected = on_iwarp() ? 0 : 6;
  const auto check_and_close = [&](const remote_stream& stream) -> async::task<> {
    CHECK(stream.connection().queue_pair().query().retry_count() == expected);
    co_await stream.close();
  };
  both.run_both(check_and_close, check_and_close);
}

TEST_CASE("Bytes in front of a close are read after it") {
  both_sides both;
  both.run_both(
      [&](const remote_stream& client) -> async::task<> {
        co_await write_numbered(client, 3000, 3000, 1);
        co_await client.close();
      },
      [&](const remote_stream& server) -> async::task<> {
        std::error_code why;
        while (!why) {
          co_await async::sleep_for(both.loop, std::chrono::milliseconds{10});
          co_await server.write(std::array<std::byte, 1>{}).report_to(why);
        }
        CHECK(why == std::errc::connection_reset);
        CHECK(server.readable() == 3000);
        const std::uint64_t read = co_await read_numbered(server, 1000, 1);
        CHECK(read == 3000);
        co_await server.close();
      });
}

TEST_CASE("A close of a stream delivers the writes that wait") {
  both_sides both;
  std::uint64_t read = 0;
  both.run_both(
      [&](const remote_stream& client) -> async::task<> {
        std::vector<std::byte> bytes(40'000);
        for (std::size_t each = 0; each < bytes.size(); ++each) bytes[each] = byte_at(each);
        both.loop.spawn([&]() -> async::task<> { co_await client.write(bytes); });
        co_await client.close();
      },
      [&](const remote_stream& server) -> async::task<> {
        co_await async::sleep_for(both.loop, std::chrono::milliseconds{10});
        read = co_await read_numbered(server, 1000, 1);
        co_await server.close();
      });
  CHECK(read == 40'000);
}

TEST_CASE("A close of a stream fails with ETIMEDOUT if the peer does not read") {
  both_sides both;
  stream_options options = patient;
  options.end_timeout = std::chrono::milliseconds{300};
  failure why;
  async::event has_closed{both.loop};
  both.run_both(
      [&](const remote_stream& client) -> async::task<> {
        std::error_code lost;
        both.loop.spawn([&]() -> async::task<> {
          co_await client.write(std::vector<std::byte>(40'000)).report_to(lost);
        });
        co_await client.close().report_to(why);
        CHECK(lost == std::errc::timed_out);
        has_closed.set();
      },
      [&](const remote_stream& server) -> async::task<> {
        static_cast<void>(co_await has_closed.wait());
        std::error_code ignored;
        co_await server.close().report_to(ignored);
      },
      options);
  CHECK(why.code() == std::errc::timed_out);
}

TEST_CASE("A read of a stream fails if the peer destroys it without a close") {
  // The last bytes that the peer has posted may end with its queue pair, and arrive in most rounds.
  std::uint64_t count = 0;
  for (int round = 0; round < 20 && count != 100; ++round) {
    both_sides both;
    failure why;
    both.run_both(
        [&](const remote_stream& client) -> async::task<> {
          co_await write_numbered(client, 100, 100, 1);
          std::array<std::byte, 1> answer{};
          static_cast<void>(co_await client.read(answer));
        },
        [&](const remote_stream& server) -> async::task<> {
          std::array<std::byte, 60> bytes{};
          count = co_await server.read(bytes);
          co_await server.write(std::array<std::byte, 1>{});
          while (!why) count += co_await server.read(bytes).report_to(why);
        });
    CHECK(why.code() == std::errc::connection_reset);
  }
  CHECK(count == 100);
}

TEST_CASE("role: a stream that writes", "[.]") {
  async::event_loop loop;
  loop.spawn([&]() -> async::task<> {
    const remote_stream stream =
        co_await remote_stream::connect(loop, device_address(child_process::port()), patient);
    co_await write_numbered(stream, 20'000, 500, 1);
    child_process::say_and_stay();
  });
  loop.run();
}

TEST_CASE("A read of a stream fails if the process of the peer is killed") {
  side here;
  std::uint64_t read = 0;
  failure why;
  child_process peer{"role: a stream that writes", here.port()};
  here.loop.spawn([&]() -> async::task<> {
    const remote_stream stream = co_await remote_stream::accept(here.listener, patient);
    std::array<std::byte, 1000> bytes{};
    while (!why) {
      const std::size_t size = co_await stream.read(bytes).report_to(why);
      for (std::size_t each = 0; each < size; ++each)
        if (bytes[each] == byte_at(read + each) && each + 1 == size) read += size;
      if (read == 20'000) peer.kill();
    }
    std::error_code ignored;
    co_await stream.close().report_to(ignored);
  });
  here.run();
  CHECK(read == 20'000);
  CHECK(why.code() == std::errc::connection_reset);
}

TEST_CASE("A wait of a stream ends when it is cancelled, and at its deadline") {
  both_sides both;
  both.run_both(
      [&](const remote_stream& client) -> async::task<> {
        both.loop.spawn([&]() -> async::task<> {
          co_await async::sleep_for(both.loop, std::chrono::milliseconds{10});
          client.connection().cancel_waits();
        });
        const failure cancelled = co_await failure_of_read(client);
        CHECK(cancelled.code() == std::errc::operation_canceled);
        // The stream goes on.
        std::array<std::byte, 4> bytes{};
        co_await client.write(bytes);
        const std::size_t size = co_await client.read(bytes);
        CHECK(size == 4);
        client.connection().expires_after(std::chrono::milliseconds{30});
        const failure late = co_await failure_of_read(client);
        CHECK(late.code() == std::errc::timed_out);
      },
      [&](const remote_stream& server) -> async::task<> {
        std::array<std::byte, 4> bytes{};
        const std::size_t size = co_await server.read(bytes);
        CHECK(size == 4);
        co_await server.write(bytes);
        const failure lost = co_await failure_of_read(server);
        CHECK(lost.code() == std::errc::connection_reset);
      });
}

TEST_CASE("A stream without bytes is read and written at once") {
  both_sides both;
  both.run_both(
      [&](const remote_stream& client) -> async::task<> {
        const std::size_t none = co_await client.read(std::span<std::byte>{});
        CHECK(none == 0);
        co_await client.write({});
        co_await client.close();
      },
      [&](const remote_stream& server) -> async::task<> {
        const std::uint64_t read = co_await read_numbered(server, 10, 1);
        CHECK(read == 0);
        co_await server.close();
      });
}

TEST_CASE("A ring is refused on the connection of a stream") {
  side both;
  both.loop.spawn([&]() -> async::task<> {
    const remote_stream client = co_await remote_stream::accept(both.listener);
    failure why;
    CHECK_FALSE(remote_ring<record>::reader{client.connection(), {.slots = 4}, why});
    CHECK(why.code() == std::errc::invalid_argument);
    CHECK(why.explanation() == "the connection belongs to a remote_stream");
    co_await client.close();
  });
  both.loop.spawn([&]() -> async::task<> {
    const remote_stream server = co_await remote_stream::connect(both.loop, both.address());
    co_await server.close();
  });
  both.run();
}

TEST_CASE("The options of a stream are checked") {
  side here;
  const auto is_refused = [&](const auto& change, std::string_view sentence) {
    stream_options options = patient;
    change(options);
    failure why;
    here.loop.spawn([&]() -> async::task<> {
      const remote_stream none =
          co_await remote_stream::connect(here.loop, here.address(), options).report_to(why);
      CHECK_FALSE(none);
    });
    here.run();
    CHECK(why.code() == std::errc::invalid_argument);
    CHECK(mentions(why, sentence));
  };
  is_refused([](stream_options& wrong) { wrong.send_buffer = 0; }, "send_buffer is 0");
  is_refused([](stream_options& wrong) { wrong.receive_buffer = 3; }, "multiple of 2 below 2^30");
  is_refused([](stream_options& wrong) { wrong.receive_buffer = 1U << 30U; }, "below 2^30");
  is_refused([](stream_options& wrong) { wrong.max_send_wr = 15; }, "max_send_wr is below 16");
  is_refused([](stream_options& wrong) { wrong.receives = 7; }, "receives is not within 8");
  is_refused([](stream_options& wrong) { wrong.max_inline_data = 31; },
             "max_inline_data is below 32");
}

TEST_CASE("A peer that offers no stream is refused, on both sides", "[rdma_connect][rdma_accept]") {
  SECTION("by the side that accepts") {
    side here;
    failure why;
    failure rejected;
    here.loop.spawn([&]() -> async::task<> {
      const remote_stream none =
          co_await remote_stream::accept(here.listener, patient).report_to(why);
      CHECK_FALSE(none);
    });
    here.loop.spawn([&]() -> async::task<> {
      const async::connection none =
          co_await async::connect(here.loop, here.address(), small).report_to(rejected);
      CHECK_FALSE(none);
    });
    here.run();
    CHECK(why.code() == std::errc::protocol_error);
    CHECK(mentions(why, "the peer offers no stream: the private data is none of a stream"));
    CHECK(rejected.code() == rejected_by_program());
  }
  SECTION("by the side that connects") {
    side here;
    failure why;
    here.loop.spawn([&]() -> async::task<> {
      const async::connection client = co_await here.listener.accept(small);
      const async::message none = co_await client.next();
      CHECK_FALSE(none);
    });
    here.loop.spawn([&]() -> async::task<> {
      const remote_stream none =
          co_await remote_stream::connect(here.loop, here.address(), patient).report_to(why);
      CHECK_FALSE(none);
    });
    here.run();
    CHECK(why.code() == std::errc::protocol_error);
  }
}

namespace {

/// A peer that connects with the offer of a stream, and sends what it likes.
class hostile_peer {
 public:
  explicit hostile_peer(async::connection&& of, async::loop_memory& memory)
      : server_{std::move(of)}, memory_{&memory} {
    std::error_code none;
    offer_ = stream_offer::decode(server_.established()->private_data(), none);
  }
  [[nodiscard]] const stream_offer& offer() const { return offer_; }
  [[nodiscard]] const async::connection& connection() const { return server_; }

  /// Writes nothing with each of these messages, and blocks the loop until they have arrived: until
  /// a later write has changed the memory of the stream, which belongs to this process.
  void send_at_once(std::initializer_list<std::uint32_t> messages) const {
    const remote_buffer<std::byte, access_right::remote_write> nothing{
        adopt, offer_.buffer.address, 0, static_cast<rkey>(offer_.buffer.key)};
    std::size_t at = 64;
    for (const std::uint32_t each : messages) {
      std::memcpy(memory_->bytes().data() + at, &each, sizeof each);
      if (adverb::detail::is_iwarp(server_.protection_domain().context()))
        server_.post(adverb::send(memory_->slice(at, sizeof each))).check();
      else
        server_.post(write_with_immediate(nothing, static_cast<immediate>(each))).check();
      at += sizeof each;
    }
    constexpr std::size_t size = 40;
    const auto* const last = reinterpret_cast<const volatile std::byte*>(
        static_cast<std::uintptr_t>(offer_.buffer.address + size - 1));
    const std::byte before = *last;
    std::ranges::fill(memory_->bytes().first(size), ~before);
    const remote_buffer<std::byte, access_right::remote_write> behind{
        adopt, offer_.buffer.address, size, static_cast<rkey>(offer_.buffer.key)};
    server_.post(write(behind, memory_->slice(0, size))).check();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (*last == before) {
      expect(std::chrono::steady_clock::now() < end, "the messages arrive");
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
  }

  /// Writes, and sends the message.
  async::task<> send(std::uint32_t message, const stream_target& target,
                     std::span<const std::byte> bytes = {}) const {
    std::ranges::copy(bytes, memory_->bytes().begin());
    std::memcpy(memory_->bytes().data() + 64, &message, sizeof message);
    const remote_buffer<std::byte, access_right::remote_write> to{
        adopt, target.address, bytes.size(), static_cast<rkey>(target.key)};
    std::error_code ended;
    if (adverb::detail::is_iwarp(server_.protection_domain().context()))
      co_await server_
          .perform(write(to, memory_->slice(0, bytes.size())),
                   adverb::send(memory_->slice(64, sizeof message)))
          .report_to(ended);
    else
      co_await server_
          .perform(write_with_immediate(to, static_cast<immediate>(message),
                                        memory_->slice(0, bytes.size())))
          .report_to(ended);
  }

 private:
  async::connection server_;
  async::loop_memory* memory_;
  stream_offer offer_;
};

using hostile_act = std::function<async::task<>(const hostile_peer&)>;

/// Accepts a stream as a hostile peer, passes that to the attack, and receives until the end.
async::task<> accept_hostile(side& here, hostile_act attack) {
  async::connection_request request = co_await here.listener.next();
  async::loop_memory memory = here.loop.memory(
      request.context(), 256, access_right::local_write | access_right::remote_write);
  const auto exposed = memory.region().remote_writable();
  const auto key = static_cast<std::uint32_t>(exposed.key());
  async::connection_options hostile = small;
  hostile.receives = 64;
  hostile.connection.private_data = std::span<const std::byte>{
      stream_offer{.receives = 16,
                   .list = {.address = exposed.address() + 128, .key = key, .length = 2},
                   .buffer = {.address = exposed.address() + 160, .key = key, .length = 64}}
          .encode()};
  async::connection made = co_await request.accept(hostile);
  const hostile_peer peer{std::move(made), memory};
  std::error_code ended;
  static_cast<void>(co_await peer.connection().next().report_to(ended));
  co_await attack(peer);
  while (co_await peer.connection().next().report_to(ended)) {
  }
}

}  // namespace

TEST_CASE("A hostile peer of a stream is refused with a sentence", "[ibv_post_recv]") {
  struct attack {
    std::string_view sentence;
    hostile_act run;
  };
  constexpr auto data = stream_message::kind::data;
  constexpr auto credits = stream_message::kind::credits;
  static const std::array<std::byte, 33> bytes{};
  const auto name = [](std::uint32_t length) {
    return stream_target{.address = 0x1000, .key = 1, .length = length}.encode(std::endian::native);
  };
  const std::array attacks{
      attack{"more bytes than the buffer has room for",
             [](const hostile_peer& peer) -> async::task<> {
               for (int each = 0; each < 2; ++each)
                 co_await peer.send(stream_message::encode(data, 33), peer.offer().buffer, bytes);
             }},
      attack{"a message has an unknown kind",
             [](const hostile_peer& peer) { return peer.send(5U << 29U, peer.offer().list); }},
      attack{"a control message is unknown",
             [](const hostile_peer& peer) { return peer.send(0xe0000009, peer.offer().list); }},
      attack{"its credits went back",
             [](const hostile_peer& peer) {
               return peer.send(stream_message::encode(credits, 11), peer.offer().list);
             }},
      attack{"a buffer longer than the first",
             [&](const hostile_peer& peer) -> async::task<> {
               stream_target entry = peer.offer().list;
               entry.address += stream_target::encoded_size;
               const auto named = name(65);
               co_await peer.send(stream_message::encode(credits, 16), entry, named);
             }},
      attack{"a message follows its disconnect",
             [](const hostile_peer& peer) -> async::task<> {
               for (int each = 0; each < 2; ++each)
                 co_await peer.send(stream_message::encode(stream_message::control::disconnect),
                                    peer.offer().list);
             }},
  };
  for (const attack& each : attacks) {
    CAPTURE(each.sentence);
    side here;
    failure why;
    stream_options options = patient;
    options.receive_buffer = 64;
    here.loop.spawn([&]() -> async::task<> {
      const remote_stream server =
          co_await remote_stream::connect(here.loop, here.address(), options);
      std::vector<std::byte> written(1000);
      // A disconnect in front of the violation ends the write.
      for (int tries = 0; tries < 1000 && why.code() != std::errc::protocol_error; ++tries) {
        co_await server.write(written).report_to(why);
        co_await async::sleep_for(here.loop, std::chrono::milliseconds{10});
      }
      co_await server.write(written).report_to(why);
      std::error_code ended;
      co_await server.close().report_to(ended);
    });
    here.loop.spawn(accept_hostile(here, each.run));
    here.run();
    CHECK(why.code() == std::errc::protocol_error);
    CHECK(mentions(why, each.sentence));
  }
}

TEST_CASE("A write that is cancelled when its stream fails reports why the stream failed",
          "[ibv_post_recv]") {
  side here;
  failure of_write;
  here.loop.spawn([&]() -> async::task<> {
    const remote_stream server =
        co_await remote_stream::connect(here.loop, here.address(), patient);
    here.loop.spawn([&]() -> async::task<> {
      std::array<std::byte, 8> bytes{};
      const std::size_t size = co_await server.read(bytes);
      CHECK(size == 0);
      // In the same turn, before the message that violates the protocol.
      server.connection().cancel_waits();
    });
    // More than the peer has room for.
    const std::vector<std::byte> written(1000);
    co_await server.write(written).report_to(of_write);
    std::error_code ended;
    co_await server.close().report_to(ended);
  });
  here.loop.spawn(accept_hostile(here, [](const hostile_peer& peer) -> async::task<> {
    peer.send_at_once({stream_message::encode(stream_message::control::shutdown), 5U << 29U});
    co_return;
  }));
  here.run();
  CHECK(of_write.code() == std::errc::protocol_error);
  CHECK(mentions(of_write, "a message has an unknown kind"));
}
