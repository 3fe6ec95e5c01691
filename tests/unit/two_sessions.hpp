// SPDX-License-Identifier: MIT
// Two sessions of a channel against each other: each end has an owner that follows its session,
// without a device.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include <adverb/messages/detail/message_session.hpp>

namespace session_test {

using adverb::detail::incoming_offer;
using adverb::detail::message_credits;
using adverb::detail::message_frame;
using adverb::detail::message_frame_type;
using adverb::detail::message_session;
using adverb::detail::session_action;
using adverb::detail::session_arrival;
using adverb::detail::session_limits;
using adverb::detail::session_violation;

struct sent_frame {
  message_frame header;
  std::size_t size;
};

[[nodiscard]] inline sent_frame with_size(const message_frame& header) {
  const std::size_t body = header.type == message_frame_type::data   ? header.length
                           : header.type == message_frame_type::take ? message_session::take_size
                                                                     : 0;
  return {header, message_frame::header_size + body};
}

/// An offer of this side, as its program sees it.
struct wish {
  enum class fate : std::uint8_t { open, refused, written, withdrawn } is = fate::open;
  /// The message has been written to the peer, maybe more than once.
  bool was_written = false;
};

/// A message that a program has received.
struct received {
  message_frame header;
  /// Null for a message, and for an offer that is over.
  incoming_offer* offer = nullptr;
  bool is_over = false;

  [[nodiscard]] bool is_offer() const { return header.type == message_frame_type::offer; }
};

/// One end: a session, and an owner that follows it, without a device.
struct end {
  explicit end(const session_limits& agreed)
      : state{agreed},
        posted{(agreed.share != nullptr ? agreed.share->in_use() : agreed.receives) +
               message_credits::spare_receives} {}
  end(const end&) = delete;
  end& operator=(const end&) = delete;

  message_session state;
  end* peer = nullptr;
  std::uint32_t posted;
  std::deque<sent_frame> arriving{};
  /// Owned: the session refers to them.
  std::deque<wish> wishes{};
  std::deque<received> inbox{};
  /// The frames of the messages that the peer has not confirmed, if the session resumes.
  std::deque<message_frame> kept{};
  std::uint32_t replayed = 0;
  std::uint32_t messages_sent = 0;
  std::uint32_t messages_received = 0;
  std::uint32_t written = 0;
  std::uint32_t completed = 0;
  std::uint32_t frames = 0;
  bool is_finished = false;
  bool was_not_ready = false;
  bool was_out_of_order = false;
  session_violation violated = session_violation::none;

  void put(const message_frame& sent) {
    ++frames;
    peer->arriving.push_back(with_size(sent));
  }
  void put_message(const message_frame& sent) {
    if (state.limits().resumes) kept.push_back(sent);
    put(sent);
  }
  bool act() {
    const session_action next = state.next();
    follow_share();
    switch (next) {
      case session_action::finish: is_finished = true; [[fallthrough]];
      case session_action::nothing: return false;
      case session_action::write: {
        wish& which = *static_cast<wish*>(state.outgoing().owner);
        if (!which.was_written) ++written;
        which.was_written = true;
        if (!state.limits().resumes) which.is = wish::fate::written;
        break;
      }
      case session_action::release_confirmed: {
        const std::uint32_t confirmed = state.take_confirmed();
        while (!kept.empty() && kept.front().sequence < confirmed) kept.pop_front();
        return true;
      }
      case session_action::complete_offer:
        if (auto* const which = static_cast<wish*>(state.outgoing().owner))
          which->is = wish::fate::written;
        state.complete();
        return true;
      case session_action::send_again:
        ++replayed;
        put(state.send_again(kept.at(state.next_again() - kept.front().sequence)));
        return true;
      default: break;
    }
    put(state.perform(next));
    return true;
  }
  bool send(std::uint32_t length) {
    if (state.is_closing() || state.is_closed_by_peer() || !state.may_send_message()) return false;
    ++messages_sent;
    put_message(state.send_message({.length = length}));
    return true;
  }
  bool offer(std::uint32_t length) {
    if (state.is_closing() || state.is_closed_by_peer() || !state.may_offer()) return false;
    ++messages_sent;
    put_message(state.send_offer({.length = length}, &wishes.emplace_back()));
    return true;
  }
  bool withdraw() {
    const auto open = std::ranges::find(wishes, wish::fate::open, &wish::is);
    if (open == wishes.end()) return false;
    open->is = wish::fate::withdrawn;
    state.withdraw(&*open);
    return true;
  }
  bool receive() {
    if (arriving.empty()) return false;
    const auto [header, size] = arriving.front();
    arriving.pop_front();
    if (posted == 0) was_not_ready = true;
    --posted;
    const session_arrival meaning = state.receive(header, size);
    switch (meaning) {
      case session_arrival::message:
      case session_arrival::offer: {
        was_out_of_order = was_out_of_order || header.sequence != messages_received;
        ++messages_received;
        received& added = inbox.emplace_back(received{header});
        if (meaning == session_arrival::message) return true;
        added.offer = &state.incoming();
        added.offer->owner = &added;
        break;
      }
      case session_arrival::refused:
        static_cast<wish*>(state.outgoing().owner)->is = wish::fate::refused;
        break;
      case session_arrival::taken: ++completed; [[fallthrough]];
      case session_arrival::withdrawn: {
        auto& which = *static_cast<received*>(state.incoming().owner);
        which.offer = nullptr;
        which.is_over = true;
        break;
      }
      case session_arrival::failed:
      case session_arrival::violation:
        if (violated == session_violation::none) violated = state.violation();
        break;
      case session_arrival::none:
        // An offer behind the close of this side is refused.
        if (header.type == message_frame_type::offer && (header.flags & message_frame::again) == 0)
          ++messages_received;
        break;
      case session_arrival::close:
      case session_arrival::take: break;
    }
    post_again(header);
    return true;
  }
  /// The receive of a frame is posted again.
  void post_again(const message_frame& of) {
    ++posted;
    state.receive_posted(of);
    follow_share();
  }
  /// The posted receives of a share are those that are in use, but for the messages that are held.
  void follow_share() {
    const adverb::detail::receive_share* const share = state.limits().share;
    if (share == nullptr) return;
    const auto held =
        std::ranges::count_if(inbox, [](const received& each) { return !each.is_offer(); });
    posted = share->in_use() - static_cast<std::uint32_t>(held) + message_credits::spare_receives;
  }
  /// The program deals with its first message: gives back a block, takes or refuses an offer.
  bool consume(bool takes) {
    if (inbox.empty()) return false;
    received& first = inbox.front();
    if (!first.is_offer()) {
      const message_frame header = first.header;
      inbox.pop_front();
      post_again(header);
      return true;
    }
    if (first.is_over || first.offer == nullptr) {
      inbox.pop_front();
      return true;
    }
    if (first.offer->at != incoming_offer::phase::offered) return false;
    if (takes) {
      state.take(*first.offer);
    } else {
      state.refuse(*first.offer);
      first.offer = nullptr;
    }
    return true;
  }
  void close() {
    if (state.is_closing()) return;
    state.close();
    state.refuse_all([](void* owner) {
      if (owner != nullptr) static_cast<received*>(owner)->offer = nullptr;
    });
  }
};

struct channel {
  explicit channel(std::uint32_t receives = 8, std::uint32_t of_peer = 8, bool resumes = false)
      : near{{.receives = receives, .receives_of_peer = of_peer, .resumes = resumes}},
        far{{.receives = of_peer, .receives_of_peer = receives, .resumes = resumes}} {
    near.peer = &far;
    far.peer = &near;
  }
  /// The ends share receives, of which each may have some.
  channel(const std::shared_ptr<adverb::detail::receive_loans>& all, std::uint32_t most)
      : shares{{{all, message_credits::least_receives, message_credits::spare_receives, most},
                {all, message_credits::least_receives, message_credits::spare_receives, most}}},
        near{limits_of_share(most, shares[0])},
        far{limits_of_share(most, shares[1])} {
    near.peer = &far;
    far.peer = &near;
  }
  [[nodiscard]] static session_limits limits_of_share(std::uint32_t most,
                                                      adverb::detail::receive_share& share) {
    return {.receives = most,
            .receives_of_peer = most,
            .granted_by_peer = message_credits::least_receives,
            .share = &share};
  }
  /// Passes on all frames, and does what is due.
  void settle() {
    while (near.act() || far.act() || near.receive() || far.receive()) {
    }
  }
  /// Closes both ends, and passes on all that is left. Returns the number of frames that it took.
  std::uint32_t finish() {
    near.close();
    far.close();
    const std::uint32_t frames = near.frames + far.frames;
    for (int round = 0; round < 100 && near.frames + far.frames < frames + 1'000; ++round) {
      settle();
      while (near.consume(round % 2 == 0) || far.consume(round % 3 == 0)) {
      }
    }
    return near.frames + far.frames - frames;
  }
  /// Breaks the link, which loses the frames on their way, and replaces it.
  void break_link() {
    near.arriving.clear();
    far.arriving.clear();
    const auto of_near = near.state.break_link();
    const auto of_far = far.state.break_link();
    resume(near, of_far);
    resume(far, of_near);
  }
  /// The same, but only the far side comes to see the first link that replaces it.
  void break_link_twice() {
    near.arriving.clear();
    far.arriving.clear();
    static_cast<void>(far.state.break_link());
    resume(far, near.state.break_link());
    while (far.act()) {
    }
    break_link();
  }
  static void resume(end& which, const adverb::detail::session_point& of_peer) {
    const session_violation found = which.state.resume(of_peer);
    if (which.violated == session_violation::none) which.violated = found;
  }
  std::array<adverb::detail::receive_share, 2> shares;
  end near;
  end far;
};

}  // namespace session_test
