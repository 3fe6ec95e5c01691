// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <adverb/core/detail/byte_order.hpp>
#include <adverb/core/detail/deadline.hpp>
#include <adverb/messages/detail/channel_state.hpp>
#include <adverb/messages/detail/resumable_carrier.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC channel_state::channel_state(std::unique_ptr<frame_carrier> carrier,
                                         resumable_carrier* resumption,
                                         const messages::channel_options& options,
                                         const handshake& mine, const handshake& of_peer,
                                         bool is_connecting, on_failure policy)
    : carrier_{std::move(carrier)},
      loop_{&carrier_->loop()},
      resumption_{resumption},
      share_{carrier_->take_share()},
      session_{[&] {
        session_limits limits = mine.limits_with(of_peer);
        limits.sends_first = carrier_->is_iwarp() && is_connecting;
        limits.waits_for_peer = carrier_->is_iwarp() && !is_connecting;
        limits.link_probes = carrier_->network() == messages::network::tcp;
        if (share_) limits.share = &share_;
        return limits;
      }()},
      close_timeout_{options.close_timeout} {
  const std::uint32_t size = session_.limits().block_size_of_peer;
  memory_ =
      carrier_->memory(std::size_t{options.max_frames} * size, access_right::local_write, policy);
  if (policy.failed()) return;
  slots_.resize(options.max_frames);
  for (std::size_t index = 0; index < slots_.size(); ++index) {
    slots_[index] = {.owner = this,
                     .memory = memory_.buffer().slice(index * size, size),
                     .bytes = memory_.bytes().data() + index * size,
                     .next_free = free_};
    free_ = &slots_[index];
  }
  free_count_ = options.max_frames;
  for (std::uint32_t i = 0; i < mine.receives; ++i) {
    arrived_message& added = arrived_.emplace_back();
    added.next = std::exchange(unused_, &added);
  }
  if (resumption_ != nullptr) at_sent_ = sent_rule::keeps;
  if (share_) share_.set_waiter(loan_waiter_);
  const timeout dead_after = mine.dead_after_with(of_peer);
  if (!dead_after.is_endless())
    tick_interval_ = dead_after.count() / message_session::ticks_to_death;
}

ADVERB_FUNC void channel_state::begin() {
  if (tick_interval_ != 0) loop().set_timer(tick_timer_, deadline::now() + tick_interval_);
  add_reference();
  advance();
  carrier_->start(*this);
}

ADVERB_FUNC void channel_state::detach() noexcept {
  // The last frame of a channel that fails is on its way.
  if (at_sent_ != sent_rule::ends && !take_leave()) carrier_->detach();
  release();
}

ADVERB_FUNC void channel_state::cancel() noexcept {
  if (take_leave())
    resumption_->note_cancelled();
  else
    carrier_->cancel();
}

ADVERB_FUNC void channel_state::ended(const failure& why) {
  if (resumption_ == nullptr) {
    end(why);
  } else if (resumption_->outlasts(why)) {
    return;
  } else {
    end(resumption_->cause_of_end(why));
  }
  if (share_) leave_share();
  release();
}

ADVERB_FUNC void channel_state::leave_share() noexcept {
  auto held = static_cast<std::uint32_t>(arrived_.size());
  for (const arrived_message* each = unused_; each != nullptr; each = each->next) --held;
  loan_waiter_.leave();
  share_.leave(held);
}

// Broken links.

ADVERB_FUNC bool channel_state::is_broken() const noexcept {
  return resumption_ != nullptr && !has_ended_ && !carrier_->is_open() && resumption_->may_resume();
}

ADVERB_FUNC bool channel_state::holds_block_of(const frame_carrier& which) const noexcept {
  return std::ranges::any_of(arrived_,
                             [&](const arrived_message& each) { return each.block.is_of(which); });
}

ADVERB_FUNC void channel_state::resumed(on_failure policy) {
  policy.clear();
  ++statistics_.resumptions;
  for (arrived_message& each : arrived_) {
    if (each.taking == nullptr || policy.failed()) continue;
    message_receipt& taking = *each.taking;
    taking.region_ = memory_region{};
    taking.handle_ = carrier_->open(taking.memory_, taking.region_, policy);
  }
}

ADVERB_FUNC bool channel_state::take_leave() noexcept {
  if (resumption_ == nullptr || at_sent_ != sent_rule::keeps) return false;
  if (!may_post() || free_ == nullptr || !session_.may_send_failed()) return false;
  at_sent_ = sent_rule::ends;
  post(take_slot(session_.send_failed(session_violation::none)), message_frame::header_size);
  resumption_->retire();
  constexpr timeout longest = seconds{1};
  loop().set_timer_after(close_timer_, longest);
  return true;
}

ADVERB_FUNC void channel_state::release_slot(frame_slot& slot) {
  free_slot(slot);
  if (slot.waiting != nullptr) finish(*std::exchange(slot.waiting, nullptr));
}

ADVERB_FUNC void channel_state::sent_by_rule(frame_slot& slot, bool succeeded) {
  const bool is_write = static_cast<message_frame_type>(slot.bytes[0]) == message_frame_type::taken;
  message_dispatch* const waiting = slot.waiting;
  if (resumption_ != nullptr) resumption_->frame_sent(succeeded);
  if (!slot.is_kept) free_slot(slot);
  if (waiting != nullptr && (has_ended_ || resumption_ == nullptr)) {
    if (succeeded || has_ended_) {
      slot.waiting = nullptr;
      const bool has_arrived = waiting->at_ == message_dispatch::phase::confirmed;
      finish(*waiting, has_arrived || (succeeded && !slot.is_kept) ? 0 : refused_by_end);
    }
  } else if (waiting != nullptr && is_write) {
    slot.waiting = nullptr;
    if (waiting->at_ == message_dispatch::phase::confirmed)
      finish(*waiting);
    else
      waiting->at_ = message_dispatch::phase::unconfirmed;
  } else if (waiting != nullptr && !slot.is_kept) {
    slot.waiting = nullptr;
    finish(*waiting);
  }
  advance();
  const bool is_last =
      resumption_ != nullptr ? resumption_->is_idle() : free_count_ == slots_.size();
  if (at_sent_ == sent_rule::ends && is_last) carrier_->cancel();
  release();
}

ADVERB_FUNC void channel_state::complete_offer() {
  auto* const which = static_cast<message_dispatch*>(session_.outgoing().owner);
  session_.complete();
  if (which == nullptr) return;
  if (which->at_ == message_dispatch::phase::posted)
    which->at_ = message_dispatch::phase::confirmed;
  else
    finish(*which);
}

// Frames of the peer.

ADVERB_FUNC std::span<std::byte> channel_state::landing_of(const message_frame& taken) noexcept {
  if (has_ended_) return {};
  const auto* const which = static_cast<const arrived_message*>(session_.owner_of_taken(taken));
  return which != nullptr && which->taking != nullptr ? which->taking->memory()
                                                      : std::span<std::byte>{};
}

ADVERB_FUNC void channel_state::receive(frame_block&& got) {
  if (has_ended_) return;
  const std::span<const std::byte> bytes = got.bytes();
  if (bytes.size() < message_frame::header_size) return violate(session_violation::wrong_size);
  const auto header = message_frame::decode(bytes.first<message_frame::header_size>());
  const auto tag = [&] {
    if ((header.flags & message_frame::tagged) == 0) return std::uint64_t{0};
    return load_little_endian<0, std::uint64_t>(
        bytes.subspan<message_frame::header_size, message_frame::tag_size>());
  };
  switch (session_.receive(header, bytes.size())) {
    case session_arrival::message: {
      arrived_message& added = *std::exchange(unused_, unused_->next);
      added.header = header;
      added.tag = tag();
      added.block = std::move(got);
      deliver(added);
      return advance();
    }
    case session_arrival::offer: {
      ++statistics_.offers_received;
      if (session_.is_closing()) {
        // It has crossed the end of this side, which has refused the others.
        count_received(header);
        session_.refuse(session_.incoming());
        break;
      }
      arrived_message& added = *std::exchange(unused_, unused_->next);
      added.header = header;
      added.tag = tag();
      added.offer = &session_.incoming();
      added.offer->owner = &added;
      got = frame_block{};
      deliver(added);
      return advance();
    }
    case session_arrival::take: {
      auto& sender = *static_cast<message_dispatch*>(session_.outgoing().owner);
      std::error_code why;
      sender.target_ = decltype(sender.target_)::decode(
          bytes.subspan<message_frame::header_size, message_session::take_size>(), why);
      if (why || sender.target_.size() < sender.parts_->size)
        return violate(session_violation::unknown_offer);
      break;
    }
    case session_arrival::refused:
      finish(*static_cast<message_dispatch*>(session_.outgoing().owner), ECONNREFUSED);
      break;
    case session_arrival::taken:
    case session_arrival::withdrawn:
      complete_receipt(static_cast<arrived_message*>(session_.incoming().owner),
                       header.type == message_frame_type::taken);
      break;
    case session_arrival::close:
      while (!senders_.empty()) {
        auto& first = static_cast<message_dispatch&>(senders_.front());
        first.leave();
        finish(first, EPIPE);
      }
      break;
    case session_arrival::failed: return end_as_told(header.length);
    case session_arrival::violation: return violate(session_.violation());
    case session_arrival::none: break;
  }
  // The receive is posted again before a frame can grant it.
  got = frame_block{};
  session_.receive_posted(header);
  advance();
}

ADVERB_FUNC void channel_state::count_received(const message_frame& header) noexcept {
  ++statistics_.messages_received;
  statistics_.bytes_received += header.length;
}

ADVERB_FUNC void channel_state::deliver(arrived_message& which) {
  count_received(which.header);
  which.next = nullptr;
  (first_ == nullptr ? first_ : last_->next) = &which;
  last_ = &which;
  if (!receivers_.empty()) resume(receivers_.front());
}

ADVERB_FUNC arrived_message* channel_state::take_next(on_failure policy) {
  policy.clear();
  arrived_message* const first = first_;
  if (first != nullptr) [[likely]] {
    first_ = first->next;
    add_reference();
    return first;
  }
  if (!session_.is_closed_by_peer()) report("messages::channel::next", policy);
  return nullptr;
}

ADVERB_FUNC void channel_state::give_back(arrived_message& which) noexcept {
  // The operation that takes it needs it.
  which.is_dropped = which.taking != nullptr;
  if (which.is_dropped) return;
  if (which.offer != nullptr) {
    which.offer->owner = nullptr;
    if (which.offer->at == incoming_offer::phase::offered) session_.refuse(*which.offer);
  }
  // An offer keeps its credit, too, so the program bounds what the peer can send ahead.
  which.offer = nullptr;
  // The receive is posted again before a frame can grant it.
  which.block = frame_block{};
  which.next = std::exchange(unused_, &which);
  session_.receive_posted(which.header);
  if (resumption_ != nullptr) [[unlikely]]
    resumption_->message_returned();
  advance(caller::program);
  release();
}

ADVERB_FUNC void channel_state::complete_receipt(arrived_message* which, bool is_written) {
  if (which == nullptr) return;
  which->offer = nullptr;
  message_receipt* const taking = std::exchange(which->taking, nullptr);
  if (taking == nullptr) return;
  taking->region_ = memory_region{};
  taking->is_complete_ = is_written;
  taking->message_ = nullptr;
  resume(*taking);
  if (which->is_dropped) give_back(*which);
}

ADVERB_FUNC failure channel_state::violation_of(const char* by, session_violation which) {
  failure why;
  on_failure{why}.report(EPROTO, "messages::channel", [&](failure_description& description) {
    description.explain([&](text_writer& writer) { writer.put(by).put(describe(which)); });
  });
  return why;
}

ADVERB_FUNC void channel_state::violate(session_violation which) {
  const failure why = violation_of("a frame of the peer violates the protocol: ", which);
  if (!may_post() || free_ == nullptr || !session_.may_send_failed()) return fail(why);
  // The peer learns the reason. When the frame is sent, the connection ends.
  at_sent_ = sent_rule::ends;
  post(take_slot(session_.send_failed(which)), message_frame::header_size);
  constexpr timeout longest = seconds{1};
  loop().set_timer_after(close_timer_, longest);
  end(why);
}

ADVERB_FUNC void channel_state::end_as_told(std::uint32_t reason) {
  if (reason == 0) return fail(failure{});
  fail(violation_of(
      "the peer ended the channel, because a frame of this side violates the protocol: ",
      static_cast<session_violation>(reason)));
}

// A waiter that is resumed may destroy the channel.
ADVERB_FUNC void channel_state::fail(const failure& why) {
  const channel_reference kept{*this};
  end(why);
  cancel();
}

// Every reference is taken before: what is resumed may destroy the channel.
ADVERB_FUNC void channel_state::end(const failure& why) {
  if (has_ended_) return;
  has_ended_ = true;
  if (resumption_ != nullptr) resumption_->retire();
  if (!session_.is_finished()) why_ = why;
  // The device may still use the memory of the others.
  for (frame_slot& each : slots_)
    if (each.waiting != nullptr && !each.is_posted)
      finish(*std::exchange(each.waiting, nullptr), refused_by_end);
  while (!senders_.empty()) {
    auto& first = static_cast<message_dispatch&>(senders_.front());
    first.leave();
    finish(first, refused_by_end);
  }
  session_.for_each_outgoing([&](void* owner) {
    auto* const which = static_cast<message_dispatch*>(owner);
    // The device may still use the memory of one that is written.
    if (which != nullptr && (which->at_ == message_dispatch::phase::offered ||
                             which->at_ == message_dispatch::phase::unconfirmed))
      finish(*which, refused_by_end);
  });
  for (arrived_message& each : arrived_) complete_receipt(&each, false);
  resume_all(receivers_);
  resume_all(closers_);
}

// Frames of this side.

// The wait for frames keeps the channel, whatever those do that go on.
ADVERB_FUNC void channel_state::advance(caller by) {
  while (!session_.is_idle() && may_post() && free_ != nullptr && perform(session_.next(), by)) {
  }
  while (!senders_.empty()) {
    auto& first = static_cast<message_dispatch&>(senders_.front());
    if (!may_dispatch(first)) return;
    first.leave();
    note_end_of_stall(first);
    dispatch(first);
    if (first.at_ != message_dispatch::phase::finished) continue;
    if (by == caller::loop)
      resume(first);
    else
      loop().resume_later(first);
  }
  if (!is_closing_ || session_.is_closing() || !may_post()) return;
  session_.close();
  session_.refuse_all([](void* owner) {
    if (owner != nullptr) static_cast<arrived_message*>(owner)->offer = nullptr;
  });
  advance(by);
}

ADVERB_FUNC bool channel_state::perform(session_action action, caller by) {
  if (action == session_action::nothing) return false;
  if (action >= session_action::finish) return perform_without_slot(action, by);
  if (action == session_action::write) {
    auto& which = *static_cast<message_dispatch*>(session_.outgoing().owner);
    write_offer(which, session_.perform(action));
    return true;
  }
  const incoming_offer* const taken =
      action == session_action::send_take ? &session_.incoming() : nullptr;
  frame_slot& slot = take_slot(session_.perform(action));
  std::uint32_t size = message_frame::header_size;
  if (taken != nullptr) {
    const message_receipt& taking = *static_cast<arrived_message*>(taken->owner)->taking;
    const auto target = taking.handle_.encode();
    std::memcpy(slot.bytes + size, target.data(), message_session::take_size);
    size += message_session::take_size;
  }
  post(slot, size);
  return true;
}

ADVERB_FUNC bool channel_state::perform_without_slot(session_action action, caller by) {
  const bool resumes =
      action == session_action::release_confirmed || action == session_action::complete_offer;
  if (resumes && by == caller::program) {
    resumption_->turn_soon();
    return false;
  }
  switch (action) {
    case session_action::release_confirmed:
      resumption_->release_confirmed(session_.take_confirmed());
      return true;
    case session_action::complete_offer: complete_offer(); return true;
    case session_action::send_again:
      ++statistics_.messages_replayed;
      resumption_->send_again();
      return true;
    default:
      if (free_count_ == slots_.size()) finish_close();
      return false;
  }
}

ADVERB_FUNC bool channel_state::may_dispatch(const message_dispatch& which) const noexcept {
  if (!may_post() || !has_room()) return false;
  return which.parts_->size <= session_.longest_eager(which.parts_->flags)
             ? session_.may_send_message()
             : session_.may_offer();
}

ADVERB_FUNC bool channel_state::try_send(const message_parts& parts) {
  const bool is_closed = is_closing_ || session_.is_closed_by_peer();
  if (is_closed || !senders_.empty() || parts.size > session_.longest_eager(parts.flags) ||
      parts.size > session_.limits().longest)
    return false;
  message_dispatch sent{nullptr, *this};
  sent.parts_ = &parts;
  if (!may_dispatch(sent)) return false;
  dispatch(sent);
  return true;
}

ADVERB_FUNC void channel_state::note_stall(message_dispatch& which) noexcept {
  which.waits_for_credit_ = has_room() || !session_.may_send_message();
  which.waits_since_ = deadline::now();
  ++(which.waits_for_credit_ ? statistics_.stalls_for_credit : statistics_.stalls_for_room);
}

ADVERB_FUNC void channel_state::note_end_of_stall(const message_dispatch& which) noexcept {
  const std::chrono::nanoseconds length{deadline::now() - which.waits_since_};
  (which.waits_for_credit_ ? statistics_.stalled_for_credit : statistics_.stalled_for_room) +=
      length;
}

ADVERB_FUNC void channel_state::dispatch(message_dispatch& which) {
  const message_parts& parts = *which.parts_;
  const message_frame made{
      .flags = parts.flags, .lane = parts.lane, .length = static_cast<std::uint32_t>(parts.size)};
  const bool is_offer = made.length > session_.longest_eager(made.flags);
  ++statistics_.messages_sent;
  statistics_.bytes_sent += parts.size;
  frame_slot& slot =
      take_slot(is_offer ? session_.send_offer(made, &which) : session_.send_message(made));
  if (made.flags != 0) {
    std::array<std::byte, message_frame::tag_size> tag{};
    store_little_endian<0, std::uint64_t>(tag, parts.tag);
    std::memcpy(slot.bytes + message_frame::header_size, tag.data(), tag.size());
  }
  const auto front_size = static_cast<std::uint32_t>(made.front_size());
  if (is_offer) {
    ++statistics_.offers_sent;
    which.at_ = message_dispatch::phase::offered;
    return post(slot, front_size);
  }
  const std::uint32_t size = copy_parts(slot, front_size, parts);
  statistics_.bytes_copied += parts.copied_size;
  if (parts.buffer_count == 0) {
    which.at_ = message_dispatch::phase::finished;
    return post(slot, size);
  }
  std::array<const_buffer, 1 + message_parts::most_parts> list{
      slot.memory.unchecked_slice(0, size)};
  std::copy_n(parts.buffers.begin(), parts.buffer_count, list.begin() + 1);
  which.at_ = message_dispatch::phase::posted;
  slot.waiting = &which;
  post(slot, std::span<const const_buffer>{list}.first(1 + parts.buffer_count));
}

ADVERB_FUNC void channel_state::write_offer(message_dispatch& which, const message_frame& taken) {
  const message_parts& parts = *which.parts_;
  frame_slot& slot = take_slot(taken);
  static_cast<void>(copy_parts(slot, message_frame::header_size, parts));
  std::array<const_buffer, 1 + message_parts::most_parts> list{};
  std::size_t count = 0;
  if (parts.copied_size != 0)
    list[count++] = slot.memory.unchecked_slice(message_frame::header_size,
                                                static_cast<std::uint32_t>(parts.copied_size));
  for (std::uint32_t i = 0; i < parts.buffer_count; ++i) list[count++] = parts.buffers[i];
  which.at_ = message_dispatch::phase::posted;
  slot.waiting = &which;
  carrier_->write(slot, which.target_, std::span<const const_buffer>{list}.first(count),
                  slot.memory.unchecked_slice(0, message_frame::header_size));
  posted(slot);
  if (slot.is_posted || resumption_ == nullptr) return;
  // The next link does it again, unless the channel ends before.
  slot.waiting = nullptr;
  which.at_ = message_dispatch::phase::unconfirmed;
}

ADVERB_FUNC std::uint32_t channel_state::copy_parts(const frame_slot& slot, std::size_t filled,
                                                    const message_parts& parts) noexcept {
  for (std::uint32_t i = 0; i < parts.copied_count; ++i) {
    if (!parts.copied[i].empty())
      std::memcpy(slot.bytes + filled, parts.copied[i].data(), parts.copied[i].size());
    filled += parts.copied[i].size();
  }
  return static_cast<std::uint32_t>(filled);
}

ADVERB_FUNC frame_slot& channel_state::take_slot(const message_frame& header) noexcept {
  frame_slot& slot = *std::exchange(free_, free_->next_free);
  --free_count_;
  const auto bytes = header.encode();
  std::memcpy(slot.bytes, bytes.data(), bytes.size());
  return slot;
}

ADVERB_FUNC void channel_state::post(frame_slot& slot, std::uint32_t size) {
  const const_buffer whole = slot.memory.unchecked_slice(0, size);
  post(slot, std::span{&whole, 1});
}

ADVERB_FUNC void channel_state::post(frame_slot& slot, std::span<const const_buffer> frame) {
  carrier_->send(slot, frame);
  posted(slot);
}

ADVERB_FUNC void channel_state::posted(frame_slot& slot) noexcept {
  if (slot.is_posted) [[likely]]
    return add_reference();
  if (!slot.is_kept) free_slot(slot);
}

ADVERB_FUNC void channel_state::sent(frame_slot& slot, bool succeeded) {
  slot.is_posted = false;
  if (at_sent_ != sent_rule::frees) [[unlikely]]
    return sent_by_rule(slot, succeeded);
  const bool was_full = free_ == nullptr;
  slot.next_free = std::exchange(free_, &slot);
  ++free_count_;
  // A failure is reported when the carrier has ended, with its cause.
  if (slot.waiting != nullptr && (succeeded || has_ended_))
    finish(*std::exchange(slot.waiting, nullptr), succeeded ? 0 : refused_by_end);
  // Frames wait for room, or for the completion of all others.
  if (was_full || !senders_.empty() || !session_.is_idle()) advance();
  release();
}

ADVERB_FUNC void channel_state::finish(message_dispatch& which, int refusal) {
  which.refusal_ = refusal;
  which.at_ = message_dispatch::phase::finished;
  resume(which);
}

ADVERB_FUNC bool channel_state::start_close() {
  if (has_ended_ || session_.is_finished()) return true;
  if (!is_closing_) {
    is_closing_ = true;
    if (!close_timeout_.is_endless())
      loop().set_timer(close_timer_, deadline::now() + close_timeout_.count());
    advance(caller::program);
  }
  return has_ended_;
}

ADVERB_FUNC void channel_state::finish_close() {
  end(failure{});
  carrier_->close(0);
}

ADVERB_FUNC void channel_state::report(const char* verb, on_failure policy) const {
  if (why_) return policy.report(why_);
  const bool is_whole = session_.is_finished();
  if (has_ended_ && !is_whole)
    return policy.report(ECONNRESET, verb, [](failure_description& description) {
      description.explain("the peer ended the connection without closing the channel");
    });
  policy.report(is_whole || session_.is_closing() ? EPIPE : ECANCELED, verb,
                [&](failure_description& description) {
                  description.explain(is_whole ? "both sides have closed the channel"
                                               : "the channel is closed or cancelled");
                });
}

ADVERB_FUNC void channel_state::report_late(const char* verb, on_failure policy) {
  policy.report(ETIMEDOUT, verb, [](failure_description& description) {
    description.explain("nothing came within the time that the program has set");
  });
}

ADVERB_FUNC void channel_state::report_close(on_failure policy) const {
  if (session_.is_finished()) return policy.clear();
  report("messages::channel::close", policy);
}

ADVERB_FUNC std::string_view channel_state::why_stalled() const noexcept {
  if (has_ended_) return {};
  if (is_broken()) return "the link is broken, and is being connected again";
  if (share_ && !session_.grants_a_message())
    return "no receives of the loop are left, and the program holds those of the channel";
  if (unused_ == nullptr || !carrier_->is_audible())
    return "the program holds every message: the next one arrives when one is destroyed";
  if (senders_.empty()) return {};
  if (!has_room()) return "as many frames as max_frames allows are in progress";
  if (!session_.may_send_message())
    return session_.limits().granted_by_peer != 0
               ? "the peer grants no more receives; possible causes: it shares them, or its "
                 "program holds them"
               : "the program of the peer holds as many messages as it has receives";
  return "as many offers as a channel can have wait for the peer";
}

ADVERB_FUNC bool channel_state::lent(async::waiter& which) {
  channel_state& self = *static_cast<loan_waiter&>(which).owner;
  which.leave();
  const channel_reference kept{self};
  self.advance();
  return true;
}

ADVERB_FUNC void channel_state::tick(timer& which) {
  channel_state& self = channel_timer::owner_of(which);
  if (self.has_ended_) return;
  const bool is_between_links = self.resumption_ != nullptr && self.resumption_->is_broken();
  if (!is_between_links && !self.session_.tick()) {
    failure why;
    on_failure{why}.report(ETIMEDOUT, "messages::channel", [](failure_description& description) {
      description.explain(
          "no frame of the peer came within dead_after, although it was probed; possible causes: "
          "its process is stopped, its loop is busy or does not run, or the network is down");
    });
    if (self.resumption_ == nullptr || !self.resumption_->replace_link(why)) return self.fail(why);
  }
  self.loop().set_timer(self.tick_timer_, deadline::now() + self.tick_interval_);
  const channel_reference kept{self};
  self.advance();
}

ADVERB_FUNC void channel_state::close_expired(timer& which) {
  channel_state& self = channel_timer::owner_of(which);
  if (self.at_sent_ == sent_rule::ends) return self.carrier_->cancel();
  if (self.has_ended_) return;
  failure why;
  on_failure{why}.report(ETIMEDOUT, "messages::channel::close",
                         [](failure_description& description) {
                           description.explain("the peer did not confirm within close_timeout");
                         });
  self.fail(why);
}

// Messages on their way.

ADVERB_FUNC message_dispatch::~message_dispatch() {
  if (give_up()) return;
  for (auto& each : channel_->slots_)
    if (each.waiting == this) each.waiting = nullptr;
  channel_->session().forget(this);
  channel_->let_go();
}

ADVERB_FUNC void message_dispatch::end_posted() { channel_->cancel(); }

ADVERB_FUNC bool message_dispatch::give_up() noexcept {
  if (at_ == phase::posted || at_ == phase::confirmed) return false;
  leave();
  const phase before = std::exchange(at_, phase::finished);
  if (before == phase::finished) return true;
  if (before != phase::waits_for_room) channel_->session().withdraw(this);
  // Messages behind this one, or the end, may have waited for it.
  channel_->advance(channel_state::caller::program);
  return true;
}

ADVERB_FUNC bool message_dispatch::start(const message_parts& parts) {
  parts_ = &parts;
  channel_state& channel = *channel_;
  const message_session& session = channel.session();
  const bool is_eager = parts.size <= session.longest_eager(parts.flags);
  const std::size_t room = channel.slots_[0].memory.size() - message_frame::header_size;
  if (channel.has_ended_)
    refusal_ = channel_state::refused_by_end;
  else if (channel.is_closing_ || session.is_closed_by_peer())
    refusal_ = EPIPE;
  else if (parts.size > session.limits().longest)
    refusal_ = EMSGSIZE;
  else if (!is_eager && parts.copied_size > room)
    refusal_ = ENOBUFS;
  if (refusal_ != 0) return false;
  const auto precedes = [&](const async::waiter& each) {
    return static_cast<const message_dispatch&>(each).parts_->lane >= parts.lane;
  };
  const bool is_first = channel.senders_.empty() || !precedes(channel.senders_.front());
  if (!is_first || !channel.may_dispatch(*this)) {
    at_ = phase::waits_for_room;
    channel.note_stall(*this);
    channel.senders_.push_behind(*this, precedes);
    return true;
  }
  channel.dispatch(*this);
  return at_ != phase::finished;
}

ADVERB_FUNC void message_dispatch::take_result(on_failure policy) const {
  constexpr const char* verb = "messages::channel::send";
  if (refusal_ == 0) return policy.clear();
  if (refusal_ == channel_state::refused_by_end) return channel_->report(verb, policy);
  policy.report(refusal_, verb, [&](failure_description& description) {
    const message_session& session = channel_->session();
    switch (refusal_) {
      case EPIPE: return description.explain("one side has closed the channel");
      case ECONNREFUSED: return description.explain("the program of the peer refused the message");
      case EMSGSIZE:
        return description.explain("the message has {} bytes, and the ends have agreed on {}",
                                   {parts_->size, session.limits().longest});
      default:
        return description.explain(
            "a message of more than {} bytes must be in registered memory, but for {} bytes that "
            "can be copied",
            {session.longest_eager(), session.longest_eager()});
    }
  });
}

// Messages that the program takes into its memory.

ADVERB_FUNC message_receipt::~message_receipt() {
  if (message_ == nullptr || message_->taking != this) return;
  // The peer may still write.
  message_->taking = nullptr;
  channel_->let_go();
  if (message_->is_dropped) channel_->give_back(*message_);
}

ADVERB_FUNC void message_receipt::end_posted() { channel_->cancel(); }

ADVERB_FUNC bool message_receipt::start(mutable_buffer target) {
  constexpr const char* verb = "messages::incoming::receive_into";
  const on_failure policy{why_};
  const std::size_t length = message_->header.length;
  if (target.size() < length) {
    policy.report(EMSGSIZE, verb, [&](failure_description& description) {
      description.explain("the message has {} bytes, and the memory {}", {length, target.size()});
    });
    return false;
  }
  memory_ = {reinterpret_cast<std::byte*>(target.address()), length};
  if (!message_->is_offer()) {
    if (length != 0)
      std::memcpy(memory_.data(), message_->block.bytes().data() + message_->header.front_size(),
                  length);
    channel_->statistics_.bytes_copied += length;
    is_complete_ = true;
    return false;
  }
  if (message_->offer == nullptr) return false;
  // The next link opens the memory.
  if (!channel_->is_broken()) {
    if (!channel_->may_post()) return false;
    handle_ = channel_->carrier().open(memory_, region_, policy);
    if (why_) return false;
  }
  message_->taking = this;
  channel_->session().take(*message_->offer);
  channel_->advance(channel_state::caller::program);
  return message_->taking == this;
}

ADVERB_FUNC std::span<std::byte> message_receipt::take_result(on_failure policy) const {
  constexpr const char* verb = "messages::incoming::receive_into";
  policy.clear();
  if (is_complete_) return memory_;
  if (why_)
    policy.report(why_);
  else if (channel_->session().is_closing() || (!channel_->may_post() && !channel_->is_broken()))
    channel_->report(verb, policy);
  else
    policy.report(ECANCELED, verb, [](failure_description& description) {
      description.explain("the sender has withdrawn the message");
    });
  return {};
}

}  // namespace adverb::inline ADVERB_ABI::detail
