// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include <adverb/core/detail/lack_of_memory.hpp>
#include <adverb/messages/detail/channel_state.hpp>
#include <adverb/messages/detail/rdma_carrier.hpp>
#include <adverb/messages/detail/resumable_carrier.hpp>
#include <adverb/messages/detail/tcp_peers.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void link_request::reject(const handshake& answer) {
  std::error_code ignored;
  if (over_rdma) over_rdma.reject(answer.encode(), ignored);
  if (over_tcp != nullptr) over_tcp->answer(answer, ignored);
  over_tcp.reset();
}

/// A step that connects or accepts a link, in progress.
template <class Step>
class running_step {
 public:
  running_step(const Step& step, resumable_carrier& of) : step_{step}, operation_{step_, of} {}

  [[nodiscard]] bool start() { return operation_.start(); }
  [[nodiscard]] auto take(on_failure policy) { return operation_.take(policy); }

 private:
  class operation : public Step::template operation<operation> {
   public:
    operation(const Step& step, resumable_carrier& of)
        : Step::template operation<operation>{step}, owner_{&of} {}
    void finished() { owner_->attempt_finished(); }

   private:
    resumable_carrier* owner_;
  };

  Step step_;
  operation operation_;
};

/// A connection over TCP.
class tcp_connect_attempt final : public link_attempt {
 public:
  tcp_connect_attempt(const tcp_connect_step& step, resumable_carrier& of) : step_{step, of} {}

  [[nodiscard]] bool start() override { return step_.start(); }
  [[nodiscard]] greeted_carrier take(on_failure policy) override { return step_.take(policy); }

 private:
  running_step<tcp_connect_step> step_;
};

/// The carrier of a connection, with the handshake of its peer.
ADVERB_FUNC greeted_carrier carrier_over(async::connection connection,
                                         const std::optional<handshake>& of_peer) {
  if (!connection) return {};
  return {std::make_unique<rdma_carrier>(std::move(connection)), of_peer};
}

/// A connection over RDMA.
class rdma_connect_attempt final : public link_attempt {
 public:
  rdma_connect_attempt(async::connect_step step, resumable_carrier& of)
      : step_{std::move(step).rejection_to(rejection_), of} {}

  [[nodiscard]] bool start() override { return step_.start(); }
  [[nodiscard]] greeted_carrier take(on_failure policy) override {
    async::connection made = step_.take(policy);
    if (!made) return {};
    const auto of_peer = handshake::decode(made.established()->private_data());
    return carrier_over(std::move(made), of_peer);
  }
  [[nodiscard]] const cm::rejection* rejection() const noexcept override {
    return rejection_ ? &*rejection_ : nullptr;
  }

 private:
  std::optional<cm::rejection> rejection_;
  running_step<async::connect_step> step_;
};

/// A request over RDMA that is accepted.
class rdma_answer_attempt final : public link_attempt {
 public:
  rdma_answer_attempt(link_request&& request, const async::connection_options& options,
                      resumable_carrier& of)
      : request_{std::move(request)}, step_{request_.over_rdma.accept(options), of} {}

  [[nodiscard]] bool start() override { return step_.start(); }
  [[nodiscard]] greeted_carrier take(on_failure policy) override {
    return carrier_over(step_.take(policy), request_.of_peer);
  }

 private:
  link_request request_;
  running_step<async::accept_step> step_;
};

/// Returns the failure of a link, with another explanation.
ADVERB_FUNC failure explained(const failure& of_link, std::string_view sentence) {
  failure made;
  const std::error_code code = of_link ? of_link.code() : errno_code(ECONNRESET);
  on_failure{made}.report(code, "messages::channel", [&](failure_description& description) {
    description.explain([&](text_writer& writer) {
      writer.put(sentence);
      if (of_link) writer.put("; the link broke: ").put(of_link.what());
    });
  });
  return made;
}

ADVERB_FUNC resumable_carrier::resumable_carrier(std::unique_ptr<frame_carrier> first,
                                                 const resumption_terms& agreed)
    : loop_{&first->loop()},
      terms_{agreed},
      is_connecting_{agreed.table == nullptr},
      life_{is_connecting_},
      current_{std::move(first)},
      kept_(agreed.options.max_frames) {
  // The listener may have gone since its answer.
  if (terms_.table != nullptr && terms_.table->has_ended()) terms_.table = nullptr;
  if (terms_.table == nullptr || terms_.table->add(terms_.mine.session, *this)) return;
  // Both requests came before either channel was there.
  terms_.table = nullptr;
  final_.emplace();
  on_failure{*final_}.report(EPROTO, "messages::channel", [](failure_description& description) {
    description.explain("the peer has given the number of the session to another channel, too");
  });
}

ADVERB_FUNC void resumable_carrier::start(channel_state& of) {
  owner_ = &of;
  loop_->tell_end_to(end_);
  has_link_ = true;
  current_->start(of);
  if (final_) give_up(*final_);
}

// Frames of this side.

ADVERB_FUNC void resumable_carrier::send(frame_slot& slot, std::span<const const_buffer> frame) {
  const auto type = static_cast<message_frame_type>(slot.bytes[0]);
  const auto flags = std::to_integer<std::uint8_t>(slot.bytes[1]);
  const bool is_message = type == message_frame_type::data || (type == message_frame_type::offer &&
                                                               (flags & message_frame::again) == 0);
  if (is_message) keep(slot, frame);
  current_->send(slot, frame);
  note_posted(slot);
}

ADVERB_FUNC void resumable_carrier::write(frame_slot& slot, const landing_handle& target,
                                          std::span<const const_buffer> message,
                                          const_buffer frame) {
  current_->write(slot, target, message, frame);
  note_posted(slot);
  turn_soon();
}

ADVERB_FUNC void resumable_carrier::keep(frame_slot& slot, std::span<const const_buffer> frame) {
  if (kept_count_ == 0)
    first_sequence_ = load_little_endian<8, std::uint32_t>(
        std::span<const std::byte>{slot.bytes, message_frame::header_size});
  kept_frame& added = kept_at(kept_count_++);
  added.slot = &slot;
  added.count = frame.size();
  std::ranges::copy(frame, added.parts.begin());
  slot.is_kept = true;
  // A step waits for the confirmation, or the slots will.
  if (slot.waiting == nullptr && kept_count_ < kept_.size() / 2) return;
  owner_->session().request_confirmation();
  turn_soon();
}

ADVERB_FUNC void resumable_carrier::release_confirmed(std::uint32_t messages) {
  while (kept_count_ != 0 && static_cast<std::int32_t>(first_sequence_ - messages) < 0) {
    frame_slot& slot = *kept_at(0).slot;
    first_kept_ = (first_kept_ + 1) % kept_.size();
    --kept_count_;
    ++first_sequence_;
    slot.is_kept = false;
    if (!slot.is_posted) owner_->release_slot(slot);
  }
}

ADVERB_FUNC void resumable_carrier::send_again() {
  message_session& session = owner_->session();
  const kept_frame& kept = kept_at(session.next_again() - first_sequence_);
  frame_slot& slot = *kept.slot;
  const std::span<const std::byte> bytes{slot.bytes, message_frame::header_size};
  const message_frame header =
      session.send_again(message_frame::decode(bytes.first<message_frame::header_size>()));
  const auto encoded = header.encode();
  std::memcpy(slot.bytes, encoded.data(), encoded.size());
  current_->send(slot, std::span{kept.parts}.first(kept.count));
  note_posted(slot);
  if (slot.is_posted) owner_->add_reference();
  if (slot.waiting != nullptr) session.request_confirmation();
}

ADVERB_FUNC void resumable_carrier::note_posted(const frame_slot& slot) noexcept {
  if (!slot.is_posted) return;
  ++posted_;
  if (slot.owner->session().had_finished()) ++dispensable_;
}

// Frames complete in their order.
ADVERB_FUNC void resumable_carrier::frame_sent(bool succeeded) noexcept {
  if (posted_ == dispensable_)
    --dispensable_;
  else if (!succeeded)
    has_lost_frames_ = true;
  if (--posted_ == 0 && !has_link_) turn_soon();
}

// Broken links.

ADVERB_FUNC void resumable_carrier::note_broken(const failure& why) noexcept {
  if (life_.phase() != resumption_phase::connected) return;
  why_ = why;
  life_.link_broken();
  loop_->set_timer_after(time_timer_, terms_.mine.resume_within_with(terms_.of_peer));
  turn_soon();
}

ADVERB_FUNC bool resumable_carrier::outlasts(const failure& why) {
  has_link_ = false;
  // The peer may need the last frames, and cannot connect itself.
  const bool is_done = owner_->session().is_finished() && !(is_connecting_ && has_lost_frames_);
  if (may_resume() && !is_done) {
    note_broken(why);
    turn_soon();
    return true;
  }
  retire();
  has_ended_ = true;
  return false;
}

ADVERB_FUNC bool resumable_carrier::replace_link(const failure& why) {
  if (!may_resume()) return false;
  note_broken(why);
  return true;
}

ADVERB_FUNC void resumable_carrier::take_request(link_request&& requested) {
  if (!may_resume()) return;
  request_ = std::move(requested);
  note_broken(failure{});
  life_.request_arrived();
  turn_soon();
}

ADVERB_FUNC bool resumable_carrier::take_turn(async::waiter& which) {
  resumable_carrier& self = *static_cast<turn_waiter&>(which).owner;
  self.turn_.leave();
  const channel_reference kept{*self.owner_};
  self.advance();
  return true;
}

ADVERB_FUNC void resumable_carrier::advance() {
  if (!old_.empty()) forget_old_links();
  if (is_attempt_done_) attempt([this] { finish_attempt(); });
  while (!life_.is_over()) {
    if (!has_link_ && is_idle()) life_.link_ended();
    switch (life_.next()) {
      case resumption_action::nothing:
        if (is_open()) owner_->take_turn();
        return;
      case resumption_action::end_link:
        if (has_link_) current_->cancel();
        break;
      case resumption_action::wait:
        loop_->set_timer_after(retry_timer_, default_duration<1'000>{life_.take_interval()});
        break;
      case resumption_action::connect: attempt([this] { connect(); }); break;
      case resumption_action::answer: attempt([this] { answer(); }); break;
      case resumption_action::drop_attempt:
        attempt_.reset();
        is_attempt_done_ = false;
        break;
    }
  }
  if (!has_link_ && !std::exchange(has_ended_, true)) owner_->ended(final_ ? *final_ : failure{});
}

ADVERB_FUNC messages::channel_options resumable_carrier::attempt_options() const noexcept {
  messages::channel_options options = terms_.options;
  const std::int64_t left = std::max(time_timer_.time() - deadline::now(), std::int64_t{1});
  if (left < options.connect_timeout.count())
    options.connect_timeout = default_duration<1'000'000'000>{left};
  return options;
}

ADVERB_FUNC void resumable_carrier::start_attempt(std::unique_ptr<link_attempt> made) {
  attempt_ = std::move(made);
  is_attempt_done_ = false;
  if (!attempt_->start()) attempt_finished();
}

template <class Function>
void resumable_carrier::attempt(const Function& function) {
  if (has_memory_for(function)) {
    // Exceptions of the program's handlers pass.
    if (std::exchange(is_link_new_, false)) start_link();
    return;
  }
  attempt_.reset();
  is_attempt_done_ = false;
  life_.attempt_failed();
}

ADVERB_FUNC void resumable_carrier::connect() {
  const handshake mine = terms_.mine.resumed_at(owner_->session().break_link());
  const messages::channel_options options = attempt_options();
  if (network() == messages::network::tcp)
    return start_attempt(std::make_unique<tcp_connect_attempt>(
        tcp_connect_step{*loop_, terms_.address, mine, options}, *this));
  start_attempt(std::make_unique<rdma_connect_attempt>(
      async::connect(*loop_, terms_.address, connection_options_of(options, mine)), *this));
}

ADVERB_FUNC void resumable_carrier::answer() {
  link_request requested = std::move(request_);
  const handshake mine = terms_.mine.resumed_at(owner_->session().break_link());
  const messages::channel_options options = attempt_options();
  if (!requested.of_peer || !terms_.mine.continues(terms_.of_peer, *requested.of_peer)) {
    requested.reject(mine.of_unknown_session());
    return life_.attempt_failed();
  }
  if (requested.over_rdma)
    return start_attempt(std::make_unique<rdma_answer_attempt>(
        std::move(requested), connection_options_of(options, mine), *this));
  failure why;
  greeted_carrier made = carrier_of(*loop_, *requested.over_tcp, mine, options, why);
  if (why) return life_.attempt_failed();
  begin(std::move(made));
}

ADVERB_FUNC void resumable_carrier::finish_attempt() {
  is_attempt_done_ = false;
  const std::unique_ptr<link_attempt> done = std::move(attempt_);
  failure why;
  greeted_carrier made = done->take(why);
  if (!why) return begin(std::move(made));
  const cm::rejection* const rejected = done->rejection();
  const auto answer =
      rejected != nullptr ? handshake::decode(rejected->private_data) : std::optional<handshake>{};
  if (answer && answer->is_resumption) return end_refused(answer);
  // One attempt for the last frames: the peer that had received them may have gone.
  if (owner_->session().is_finished()) return end_finished();
  life_.attempt_failed();
}

ADVERB_FUNC void resumable_carrier::begin(greeted_carrier made) {
  if (!made.carrier || !made.of_peer || made.of_peer->has_finished ||
      !terms_.mine.continues(terms_.of_peer, *made.of_peer))
    return end_refused(made.of_peer);
  if (made.carrier->network() != network() ||
      made.carrier->protection_domain().native_handle() != protection_domain().native_handle()) {
    return give_up(explained(
        why_,
        "the next link runs over another device, in which the memory of the messages is not "
        "registered"));
  }
  // The next steps cannot be undone.
  old_.reserve(old_.size() + 1);
  const session_violation violated = owner_->session().resume(made.of_peer->point);
  if (violated != session_violation::none)
    return give_up(channel_state::violation_of(
        "the request of the peer to resume violates the protocol: ", violated));
  current_->detach();
  old_.push_back(std::move(current_));
  forget_old_links();
  current_ = std::move(made.carrier);
  has_link_ = true;
  has_lost_frames_ = false;
  time_timer_.stop();
  life_.attempt_succeeded();
  is_link_new_ = true;
}

ADVERB_FUNC void resumable_carrier::start_link() {
  failure why;
  owner_->resumed(why);
  current_->start(*owner_);
  if (why) give_up(why);
}

ADVERB_FUNC void resumable_carrier::forget_old_links() noexcept {
  std::erase_if(old_, [&](const std::unique_ptr<frame_carrier>& each) {
    return !owner_->holds_block_of(*each);
  });
}

// The end.

ADVERB_FUNC void resumable_carrier::end_finished() {
  release_confirmed(owner_->session().take_confirmed());
  give_up(failure{});
}

ADVERB_FUNC void resumable_carrier::end_refused(const std::optional<handshake>& answer) {
  message_session& session = owner_->session();
  const bool has_finished =
      answer && answer->has_finished && answer->session == terms_.mine.session;
  if ((has_finished && session.finish_after_peer()) || session.finish_alone())
    return end_finished();
  give_up(explained(why_, "the peer does not know the session of the channel any more"));
}

ADVERB_FUNC void resumable_carrier::time_is_over() {
  if (owner_->session().finish_alone()) return end_finished();
  give_up(why_);
}

ADVERB_FUNC void resumable_carrier::leave_table() noexcept {
  session_table* const table = std::exchange(terms_.table, nullptr);
  if (table == nullptr) return;
  table->remove(terms_.mine.session, *this);
  if (owner_ != nullptr && owner_->session().is_finished())
    table->note_finished(terms_.mine.session);
}

ADVERB_FUNC void resumable_carrier::retire() noexcept {
  leave_table();
  life_.end();
  time_timer_.stop();
  retry_timer_.stop();
  request_ = link_request{};
  attempt_.reset();
  is_attempt_done_ = false;
}

ADVERB_FUNC void resumable_carrier::give_up(const failure& why) noexcept {
  if (has_ended_) return;
  if (!final_) final_ = why;
  retire();
  if (has_link_) current_->cancel();
  turn_soon();
}

ADVERB_FUNC void resumable_carrier::note_cancelled() noexcept {
  if (!final_) report_cancelled(final_.emplace(), "messages::channel");
}

ADVERB_FUNC void resumable_carrier::cancel() {
  note_cancelled();
  if (!has_link_) return give_up(*final_);
  retire();
  current_->cancel();
}

ADVERB_FUNC void resumable_carrier::detach() noexcept {
  if (!has_link_) return cancel();
  retire();
  current_->detach();
}

ADVERB_FUNC void resumable_carrier::table_ended() noexcept {
  terms_.table = nullptr;
  if (is_broken())
    give_up(explained(why_, "the listener has gone, so the peer cannot connect again"));
}

ADVERB_FUNC void resumable_carrier::loop_ended() {
  retire();
  if (has_link_ || std::exchange(has_ended_, true)) return;
  failure why;
  report_cancelled(why, "messages::channel");
  owner_->ended(why);
}

}  // namespace adverb::inline ADVERB_ABI::detail
