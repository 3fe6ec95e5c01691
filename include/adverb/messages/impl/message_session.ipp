// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <utility>

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
      credits_{agreed.receives, agreed.receives_of_peer, agreed.granted_by_peer, agreed.share},
      due_{agreed.resumes || agreed.share != nullptr ? always_due : 0},
      blocked_{agreed.waits_for_peer ? until_heard : std::uint8_t{0}},
      must_greet_{agreed.sends_first},
      messages_before_(counted_frames(agreed.receives_of_peer)) {}

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
    // It is over, or withdrawn when it has been offered again.
    if (each.at == outgoing_offer::phase::ended ||
        each.at == outgoing_offer::phase::must_offer_again)
      continue;
    if (each.at == outgoing_offer::phase::offered) ++due_;
    each.at = outgoing_offer::phase::must_withdraw;
  }
}

ADVERB_FUNC bool message_session::tick() noexcept {
  silent_ticks_ = has_heard_ ? 0 : silent_ticks_ + 1;
  has_heard_ = false;
  const bool is_probed = limits_.peer_may_be_silent && limits_.link_probes;
  must_probe_ = must_probe_ || (silent_ticks_ == ticks_to_probe && !is_probed);
  must_confirm_ = must_confirm_ || credits_.may_confirm();
  must_return_ = credits_.surplus() != 0 && sent_at_tick_ == credits_.sent();
  must_greet_ = must_greet_ || must_return_;
  sent_at_tick_ = credits_.sent();
  return limits_.peer_may_be_silent || silent_ticks_ < ticks_to_death;
}

ADVERB_FUNC bool message_session::find_outgoing(const message_frame& received) noexcept {
  outgoing_ = std::ranges::find_if(offers_, [&](const outgoing_offer& each) {
    return each.at != outgoing_offer::phase::unused && each.sequence == received.sequence &&
           !each.is_answered && each.at != outgoing_offer::phase::must_offer_again;
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
      if (received.sequence != next_in_) return check_offer_again(received);
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
  has_heard_ = true;
  blocked_ &= static_cast<std::uint8_t>(~until_heard);
  if (const auto violated = check(received, size); violated != session_violation::none)
    return violate(violated);
  if (!credits_.receive(received)) return violate(session_violation::wrong_grant);
  // A frame may have confirmed more: the program holds messages whose receives are not posted
  // again. The count of a frame that many others have followed is gone.
  const std::uint32_t known = credits_.known_received();
  if (credits_.sent() - known < messages_before_.size()) [[likely]]
    static_cast<void>(confirm(messages_before(known)));
  switch (received.type) {
    case message_frame_type::data: ++next_in_; return session_arrival::message;
    case message_frame_type::offer: return receive_offer(received);
    case message_frame_type::take: return receive_take();
    case message_frame_type::taken:
      note_end_of_peer();
      release(*incoming_);
      return session_arrival::taken;
    case message_frame_type::refused:
      if ((received.flags & message_frame::withdrawn) == 0) return receive_refused();
      note_end_of_peer();
      // It may cross the answer.
      return find_incoming(received) ? receive_withdrawn() : session_arrival::none;
    case message_frame_type::probe: must_confirm_ = true; [[fallthrough]];
    case message_frame_type::credit:
      if (!confirm(received.sequence)) return violate(session_violation::wrong_sequence);
      if (limits_.resumes && !confirm_ends(received.length))
        return violate(session_violation::wrong_sequence);
      return session_arrival::none;
    case message_frame_type::close:
      if (!confirm(received.length)) return violate(session_violation::wrong_sequence);
      is_closed_by_peer_ = must_confirm_close_ = must_confirm_ = true;
      return session_arrival::close;
    case message_frame_type::failed: return session_arrival::failed;
  }
  return session_arrival::none;
}

// These are not inlined, so that a frame without an offer saves fewer registers.
[[gnu::noinline]] ADVERB_FUNC session_arrival
message_session::receive_offer(const message_frame& received) noexcept {
  if (received.sequence != next_in_) [[unlikely]]
    return receive_offer_again(received);
  ++next_in_;
  ++offers_in_;
  incoming_ =
      std::ranges::find(offers_of_peer_, incoming_offer::phase::unused, &incoming_offer::at);
  *incoming_ = {.at = incoming_offer::phase::offered,
                .sequence = received.sequence,
                .length = received.length,
                .link = link_};
  return session_arrival::offer;
}

[[gnu::noinline]] ADVERB_FUNC session_violation
message_session::check_offer_again(const message_frame& received) noexcept {
  const bool is_again = link_ != 0 && received.type == message_frame_type::offer &&
                        (received.flags & message_frame::again) != 0 &&
                        static_cast<std::int32_t>(received.sequence - next_in_) < 0;
  if (!is_again) return session_violation::wrong_sequence;
  if (!find_incoming(received))
    return offers_in_ == most_offers ? session_violation::too_many_offers : session_violation::none;
  return incoming_->link != link_ && incoming_->length == received.length
             ? session_violation::none
             : session_violation::unknown_offer;
}

// An offer that is not known was refused, and the answer is lost. A known one can be answered now.
[[gnu::noinline]] ADVERB_FUNC session_arrival
message_session::receive_offer_again(const message_frame& received) noexcept {
  if (!find_incoming(received)) {
    ++offers_in_;
    incoming_ =
        std::ranges::find(offers_of_peer_, incoming_offer::phase::unused, &incoming_offer::at);
    *incoming_ = {.sequence = received.sequence, .length = received.length};
    refuse(*incoming_);
  }
  incoming_->link = link_;
  return session_arrival::none;
}

ADVERB_FUNC void message_session::note_end(outgoing_offer& which,
                                           outgoing_offer::phase next) noexcept {
  which.end_number = ends_sent_++;
  which.at = next;
}

ADVERB_FUNC void message_session::settle(outgoing_offer& which) noexcept {
  if (!limits_.resumes || is_end_confirmed(which))
    release(which);
  else
    which.at = outgoing_offer::phase::ended;
}

[[gnu::noinline]] ADVERB_FUNC session_arrival message_session::receive_take() noexcept {
  outgoing_->is_answered = true;
  if (outgoing_->at == outgoing_offer::phase::withdrawn) settle(*outgoing_);
  if (outgoing_->at != outgoing_offer::phase::offered) return session_arrival::none;
  outgoing_->at = outgoing_offer::phase::must_write;
  ++due_;
  return session_arrival::take;
}

[[gnu::noinline]] ADVERB_FUNC session_arrival message_session::receive_refused() noexcept {
  if (outgoing_->at == outgoing_offer::phase::must_withdraw) --due_;
  const bool is_awaited = outgoing_->at == outgoing_offer::phase::offered;
  release(*outgoing_);
  return is_awaited ? session_arrival::refused : session_arrival::none;
}

[[gnu::noinline]] ADVERB_FUNC session_arrival message_session::receive_withdrawn() noexcept {
  incoming_->is_withdrawn = true;
  incoming_->link = link_;
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
  if ((blocked_ & until_heard) != 0) return session_action::nothing;
  if (limits_.share != nullptr) credits_.balance();
  if ((due_ & ~always_due) != 0 && credits_.may_send_control()) {
    for (outgoing_offer& each : offers_) {
      outgoing_ = &each;
      if (each.at == outgoing_offer::phase::must_write) return session_action::write;
      if (each.at == outgoing_offer::phase::must_offer_again)
        return session_action::send_offer_again;
      if (each.at == outgoing_offer::phase::must_withdraw && !is_to_come(each))
        return session_action::send_withdrawn;
    }
    for (incoming_offer& each : offers_of_peer_) {
      incoming_ = &each;
      if (each.link != link_) continue;
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
  if (limits_.resumes) return next_of_resumption();
  return is_finished() ? session_action::finish : session_action::nothing;
}

[[gnu::noinline]] ADVERB_FUNC session_action message_session::next_of_resumption() noexcept {
  if (released_ != confirmed_) return session_action::release_confirmed;
  for (outgoing_offer& each : offers_) {
    if (each.at != outgoing_offer::phase::ended || !is_end_confirmed(each)) continue;
    outgoing_ = &each;
    return session_action::complete_offer;
  }
  if (replays_ != 0 && credits_.may_send_message()) return session_action::send_again;
  // The peer needs it for its next question.
  if (credits_.may_confirm()) return session_action::send_confirmation;
  if (needs_confirmation() && credits_.may_send_credit()) return session_action::send_probe;
  return is_finished() ? session_action::finish : session_action::nothing;
}

ADVERB_FUNC session_point message_session::break_link() noexcept {
  for (incoming_offer& each : offers_of_peer_) {
    if (each.at == incoming_offer::phase::taken) {
      answer(each, incoming_offer::phase::must_take);
    } else if (each.at == incoming_offer::phase::must_refuse && each.is_withdrawn) {
      // The peer learns from the count of ends that this side has seen it.
      release(each);
      --due_;
    }
  }
  credits_.begin_again();
  return {.next = next_in_,
          .ends = ends_received_,
          .granted = credits_.granted_now(),
          .has_close = is_closed_by_peer_};
}

ADVERB_FUNC session_violation message_session::resume(const session_point& of_peer) noexcept {
  const std::uint32_t sent = next_out_ - confirmed_;
  if (of_peer.next - confirmed_ > sent) return session_violation::wrong_sequence;
  if (!confirm_ends(of_peer.ends)) return session_violation::wrong_sequence;
  if (of_peer.granted > credits_.of_peer()) return session_violation::wrong_grant;
  if (of_peer.has_close && (!is_close_sent_ || of_peer.next != next_out_))
    return session_violation::wrong_sequence;
  ++link_;
  replays_ += next_out_ - of_peer.next;
  confirmed_ = next_out_ = of_peer.next;
  ends_sent_ = ends_confirmed_;
  credits_.set_granted(of_peer.granted);
  // Grants for messages of links before confirm nothing.
  std::ranges::fill(messages_before_, confirmed_);
  for (outgoing_offer& each : offers_)
    if (each.at != outgoing_offer::phase::unused) reconcile(each, of_peer);
  due_ = always_due;
  for (const outgoing_offer& each : offers_)
    due_ += std::uint32_t{each.at == outgoing_offer::phase::must_offer_again ||
                          each.at == outgoing_offer::phase::must_withdraw};
  for (const incoming_offer& each : offers_of_peer_)
    due_ += std::uint32_t{each.at == incoming_offer::phase::must_take ||
                          each.at == incoming_offer::phase::must_refuse};
  is_close_sent_ = of_peer.has_close;
  had_finished_ = false;
  silent_ticks_ = 0;
  blocked_ = replays_ != 0 ? until_replayed : std::uint8_t{0};
  if (limits_.waits_for_peer) blocked_ |= until_heard;
  must_greet_ = limits_.sends_first;
  must_probe_ = must_return_ = must_confirm_close_ = false;
  must_confirm_ = is_closing_ || is_closed_by_peer_;
  return session_violation::none;
}

[[gnu::noinline]] ADVERB_FUNC void message_session::reconcile(
    outgoing_offer& which, const session_point& of_peer) noexcept {
  using phase = outgoing_offer::phase;
  const bool has_ended = which.at == phase::ended || which.at == phase::withdrawn;
  if (has_ended && is_end_confirmed(which)) {
    if (which.owner == nullptr)
      release(which);
    else
      which.at = phase::ended;
    return;
  }
  which.is_answered = false;
  if (which.sequence - of_peer.next >= replays_)
    which.at = phase::must_offer_again;
  else
    which.at = which.owner != nullptr ? phase::offered : phase::must_withdraw;
}

ADVERB_FUNC bool message_session::finish_alone() noexcept {
  if (!is_closed_by_peer_ || !is_closing_ || unconfirmed() != 0) return false;
  is_close_sent_ = true;
  must_confirm_close_ = false;
  return true;
}

ADVERB_FUNC bool message_session::finish_after_peer() noexcept {
  if (!is_close_sent_ || offers_out_ != 0) return false;
  confirmed_ = next_out_ += std::exchange(replays_, 0);
  is_closed_by_peer_ = true;
  must_confirm_close_ = false;
  return true;
}

ADVERB_FUNC std::uint8_t message_session::return_credits() noexcept {
  must_return_ = false;
  const std::uint32_t count = credits_.surplus();
  for (std::uint32_t each = 1; each <= count; ++each)
    messages_before(credits_.sent() + each) = next_out_;
  return static_cast<std::uint8_t>(count);
}

ADVERB_FUNC message_frame message_session::perform(session_action action) noexcept {
  message_frame sent{
      .type = message_frame_type::credit, .length = ends_received_, .sequence = next_in_};
  had_finished_ = is_finished();
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
      if (limits_.resumes)
        note_end(*outgoing_, outgoing_offer::phase::ended);
      else
        release(*outgoing_);
      --due_;
      break;
    case session_action::send_offer_again:
      sent = {.type = message_frame_type::offer,
              .flags = message_frame::again,
              .length = outgoing_->length,
              .sequence = outgoing_->sequence};
      outgoing_->at = outgoing_->owner != nullptr ? outgoing_offer::phase::offered
                                                  : outgoing_offer::phase::must_withdraw;
      if (outgoing_->owner != nullptr) --due_;
      break;
    case session_action::send_withdrawn:
      sent = {.type = message_frame_type::refused,
              .flags = message_frame::withdrawn,
              .sequence = outgoing_->sequence};
      note_end(*outgoing_, outgoing_offer::phase::withdrawn);
      if (outgoing_->is_answered) settle(*outgoing_);
      --due_;
      break;
    case session_action::send_confirmation: sent.flags = message_frame::confirms; break;
    case session_action::send_credit:
      if (must_return_) sent.lane = return_credits();
      break;
    case session_action::nothing:
    case session_action::release_confirmed:
    case session_action::complete_offer:
    case session_action::send_again:
    case session_action::finish: break;
  }
  if (sent.is_credit()) must_greet_ = must_return_;
  must_confirm_ = is_closing_ || is_closed_by_peer_;
  // These have the number of messages received.
  if (sent.is_credit() || sent.type == message_frame_type::close) must_confirm_close_ = false;
  stamp(sent);
  return sent;
}

}  // namespace adverb::inline ADVERB_ABI::detail
