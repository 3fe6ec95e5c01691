// SPDX-License-Identifier: MIT
// Measures streams of bytes, with the options and the protocol of rdmacm-utils' rstream, which may
// be either side.
//
//     rstream                       # the server
//     rstream -s 10.1.0.1 -S all    # a client: latency, then bandwidth, of all sizes
//     rstream -s 10.1.0.1 -S 1000 -C 100 -I 10 -T v
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <adverb/remote.hpp>

#include "common/async_server.hpp"
#include "common/cm_options.hpp"
#include "common/command_line.hpp"

namespace {

using namespace examples;
namespace async = adverb::async;

constexpr std::uint32_t least_inline = 32;

struct rstream_options {
  cm_options address;
  std::uint32_t buffer = 1U << 19U;
  std::uint32_t max_inline = 64;
  std::optional<std::uint32_t> iterations{};
  std::optional<std::uint32_t> count{};
  std::string size{};
  std::vector<std::string> modes{};

  [[nodiscard]] bool is(char mode) const {
    return std::ranges::any_of(modes, [&](const std::string& each) { return each[0] == mode; });
  }
  [[nodiscard]] bool has_all_sizes() const { return size == "all"; }
  [[nodiscard]] bool is_custom() const {
    return iterations || count || (!size.empty() && !has_all_sizes());
  }
};

/// `iterations` times, `count` transfers of `size` bytes to the server and as many back.
struct measurement {
  std::string name;
  std::uint32_t size = 1000;
  std::uint32_t count = 1000;
  std::uint32_t iterations = 1;
};

/// Returns a number with at most two digits and the unit: 1.5k.
std::string abbreviated(std::uint64_t number, std::uint64_t thousand, const char* units) {
  std::uint64_t base = 1;
  for (; units[1] != '\0' && number / base >= thousand; ++units) base *= thousand;
  std::string text = std::to_string(number / base);
  const std::uint64_t tenths = number % base * 10 / base;
  if (thousand == 1024 && text.size() == 1 && tenths != 0) text += '.' + std::to_string(tenths);
  if (*units != ' ') text += *units;
  return text;
}
std::string in_bytes(std::uint64_t number) { return abbreviated(number, 1024, " kmg"); }
std::string in_thousands(std::uint64_t number) { return abbreviated(number, 1000, " kmb"); }

constexpr std::uint32_t transfers_of(std::uint32_t size) {
  return size >= 1U << 20U ? 100 : size >= 1U << 16U ? 1000 : size >= 1U << 10U ? 10'000 : 100'000;
}

/// The measurements of latencies, or of bandwidths: all sizes are 1 and 1.5 times a power of 2.
std::vector<measurement> measurements_of(const rstream_options& options, bool is_latency) {
  constexpr std::uint32_t first = 64;
  constexpr std::uint32_t last = 4U << 20U;
  std::vector<measurement> found;
  const auto add = [&](std::uint32_t size) {
    const std::uint32_t number = transfers_of(size);
    found.push_back({.name = in_bytes(size) + (is_latency ? "_lat" : "_bw"),
                     .size = size,
                     .count = is_latency ? 1 : number,
                     .iterations = is_latency ? number : 1});
  };
  if (!options.has_all_sizes()) {
    for (const std::uint32_t size : {64U, 4096U, 65536U, 1U << 20U}) add(size);
    return found;
  }
  add(first);
  for (std::uint32_t size = 2 * first; size <= last; size *= 2) {
    add(size);
    add(size + size / 2);
  }
  return found;
}

/// The bytes of both directions: numbered, modulo 256, across connections.
class numbered_bytes {
 public:
  void fill(std::span<std::byte> bytes) {
    for (std::byte& each : bytes) each = static_cast<std::byte>(written_++);
  }
  void check(std::span<const std::byte> bytes) {
    for (const std::byte each : bytes)
      if (each != static_cast<std::byte>(read_++))
        throw std::runtime_error{"data verification failed at byte " + std::to_string(read_ - 1)};
  }

 private:
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;
};

/// One side of the measurements.
class side {
 public:
  side(async::event_loop& loop, const rstream_options& options) : loop_{&loop}, options_{&options} {
    if (options.address.is_client()) return;
    listener_.emplace(loop, options.address.listening());
    std::printf("listening on port %d\n", listener_->port());
  }

  async::task<> run() {
    if (options_->is_custom()) {
      measurement custom{.name = "custom"};
      if (!options_->size.empty() && !options_->has_all_sizes())
        custom.size = static_cast<std::uint32_t>(std::stoul(options_->size));
      custom.count = options_->count.value_or(custom.count);
      custom.iterations = options_->iterations.value_or(custom.iterations);
      co_return co_await measure_all(std::vector<measurement>(1, custom), options_->max_inline);
    }
    co_await measure_all(measurements_of(*options_, true), options_->max_inline);
    co_await measure_all(measurements_of(*options_, false), least_inline);
  }

 private:
  async::task<adverb::remote_stream> connect(std::uint32_t max_inline) {
    const adverb::stream_options sizes{.send_buffer = 2 * options_->buffer,
                                       .receive_buffer = 2 * options_->buffer,
                                       .max_inline_data = max_inline};
    if (listener_) co_return co_await adverb::remote_stream::accept(*listener_, sizes);
    const cm_options& to = options_->address;
    const auto found = co_await async::look_up(*loop_, to.server, to.port);
    // The server may still be starting up.
    for (int attempts = 60;; --attempts) {
      std::error_code why;
      auto made =
          co_await adverb::remote_stream::connect(*loop_, found.front(), sizes).report_to(why);
      if (made) co_return made;
      if (why != std::errc::connection_refused || attempts == 0) break;
      co_await async::sleep_for(*loop_, std::chrono::milliseconds{50});
    }
    co_return co_await adverb::remote_stream::connect(*loop_, found.front(), sizes);
  }

  async::task<> measure_all(std::vector<measurement> all, std::uint32_t max_inline) {
    const adverb::remote_stream peer = co_await connect(max_inline);
    if (!std::exchange(has_title_, true))
      std::printf("%-10s%-8s%-8s%-8s%-8s%8s %10s%13s\n", "name", "bytes", "xfers", "iters", "total",
                  "time", "Gb/sec", "usec/xfer");
    for (const measurement& each : all) co_await measure(peer, each);
    co_await peer.close();
  }

  async::task<> measure(const adverb::remote_stream& peer, const measurement& what) {
    const bool is_client = options_->address.is_client();
    buffer_.resize(std::max(what.size, greeting));
    for (const bool is_sender : {is_client, !is_client})
      co_await transfer(peer, greeting, is_sender);
    const auto start = std::chrono::steady_clock::now();
    for (std::uint32_t iteration = 0; iteration < what.iterations; ++iteration)
      for (const bool is_sender : {is_client, !is_client})
        for (std::uint32_t each = 0; each < what.count; ++each)
          co_await transfer(peer, what.size, is_sender);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    const std::uint64_t transfers = std::uint64_t{what.iterations} * what.count * 2;
    const std::uint64_t bytes = transfers * what.size;
    std::printf("%-10s%-8s%-8s%-8s%-8s%8.2fs%10.2f%11.2f\n", what.name.c_str(),
                in_bytes(what.size).c_str(), in_thousands(what.count).c_str(),
                in_thousands(what.iterations).c_str(), in_bytes(bytes).c_str(), taken.count(),
                static_cast<double>(bytes) * 8 / 1e9 / taken.count(),
                taken.count() * 1e6 / static_cast<double>(transfers));
  }

  async::task<> transfer(const adverb::remote_stream& peer, std::uint32_t size, bool is_sender) {
    const std::span bytes = std::span{buffer_}.first(size);
    if (is_sender) {
      if (options_->is('v')) bytes_.fill(bytes);
      co_await peer.write(bytes);
      co_return;
    }
    for (std::size_t total = 0; total < size;) {
      const std::size_t more = co_await peer.read(bytes.subspan(total));
      if (more == 0) throw std::runtime_error{"the peer has closed the stream"};
      total += more;
    }
    if (options_->is('v')) bytes_.check(bytes);
  }

  static constexpr std::uint32_t greeting = 16;

  async::event_loop* loop_;
  const rstream_options* options_;
  std::optional<async::listener> listener_;
  bool has_title_ = false;
  std::vector<std::byte> buffer_;
  numbered_bytes bytes_;
};

std::string check_size(const std::string& text) {
  const bool is_number = !text.empty() && text.size() < 9 &&
                         text.find_first_not_of("0123456789") == std::string::npos && text != "0";
  return text == "all" || is_number ? "" : "must be a number of bytes or all, not " + text;
}
std::string check_mode(const std::string& text) {
  for (const char* const known : {"b", "blocking", "n", "nonblocking", "v", "verify"})
    if (text == known) return {};
  return "must be blocking, nonblocking or verify, not " + text;
}

}  // namespace

int main(int argc, char** argv) {
  command_line arguments{"Measures streams of bytes, as rdmacm-utils' rstream does.", "rstream"};
  rstream_options options;
  arguments.add_text("-s,--server", options.address.server, "Server; without it, be the server")
      .type_name("HOST");
  arguments.add_text("-b,--bind", options.address.address, "Address to listen on (default: any)")
      .check(check_ip_address)
      .type_name("ADDRESS");
  options.address.add_port_to(arguments);
  arguments.add_number("-B,--buffer", options.buffer, 1, 1U << 28U, "Half of each buffer in bytes");
  arguments.add_number("-i,--inline", options.max_inline, least_inline, 1024,
                       "Longest inline data in bytes");
  arguments.add_number("-I,--iterations", options.iterations, 1, unlimited, "Number of iterations");
  arguments.add_number("-C,--count", options.count, 1, unlimited,
                       "Number of transfers of an iteration in each direction");
  arguments.add_text("-S,--size", options.size, "Size of a transfer in bytes, or all")
      .check(check_size)
      .type_name("SIZE");
  arguments
      .add_texts("-T,--test", options.modes,
                 "b or blocking: sleep between events; n or nonblocking: poll (default); v or "
                 "verify: check the bytes")
      .check(check_mode)
      .type_name("MODE");
  return run(arguments, argc, argv, [&] {
    async::event_loop loop{
        {.waiting = options.is('b') ? async::waiting::events : async::waiting::busy}};
    side here{loop, options};
    run_to_end(loop, here.run());
  });
}
