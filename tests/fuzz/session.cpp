// SPDX-License-Identifier: MIT
// The state machine of a channel as the victim of a hostile peer: any frames in any order, between
// wishes of the program, with and without broken links.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include <adverb/messages/detail/message_session.hpp>

#include "fuzz_target.hpp"

using namespace adverb;
using detail::incoming_offer;
using detail::message_frame;
using detail::message_session;
using detail::session_action;
using detail::session_arrival;

namespace {

constexpr std::uint32_t receives = 40;

/// The owner of a session: its offers, and those of the peer that the program holds.
struct owner {
  explicit owner(bool resumes)
      : state{{.receives = receives,
               .receives_of_peer = receives,
               .block_size_of_peer = 256,
               .longest = 4096,
               .resumes = resumes}} {}

  message_session state;
  std::uint32_t messages = 0;
  std::uint32_t sent = 0;
  bool is_closed_by_peer = false;
  std::deque<int> wishes{};
  std::deque<incoming_offer*> held{};
  std::deque<message_frame> unposted{};

  /// Performs what is due. It is not without end.
  void advance() {
    for (int each = 0;; ++each) {
      fuzz::require(each < 1000, "a session that receives no frame has actions without end");
      const session_action action = state.next();
      if (action == session_action::nothing || action == session_action::finish) return;
      if (action == session_action::release_confirmed) {
        static_cast<void>(state.take_confirmed());
        continue;
      }
      if (action == session_action::complete_offer) {
        state.complete();
        continue;
      }
      if (action == session_action::send_again) {
        static_cast<void>(state.send_again({.length = 1}));
        continue;
      }
      const message_frame made = state.perform(action);
      if (action == session_action::write)
        fuzz::require(made.type == detail::message_frame_type::taken, "a write has another frame");
    }
  }
  void take_message(const message_frame& received) {
    fuzz::require(received.length <= 4096, "a message is longer than agreed");
    fuzz::require(received.sequence == messages++, "a message is lost, or comes twice");
    fuzz::require(!is_closed_by_peer, "a message follows the end");
    unposted.push_back(received);
  }
  void forget(const incoming_offer* which) {
    std::erase_if(held, [&](const incoming_offer* each) { return each == which; });
  }
  /// Returns false if the peer has violated the protocol.
  [[nodiscard]] bool take(const message_frame& received, std::size_t size) {
    switch (state.receive(received, size)) {
      case session_arrival::violation:
        fuzz::require(state.violation() != detail::session_violation::none,
                      "a violation has no reason");
        return false;
      case session_arrival::failed: return false;
      case session_arrival::message: take_message(received); return true;
      case session_arrival::offer:
        take_message(received);
        fuzz::require(held.size() < message_session::most_offers, "there are too many offers");
        held.push_back(&state.incoming());
        return true;
      case session_arrival::taken:
      case session_arrival::withdrawn: forget(&state.incoming()); break;
      case session_arrival::take:
      case session_arrival::refused:
        fuzz::require(state.outgoing().owner != nullptr, "an answer belongs to nobody");
        break;
      case session_arrival::close: is_closed_by_peer = true; break;
      case session_arrival::none: break;
    }
    state.receive_posted(received);
    return true;
  }
};

}  // namespace

namespace {

/// Breaks the link, and replaces it by one whose peer claims anything. Returns false if that
/// violates the protocol.
[[nodiscard]] bool resume(owner& self, fuzz::input& in) {
  const detail::session_point mine = self.state.break_link();
  fuzz::require(mine.next == self.messages, "a message is counted twice, or not at all");
  fuzz::require(mine.granted <= receives, "more is granted than there is");
  // Mostly near the truth, so that the session goes on.
  const std::uint32_t confirmed = self.sent - self.state.unconfirmed();
  const std::uint8_t granted = in.byte();
  const detail::session_point of_peer{.next = confirmed + in.byte() % 4,
                                      .ends = in.byte() % 4U,
                                      .granted = granted % (receives + 2U),
                                      .has_close = granted % 16 == 1};
  return self.state.resume(of_peer) == detail::session_violation::none;
}

int run(const std::uint8_t* data, std::size_t size, bool resumes) {
  fuzz::input in{data, size};
  owner self{resumes};
  while (!in.is_empty()) {
    const std::uint8_t event = in.byte() % 8;
    switch (event) {
      case 0:
      case 1: {
        // Mostly of the right size, so that the other rules are reached.
        std::array<std::byte, message_frame::header_size> header{};
        const std::span<const std::byte> bytes = in.bytes(header.size());
        std::ranges::copy(bytes, header.begin());
        auto frame = message_frame::decode(header);
        // A peer that counts well, mostly, gets further.
        if (event == 1) {
          frame.sequence = self.messages + (frame.lane % 16 == 1 ? 1U : 0U);
          frame.granted = receives;
        }
        const std::size_t body = frame.type == detail::message_frame_type::data   ? frame.length
                                 : frame.type == detail::message_frame_type::take ? 24
                                                                                  : 0;
        const std::uint8_t wrong = in.byte();
        const std::size_t whole = (frame.type == detail::message_frame_type::data ||
                                           frame.type == detail::message_frame_type::offer
                                       ? frame.front_size()
                                       : message_frame::header_size) +
                                  body;
        if (!self.take(frame, wrong < 250 ? whole : wrong)) return 0;
        break;
      }
      case 2:
        if (self.state.may_send_message() && !self.state.is_closing()) {
          static_cast<void>(self.state.send_message({.length = 1}));
          ++self.sent;
        }
        break;
      case 3:
        if (self.state.may_offer() && !self.state.is_closing()) {
          self.wishes.push_back(0);
          static_cast<void>(self.state.send_offer({.length = 1000}, &self.wishes.back()));
          ++self.sent;
        }
        break;
      case 4:
        if (!self.held.empty()) {
          incoming_offer& first = *self.held.front();
          if (first.at == incoming_offer::phase::offered) {
            if (in.byte() % 2 == 0) {
              self.state.take(first);
            } else {
              self.state.refuse(first);
              self.held.pop_front();
            }
          }
        }
        break;
      case 5:
        if (!self.unposted.empty()) {
          self.state.receive_posted(self.unposted.front());
          self.unposted.pop_front();
        }
        break;
      case 6: static_cast<void>(self.state.tick()); break;
      case 7:
        switch (in.byte() % 16) {
          case 0: self.state.close(); break;
          case 1: self.state.request_confirmation(); break;
          case 2:
          case 3:
            if (resumes && !resume(self, in)) return 0;
            break;
          default: break;
        }
        break;
    }
    self.advance();
    fuzz::require(self.state.unconfirmed() <= self.sent, "more is unconfirmed than was sent");
  }
  return 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  run(data, size, false);
  return run(data, size, true);
}
