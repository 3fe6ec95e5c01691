// SPDX-License-Identifier: MIT
// The state machines of a ring and of a stream as the victims of a hostile peer: any frames and
// messages in any order, between wishes of the program.
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include <adverb/core/detail/byte_order.hpp>
#include <adverb/remote.hpp>

#include "fuzz_target.hpp"

using namespace adverb;
using detail::load_little_endian;
using detail::ring_frame;
using detail::ring_place;
using detail::ring_violation;
using detail::stream_notice;
using detail::stream_state;
using detail::stream_target;
using detail::stream_transfer;
using detail::stream_violation;

namespace {

/// Returns a number of 32 bits of the input.
std::uint32_t number(fuzz::input& in) {
  std::uint32_t made = 0;
  for (unsigned each = 0; each < 4; ++each) made |= std::uint32_t{in.byte()} << 8 * each;
  return made;
}

/// The places of a frame, which has any bytes.
void read_frame(fuzz::input& in) {
  const std::span<const std::byte> bytes = in.bytes(in.byte());
  const auto places = ring_frame::places_of(bytes);
  if (!places) return;
  fuzz::require(places->size() % ring_frame::bytes_of_place(bytes[0]) == 0,
                "a frame ends within a place");
  fuzz::require(places->size() + ring_frame::front <= bytes.size(), "a frame exceeds its bytes");
  fuzz::require(places->empty() == ring_frame::is_note(bytes[0]), "a note names a place");
}

/// Mostly a place that exists, so that the ring goes on.
ring_place any_place(fuzz::input& in) {
  const std::uint8_t byte = in.byte();
  return byte == 255 ? ring_place::decode(number(in))
                     : ring_place{.slot = byte % 8U, .generation = in.byte()};
}

void read_ring(fuzz::input& in) {
  constexpr std::uint32_t slots = 7;
  detail::ring_reader_slots reader{slots, 2};
  std::array<bool, slots> is_with_writer{};
  is_with_writer.fill(true);
  std::deque<std::uint32_t> held;
  while (!in.is_empty()) {
    switch (in.byte() % 6) {
      case 0: {
        const ring_place at = any_place(in);
        if (reader.arrive(at, 1) != ring_violation::none) return;
        fuzz::require(std::exchange(is_with_writer.at(at.slot), false),
                      "an entry arrives in a slot that the writer does not have");
        break;
      }
      case 1:
        if (reader.arrived() != 0) held.push_back(reader.take().slot);
        break;
      case 2:
        if (held.empty()) break;
        reader.free(held.front());
        held.pop_front();
        break;
      case 3:
        for (std::uint32_t left = reader.due(); left != 0; --left)
          is_with_writer.at(reader.acknowledge().slot) = true;
        break;
      case 4: reader.ask(); break;
      case 5: reader.end(); break;
    }
    fuzz::require(reader.with_writer() + reader.arrived() + reader.held() + reader.freed() == slots,
                  "the reader lost a slot");
  }
}

void write_ring(fuzz::input& in) {
  constexpr std::uint32_t slots = 7;
  detail::ring_writer_slots writer{slots};
  std::array<bool, slots> is_in_flight{};
  std::deque<ring_place> claimed;
  while (!in.is_empty()) {
    switch (in.byte() % 4) {
      case 0:
        if (writer.free() != 0) claimed.push_back(writer.claim());
        break;
      case 1:
        if (claimed.empty()) break;
        writer.publish(claimed.front());
        is_in_flight.at(claimed.front().slot) = true;
        claimed.pop_front();
        break;
      case 2: {
        const ring_place freed = any_place(in);
        if (writer.take_back(freed) != ring_violation::none) return;
        fuzz::require(std::exchange(is_in_flight.at(freed.slot), false),
                      "the reader frees a slot that it does not have");
        break;
      }
      case 3: static_cast<void>(writer.ask()); break;
    }
    fuzz::require(writer.free() + writer.claimed() + writer.in_flight() == slots,
                  "the writer lost a slot");
  }
}

void run_stream(fuzz::input& in) {
  constexpr std::uint32_t buffer = 64;
  const detail::stream_sizes sizes{.requests = 8,
                                   .requests_of_write = in.byte() % 2 + 1U,
                                   .send_buffer = buffer,
                                   .receive_buffer = buffer,
                                   .receives = 12,
                                   .max_inline = 8};
  stream_state state{sizes};
  state.connect({.order = std::endian::native,
                 .receives = 8,
                 .list = {.address = 1, .key = 1, .length = 2},
                 .buffer = {.address = 4096, .key = 1, .length = 32}},
                in.byte() % 2 != 0);
  std::uint32_t requests = 0;
  while (!in.is_empty()) {
    switch (in.byte() % 7) {
      case 0: {
        const stream_transfer made = state.write(in.byte());
        if (made.target.length == 0) break;
        fuzz::require(made.target.length <= 32 || made.target.address != 4096,
                      "a write exceeds the buffer of the peer");
        fuzz::require(made.is_inline || made.source + made.target.length <= buffer,
                      "a write exceeds the send buffer");
        requests += sizes.requests_of_write;
        break;
      }
      case 1:
        if (const auto made = state.notice())
          requests += made->freed && sizes.requests_of_write == 2 ? 2U : 1U;
        break;
      case 2: state.completed(in.byte() % (requests + 1)); break;
      case 3:
        if (const std::uint32_t size = std::min<std::uint32_t>(state.contiguous(), in.byte()))
          state.consume(size);
        break;
      case 4: state.shut_down(); break;
      case 5: state.disconnect(); break;
      case 6: {
        const std::uint8_t kind = in.byte();
        const std::uint32_t message = kind < 64    ? in.byte()
                                      : kind < 128 ? std::uint32_t{4} << 29U | in.byte()
                                      : kind < 192 ? std::uint32_t{7} << 29U | in.byte() % 4U
                                                   : number(in);
        const std::uint32_t written = kind % 4 == 0   ? number(in)
                                      : kind % 4 == 1 ? 0U
                                      : kind % 4 == 2 ? 16U
                                                      : message;
        const stream_target named{.address = number(in) | std::uint64_t{number(in)} << 32U,
                                  .key = 1,
                                  .length = number(in)};
        if (state.arrive(message, written, named) != stream_violation::none) return;
        break;
      }
    }
    fuzz::require(state.readable() <= buffer, "more is readable than the buffer holds");
    fuzz::require(state.read_offset() < buffer, "the next byte is behind the buffer");
    fuzz::require(state.read_offset() + state.contiguous() <= buffer,
                  "contiguous bytes exceed the buffer");
    fuzz::require(state.buffers() <= 2, "the peer has named a third buffer");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in{data, size};
  switch (in.byte() % 4) {
    case 0: read_frame(in); break;
    case 1: read_ring(in); break;
    case 2: write_ring(in); break;
    case 3: run_stream(in); break;
  }
  return 0;
}
