// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/remote/detail/stream_state.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC std::string_view describe(stream_violation violated) noexcept {
  switch (violated) {
    case stream_violation::none: break;
    case stream_violation::unknown_message: return "a message has an unknown kind";
    case stream_violation::unknown_control: return "a control message is unknown";
    case stream_violation::wrong_length: return "a message and its write have different lengths";
    case stream_violation::too_many_bytes:
      return "it wrote more bytes than the buffer has room for";
    case stream_violation::too_many_messages: return "it sent more messages than it has credits";
    case stream_violation::wrong_credits: return "its credits went back, or are for no message";
    case stream_violation::early_buffer: return "it named a buffer while two are not full";
    case stream_violation::wrong_buffer: return "it named a buffer longer than the first, or empty";
    case stream_violation::after_shutdown: return "a message follows its shutdown";
    case stream_violation::after_disconnect: return "a message follows its disconnect";
  }
  return "the reason is unknown";
}

ADVERB_FUNC stream_state::stream_state(const stream_sizes& sizes)
    : sizes_{sizes},
      messages_(sizes.requests),
      granted_{sizes.receive_buffer / 2},
      freed_{sizes.receive_buffer / 2},
      freed_offset_{sizes.receive_buffer / 2} {}

ADVERB_FUNC void stream_state::connect(const stream_offer& of_peer, bool waits) noexcept {
  waits_ = waits;
  targets_[0] = of_peer.buffer;
  target_count_ = 1;
  most_target_ = of_peer.buffer.length;
  limit_ = peer_receives_ = of_peer.receives;
  peer_list_size_ = of_peer.list.length;
  peer_entry_ = 1 % peer_list_size_;
}

ADVERB_FUNC void stream_state::post(const in_progress& added) noexcept {
  messages_[next_message_] = added;
  if (++next_message_ == messages_.size()) next_message_ = 0;
  requests_ += added.requests;
  if (added.is_notice) notices_ += added.requests;
}

ADVERB_FUNC stream_transfer stream_state::write(std::size_t size) noexcept {
  // Part of the data is on its way while the next part is copied.
  constexpr std::size_t longest = 65536;
  const std::uint32_t data_requests = requests_ - notices_ + sizes_.requests_of_write;
  if (waits_ || target_count_ == 0 || data_requests > sizes_.requests - stream_limits::notices ||
      distance(sent_, limit_) <= stream_limits::notices)
    return {};
  stream_target& to = targets_[0];
  auto length = static_cast<std::uint32_t>(std::min({size, std::size_t{to.length}, longest}));
  stream_transfer made{.target = to, .source = send_offset_};
  std::uint32_t bytes = 0;
  if (length > sizes_.max_inline) {
    length = bytes =
        std::min({length, sizes_.send_buffer - send_used_, sizes_.send_buffer - send_offset_});
    if (bytes == 0) return {};
    send_used_ += bytes;
    send_offset_ += bytes;
    if (send_offset_ == sizes_.send_buffer) send_offset_ = 0;
    unsignaled_ += bytes;
    // So that most of a full buffer returns without further requests.
    made.is_signaled = unsignaled_ >= sizes_.send_buffer / 4;
    if (made.is_signaled) unsignaled_ = 0;
  }
  made.is_inline = length <= sizes_.max_inline;
  made.target.length = length;
  ++sent_;
  to.address += length;
  to.length -= length;
  if (to.length == 0) {
    targets_[0] = targets_[1];
    --target_count_;
  }
  post({.bytes = bytes, .requests = sizes_.requests_of_write});
  return made;
}

ADVERB_FUNC bool stream_state::owes_credits() const noexcept {
  if (has_peer_shut_down() || is_disconnected_) return false;
  return freed_ >= sizes_.receive_buffer / 2 ||
         distance(credited_, received_) >= sizes_.receives / 2;
}

ADVERB_FUNC bool stream_state::owes_notice() const noexcept {
  return !waits_ && (must_shut_down_ || must_disconnect_ || owes_credits());
}

ADVERB_FUNC std::optional<stream_notice> stream_state::notice() noexcept {
  if (waits_) return std::nullopt;
  const std::uint32_t half = sizes_.receive_buffer / 2;
  const std::uint32_t requests = freed_ >= half ? sizes_.requests_of_write : 1;
  stream_notice made;
  if (owes_credits() && has_room_for_notice(requests)) {
    credited_ = received_;
    made.message = stream_message::encode(stream_message::kind::credits,
                                          static_cast<std::uint16_t>(received_ + sizes_.receives));
    if (freed_ >= half) {
      made.freed = {.offset = freed_offset_, .entry = peer_entry_};
      freed_ -= half;
      granted_ += half;
      freed_offset_ = half - freed_offset_;
      if (++peer_entry_ == peer_list_size_) peer_entry_ = 0;
    }
    post({.requests = requests, .is_notice = true});
    return made;
  }
  const bool can_disconnect = must_disconnect_ && (requests_ == 0 || is_peer_gone_);
  if ((!must_shut_down_ && !can_disconnect) || !has_room_for_notice(1)) return std::nullopt;
  const bool is_shutdown = std::exchange(must_shut_down_, false);
  if (!is_shutdown) must_disconnect_ = false;
  made.message = stream_message::encode(is_shutdown ? stream_message::control::shutdown
                                                    : stream_message::control::disconnect);
  post({.requests = 1, .is_notice = true});
  return made;
}

ADVERB_FUNC void stream_state::completed(std::uint32_t outstanding) noexcept {
  while (requests_ > outstanding) {
    const in_progress& first = messages_[first_message_];
    if (requests_ - first.requests < outstanding) return;
    requests_ -= first.requests;
    if (first.is_notice) notices_ -= first.requests;
    send_used_ -= first.bytes;
    if (++first_message_ == messages_.size()) first_message_ = 0;
  }
}

ADVERB_FUNC stream_violation stream_state::arrive(std::uint32_t message, std::uint32_t written,
                                                  const stream_target& named) noexcept {
  using enum stream_message::kind;
  waits_ = false;
  const std::uint32_t value = stream_message::value_of(message);
  switch (stream_message::kind_of(message)) {
    case data: return value != written ? stream_violation::wrong_length : take_data(value);
    case credits:
      if (written != 0 && written != stream_target::encoded_size)
        return stream_violation::wrong_length;
      return take_credits(static_cast<std::uint16_t>(value), written != 0 ? &named : nullptr);
    case control: return written != 0 ? stream_violation::wrong_length : take_control(value);
  }
  return stream_violation::unknown_message;
}

ADVERB_FUNC stream_violation stream_state::take_data(std::uint32_t length) noexcept {
  if (is_peer_gone_) return stream_violation::after_disconnect;
  if (is_peer_shut_down_) return stream_violation::after_shutdown;
  if (length == 0) return stream_violation::wrong_length;
  if (length > granted_) return stream_violation::too_many_bytes;
  if (distance(credited_, received_) == sizes_.receives) return stream_violation::too_many_messages;
  ++received_;
  granted_ -= length;
  readable_ += length;
  return stream_violation::none;
}

ADVERB_FUNC stream_violation stream_state::take_credits(std::uint16_t limit,
                                                        const stream_target* named) noexcept {
  // The peer grants one for each that it has received.
  const auto most = static_cast<std::uint16_t>(sent_ + peer_receives_);
  if (distance(limit_, limit) > distance(limit_, most)) return stream_violation::wrong_credits;
  limit_ = limit;
  if (named == nullptr) return stream_violation::none;
  if (target_count_ == targets_.size()) return stream_violation::early_buffer;
  if (named->length == 0 || named->length > most_target_ || !named->is_contiguous())
    return stream_violation::wrong_buffer;
  targets_[target_count_++] = *named;
  entry_ = (entry_ + 1) % stream_limits::list_size;
  return stream_violation::none;
}

ADVERB_FUNC stream_violation stream_state::take_control(std::uint32_t which) noexcept {
  if (which > static_cast<std::uint8_t>(stream_message::control::shutdown))
    return stream_violation::unknown_control;
  // rsockets grants credits behind its disconnect, but no more than that.
  if (is_peer_gone_) return stream_violation::after_disconnect;
  switch (static_cast<stream_message::control>(which)) {
    case stream_message::control::disconnect: is_peer_gone_ = true; break;
    case stream_message::control::keepalive: break;
    case stream_message::control::shutdown:
      if (std::exchange(is_peer_shut_down_, true)) return stream_violation::after_shutdown;
  }
  return stream_violation::none;
}

}  // namespace adverb::inline ADVERB_ABI::detail
