// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include <adverb/messages/detail/message_session.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC std::string_view describe(session_violation violated) noexcept {
  switch (violated) {
    case session_violation::none: break;
    case session_violation::unknown_type: return "the type of the frame is unknown";
    case session_violation::wrong_size: return "the frame has another size than its type demands";
    case session_violation::too_long: return "the message is longer than was agreed";
    case session_violation::wrong_sequence: return "the number of the message is wrong";
    case session_violation::wrong_grant: return "the frame exceeds the grants, or grants too much";
    case session_violation::too_many_offers: return "the peer has too many offers at a time";
    case session_violation::unknown_offer: return "the frame belongs to no offer";
    case session_violation::after_close: return "the message follows the end";
  }
  return "the reason is unknown";
}

ADVERB_FUNC message_session::message_session(const session_limits& agreed)
    : limits_{agreed},
      credits_{agreed.receives, agreed.receives_of_peer},
      may_send_{!agreed.waits_for_peer},
      must_greet_{agreed.sends_first},
      messages_before_(std::bit_ceil(std::size_t{agreed.receives_of_peer} + 1)) {}

ADVERB_FUNC message_frame message_session::send_offer(message_frame made, void* owner) noexcept {
  outgoing_ = std::ranges::find(offers_, outgoing_offer::phase::unused, &outgoing_offer::at);
  *outgoing_ = {.at = outgoing_offer::phase::offered,
                .sequence = next_out_,
                .length = made.length,
                .owner = owner};
  ++offers_out_;
  made.type = message_frame_type::offer;
  return send_message(made);
}

ADVERB_FUNC void message_session::withdraw(const void* owner) noexcept {
  for (outgoing_offer& each : offers_) {
    if (each.at == outgoing_offer::phase::unused || each.owner != owner) continue;
    each.owner = nullptr;
    if (each.at == outgoing_offer::phase::offered) ++due_;
    each.at = outgoing_offer::phase::must_withdraw;
  }
}

ADVERB_FUNC bool message_session::tick() noexcept {
  silent_ticks_ = has_heard_ ? 0 : silent_ticks_ + 1;
  has_heard_ = false;
  must_probe_ = must_probe_ || silent_ticks_ == ticks_to_probe;
  must_confirm_ = must_confirm_ || credits_.may_confirm();
  return limits_.peer_may_be_silent || silent_ticks_ < ticks_to_death;
}

ADVERB_FUNC bool message_session::find_outgoing(const message_frame& received) noexcept {
  outgoing_ = std::ranges::find_if(offers_, [&](const outgoing_offer& each) {
    return each.at != outgoing_offer::phase::unused && each.sequence == received.sequence &&
           !each.is_answered;
  });
  return outgoing_ != offers_.end();
}

ADVERB_FUNC bool message_session::find_incoming(const message_frame& received) noexcept {
  incoming_ = std::ranges::find_if(offers_of_peer_, [&](const incoming_offer& each) {
    return each.at != incoming_offer::phase::unused && each.sequence == received.sequence;
  });
  return incoming_ != offers_of_peer_.end();
}

ADVERB_FUNC session_violation message_session::check(const message_frame& received,
                                                     std::size_t size) noexcept {
  const bool is_message =
      received.type == message_frame_type::data || received.type == message_frame_type::offer;
  const std::size_t front = is_message ? received.front_size() : message_frame::header_size;
  const std::size_t body = received.type == message_frame_type::data   ? received.length
                           : received.type == message_frame_type::take ? take_size
                                                                       : 0;
  if (size < front || size - front != body) return session_violation::wrong_size;
  switch (received.type) {
    case message_frame_type::data:
    case message_frame_type::offer:
      if (is_closed_by_peer_) return session_violation::after_close;
      if (received.length > limits_.longest) return session_violation::too_long;
      if (received.sequence != next_in_) return session_violation::wrong_sequence;
      if (received.type == message_frame_type::offer && offers_in_ == most_offers)
        return session_violation::too_many_offers;
      break;
    case message_frame_type::take:
      if (!find_outgoing(received) || outgoing_->length != received.length)
        return session_violation::unknown_offer;
      break;
    case message_frame_type::taken:
      if (!is_taken(received)) return session_violation::unknown_offer;
      break;
    case message_frame_type::refused:
      if ((received.flags & message_frame::withdrawn) == 0 && !find_outgoing(received))
        return session_violation::unknown_offer;
      break;
    case message_frame_type::close:
      if (is_closed_by_peer_) return session_violation::after_close;
      if (received.sequence != next_in_) return session_violation::wrong_sequence;
      break;
    case message_frame_type::credit:
    case message_frame_type::probe:
    case message_frame_type::failed: break;
    default: return session_violation::unknown_type;
  }
  return session_violation::none;
}

ADVERB_FUNC session_arrival message_session::receive(const message_frame& received,
                                                     std::size_t size) noexcept {
  has_heard_ = may_send_ = true;
  if (const auto violated = check(received, size); violated != session_violation::none)
    return violate(violated);
  if (!credits_.receive(received)) return violate(session_violation::wrong_grant);
  // A frame may have confirmed more: the program holds messages whose receives are not posted
  // again.
  static_cast<void>(confirm(messages_before(credits_.known_received())));
  switch (received.type) {
    case message_frame_type::data: ++next_in_; return session_arrival::message;
    case message_frame_type::offer: return receive_offer(received);
    case message_frame_type::take: return receive_take();
    case message_frame_type::taken: release(*incoming_); return session_arrival::taken;
    case message_frame_type::refused:
      if ((received.flags & message_frame::withdrawn) == 0) return receive_refused();
      // It may cross the answer.
      return find_incoming(received) ? receive_withdrawn() : session_arrival::none;
    case message_frame_type::probe: must_confirm_ = true; [[fallthrough]];
    case message_frame_type::credit:
      if (!confirm(received.sequence)) return violate(session_violation::wrong_sequence);
      return session_arrival::none;
    case message_frame_type::close:
      if (!confirm(received.length)) return violate(session_violation::wrong_sequence);
      is_closed_by_peer_ = must_confirm_close_ = must_confirm_ = true;
      return session_arrival::close;
    case message_frame_type::failed: return session_arrival::failed;
  }
  return session_arrival::none;
}

ADVERB_FUNC session_arrival message_session::receive_offer(const message_frame& received) noexcept {
  ++next_in_;
  ++offers_in_;
  incoming_ =
      std::ranges::find(offers_of_peer_, incoming_offer::phase::unused, &incoming_offer::at);
  *incoming_ = {.at = incoming_offer::phase::offered,
                .sequence = received.sequence,
                .length = received.length};
  return session_arrival::offer;
}

ADVERB_FUNC session_arrival message_session::receive_take() noexcept {
  outgoing_->is_answered = true;
  if (outgoing_->at == outgoing_offer::phase::withdrawn) release(*outgoing_);
  if (outgoing_->at != outgoing_offer::phase::offered) return session_arrival::none;
  outgoing_->at = outgoing_offer::phase::must_write;
  ++due_;
  return session_arrival::take;
}

ADVERB_FUNC session_arrival message_session::receive_refused() noexcept {
  if (outgoing_->at == outgoing_offer::phase::must_withdraw) --due_;
  const bool is_awaited = outgoing_->at == outgoing_offer::phase::offered;
  release(*outgoing_);
  return is_awaited ? session_arrival::refused : session_arrival::none;
}

ADVERB_FUNC session_arrival message_session::receive_withdrawn() noexcept {
  switch (incoming_->at) {
    case incoming_offer::phase::offered: refuse(*incoming_); break;
    // The answer is still to come.
    case incoming_offer::phase::must_take:
      incoming_->at = incoming_offer::phase::must_refuse;
      break;
    case incoming_offer::phase::taken: release(*incoming_); break;
    case incoming_offer::phase::must_refuse:
    case incoming_offer::phase::unused: return session_arrival::none;
  }
  return session_arrival::withdrawn;
}

ADVERB_FUNC session_action message_session::next() noexcept {
  if (!may_send_) return session_action::nothing;
  if (due_ != 0 && credits_.may_send_control()) {
    for (outgoing_offer& each : offers_) {
      outgoing_ = &each;
      if (each.at == outgoing_offer::phase::must_write) return session_action::write;
      if (each.at == outgoing_offer::phase::must_withdraw) return session_action::send_withdrawn;
    }
    for (incoming_offer& each : offers_of_peer_) {
      incoming_ = &each;
      if (each.at == incoming_offer::phase::must_take) return session_action::send_take;
      if (each.at == incoming_offer::phase::must_refuse) return session_action::send_refused;
    }
  }
  if (must_close() && credits_.may_send_control()) return session_action::send_close;
  if (credits_.may_send_credit()) {
    if (must_probe_) return session_action::send_probe;
    if (must_greet_ || must_confirm_close_ || credits_.owes_credit())
      return session_action::send_credit;
  }
  if (credits_.owes_confirmation() || (must_confirm_ && credits_.may_confirm()))
    return session_action::send_confirmation;
  return is_finished() ? session_action::finish : session_action::nothing;
}

ADVERB_FUNC message_frame message_session::perform(session_action action) noexcept {
  message_frame sent{.type = message_frame_type::credit, .sequence = next_in_};
  switch (action) {
    case session_action::send_probe:
      sent.type = message_frame_type::probe;
      must_probe_ = false;
      break;
    case session_action::send_close:
      sent = {.type = message_frame_type::close, .length = next_in_, .sequence = next_out_};
      is_close_sent_ = true;
      break;
    case session_action::send_take:
      sent = {.type = message_frame_type::take,
              .length = incoming_->length,
              .sequence = incoming_->sequence};
      incoming_->at = incoming_offer::phase::taken;
      --due_;
      break;
    case session_action::send_refused:
      sent = {.type = message_frame_type::refused, .sequence = incoming_->sequence};
      release(*incoming_);
      --due_;
      break;
    case session_action::write:
      sent = {.type = message_frame_type::taken,
              .length = outgoing_->length,
              .sequence = outgoing_->sequence};
      release(*outgoing_);
      --due_;
      break;
    case session_action::send_withdrawn:
      sent = {.type = message_frame_type::refused,
              .flags = message_frame::withdrawn,
              .sequence = outgoing_->sequence};
      outgoing_->at = outgoing_offer::phase::withdrawn;
      if (outgoing_->is_answered) release(*outgoing_);
      --due_;
      break;
    case session_action::send_confirmation: sent.flags = message_frame::confirms; break;
    case session_action::send_credit:
    case session_action::nothing:
    case session_action::finish: break;
  }
  if (sent.is_credit()) must_greet_ = false;
  must_confirm_ = is_closing_ || is_closed_by_peer_;
  // These have the number of messages received.
  if (sent.is_credit() || sent.type == message_frame_type::close) must_confirm_close_ = false;
  stamp(sent);
  return sent;
}

}  // namespace adverb::inline ADVERB_ABI::detail
