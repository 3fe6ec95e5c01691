// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/socket.h>

#include <adverb/async/detail/receive_blocks.hpp>
#include <adverb/messages/detail/channel_state.hpp>
#include <adverb/messages/detail/tcp_carrier.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Returns the address of the peer of a socket; an empty one if it has gone.
ADVERB_FUNC cm::socket_address peer_of_socket(int descriptor) noexcept {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) == -1) return {};
  return address_in(reinterpret_cast<const sockaddr*>(&peer));
}

/// Returns true if the number means that a connection has ended.
ADVERB_FUNC bool is_end_of_connection(int number) noexcept {
  switch (number) {
    case EPIPE:
    case ECONNRESET:
    case ECONNABORTED:
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ENETDOWN: return true;
    default: return false;
  }
}

ADVERB_FUNC tcp_carrier::tcp_carrier(async::device_loop& loop, tcp_greeting& greeted,
                                     const handshake& mine, std::uint32_t max_frames,
                                     on_failure policy)
    : loop_{&loop}, peer_{peer_of_socket(greeted.socket())}, block_size_{mine.block_size} {
  const auto sockets = loop.sockets(policy);
  if (sockets == nullptr) return;
  watch_socket(*sockets, greeted.take_socket(), false, policy);
  if (policy.failed()) return;
  outgoing_.resize(max_frames);
  for (outgoing& each : outgoing_) each.next = std::exchange(unused_outgoing_, &each);
  // One more for the frame that arrives.
  blocks_.resize(std::size_t{mine.receives} + message_credits::spare_receives + 1);
  memory_ = std::make_unique<std::byte[]>(blocks_.size() * block_size_);
  for (std::size_t each = 0; each < blocks_.size(); ++each)
    blocks_[each] = {memory_.get() + each * block_size_, std::exchange(free_, &blocks_[each])};
  staging_ = std::make_unique_for_overwrite<std::byte[]>(staging_size);
}

ADVERB_FUNC void tcp_carrier::start(channel_state& of) {
  owner_ = &of;
  loop_->tell_end_to(end_);
  begin_frame();
}

ADVERB_FUNC void tcp_carrier::begin_frame() noexcept {
  current_ = std::exchange(free_, free_->next);
  if constexpr (poisons_blocks) unpoison({current_->bytes, block_size_});
  stream_.next_frame({current_->bytes, block_size_});
}

// Frames of this side.

ADVERB_FUNC tcp_carrier::outgoing& tcp_carrier::add(frame_slot& slot) noexcept {
  outgoing& added = *std::exchange(unused_outgoing_, unused_outgoing_->next);
  added = {.slot = &slot};
  (first_ == nullptr ? first_ : last_->next) = &added;
  last_ = &added;
  slot.is_posted = true;
  return added;
}

ADVERB_FUNC void tcp_carrier::outgoing::add(const_buffer part) noexcept {
  parts[count++] = {reinterpret_cast<void*>(part.address()), part.size()};
}

ADVERB_FUNC void tcp_carrier::send(frame_slot& slot, std::span<const const_buffer> frame) {
  outgoing& added = add(slot);
  for (const const_buffer each : frame) added.add(each);
  begin_to_send();
}

ADVERB_FUNC void tcp_carrier::write(frame_slot& slot, const landing_handle& /*target*/,
                                    std::span<const const_buffer> message, const_buffer frame) {
  outgoing& added = add(slot);
  added.add(frame);
  for (const const_buffer each : message) added.add(each);
  begin_to_send();
}

ADVERB_FUNC void tcp_carrier::begin_to_send() {
  // A program that blocks may not run the loop for long. In a turn of this carrier, the frames are
  // sent together at its end.
  if (!is_in_turn_) flush();
  take_turn_soon();
}

ADVERB_FUNC landing_handle tcp_carrier::open(std::span<std::byte> memory, memory_region& /*region*/,
                                             on_failure policy) {
  policy.clear();
  return {adopt, 0, memory.size(), rkey{}};
}

ADVERB_FUNC void tcp_carrier::flush() {
  while (first_ != nullptr && !is_write_broken_) {
    constexpr std::size_t most_parts = 64;
    std::array<iovec, most_parts> list;
    std::size_t count = 0;
    for (const outgoing* each = first_; each != nullptr && count + each->count <= most_parts;
         each = each->next)
      for (std::size_t part = 0; part < each->count; ++part) list[count++] = each->parts[part];
    msghdr message{};
    message.msg_iov = list.data();
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(descriptor(), &message, MSG_NOSIGNAL);
    const int number = errno;
    if (sent >= 0) {
      drop_sent(static_cast<std::size_t>(sent));
    } else if (number == EAGAIN) {
      break;
    } else if (number != EINTR) {
      // The bytes that the peer has sent before are read to their end, which has the reason. The
      // connection goes on after a failure of this side.
      is_write_broken_ = true;
      if (!is_end_of_connection(number)) end_soon(failure_of("sendmsg", number));
    }
  }
  const bool waits = first_ != nullptr && !is_write_broken_;
  if (waits != std::exchange(waits_for_writing_, waits)) watch_for_writing(waits);
}

ADVERB_FUNC void tcp_carrier::drop_sent(std::size_t bytes) noexcept {
  while (first_ != nullptr) {
    for (std::size_t each = 0; each < first_->count; ++each) {
      iovec& part = first_->parts[each];
      const std::size_t dropped = std::min(bytes, part.iov_len);
      part.iov_base = static_cast<std::byte*>(part.iov_base) + dropped;
      part.iov_len -= dropped;
      bytes -= dropped;
      if (part.iov_len != 0) return;
    }
    outgoing& whole = *std::exchange(first_, first_->next);
    whole.next = nullptr;
    (first_sent_ == nullptr ? first_sent_ : last_sent_->next) = &whole;
    last_sent_ = &whole;
  }
}

ADVERB_FUNC void tcp_carrier::tell_sent(outgoing*& of, bool succeeded) {
  while (of != nullptr) {
    outgoing& first = *std::exchange(of, of->next);
    frame_slot& slot = *first.slot;
    first.next = std::exchange(unused_outgoing_, &first);
    owner_->sent(slot, succeeded);
  }
}

// Frames of the peer.

ADVERB_FUNC void tcp_carrier::read() {
  std::size_t left = most_in_a_turn;
  while (at_ == phase::open) {
    if (!staged_.empty()) {
      take_frames();
      continue;
    }
    const std::span<std::byte> landing = stream_.landing();
    const std::span<std::byte> into =
        landing.empty() ? std::span{staging_.get(), staging_size} : landing;
    const ssize_t got = ::recv(descriptor(), into.data(), std::min(into.size(), left), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got < 0) return end_soon(failure_of("recv", errno));
    if (got == 0) return end_soon(failure{});
    const auto bytes = static_cast<std::size_t>(got);
    if (landing.empty())
      staged_ = into.first(bytes);
    else if (stream_.landed(bytes))
      deliver();
    left -= bytes;
    // The socket is readable still, so the loop comes back.
    if (left == 0 && staged_.empty()) return;
    left = std::max(left, std::size_t{1});
  }
}

ADVERB_FUNC void tcp_carrier::take_frames() {
  switch (stream_.take(staged_)) {
    case frame_stream::outcome::more: break;
    case frame_stream::outcome::frame: deliver(); break;
    case frame_stream::outcome::landing: {
      const std::span<std::byte> memory = owner_->landing_of(stream_.header());
      if (memory.empty()) return owner_->violate(session_violation::unknown_offer);
      stream_.land(memory);
      break;
    }
    case frame_stream::outcome::too_long: owner_->violate(session_violation::wrong_size); break;
  }
}

ADVERB_FUNC void tcp_carrier::deliver() {
  block* const arrived = current_;
  const std::span<const std::byte> bytes = stream_.frame();
  // The credits of the peer leave one block.
  if (free_ == nullptr) return owner_->violate(session_violation::wrong_grant);
  begin_frame();
  owner_->receive({*this, arrived, bytes});
}

ADVERB_FUNC void tcp_carrier::give_back(void* which) noexcept {
  auto& freed = *static_cast<block*>(which);
  if constexpr (poisons_blocks) poison({freed.bytes, block_size_});
  freed.next = std::exchange(free_, &freed);
}

// The end.

ADVERB_FUNC void tcp_carrier::end_soon(const failure& why) {
  if (at_ != phase::open) return;
  at_ = phase::ending;
  why_ = why;
  take_turn_soon();
}

ADVERB_FUNC void tcp_carrier::close(int error_number) {
  end_soon(error_number != 0 ? failure_of("messages::channel", error_number) : failure{});
}

ADVERB_FUNC void tcp_carrier::cancel() {
  if (at_ != phase::open) return;
  failure why;
  report_cancelled(why, "messages::channel");
  end_soon(why);
  close_socket();
}

ADVERB_FUNC void tcp_carrier::loop_ended() {
  at_ = phase::ending;
  run([](tcp_carrier&) {});
}

ADVERB_FUNC failure tcp_carrier::failure_of(const char* verb, int number) const {
  failure why;
  on_failure{why}.report(number, verb, [this](failure_description& description) {
    description.explain([this](text_writer& writer) {
      writer.put("the channel with ").put(peer_).put(" runs over TCP");
    });
  });
  return why;
}

// Turns.

ADVERB_FUNC void tcp_carrier::take_turn_soon() {
  if (!turn_.is_waiting()) loop_->resume_later(turn_);
}

template <class Function>
void tcp_carrier::run(const Function& function) {
  const channel_reference kept{*owner_};
  is_in_turn_ = true;
  tell_sent(first_sent_, true);
  if (at_ == phase::open) function(*this);
  tell_sent(first_sent_, true);
  if (at_ == phase::open) flush();
  is_in_turn_ = false;
  if (at_ == phase::ending) {
    close_socket();
    tell_sent(first_, false);
    at_ = phase::ended;
    end_.leave();
    owner_->ended(why_);
  }
}

ADVERB_FUNC void tcp_carrier::socket_ready() {
  run([](tcp_carrier& self) { self.read(); });
}

ADVERB_FUNC bool tcp_carrier::take_turn(async::waiter& which) {
  tcp_carrier& self = *static_cast<turn_waiter&>(which).owner;
  self.turn_.leave();
  self.run([](tcp_carrier&) {});
  return true;
}

}  // namespace adverb::inline ADVERB_ABI::detail
