// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>

#include <adverb/messages/detail/pending_calls.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC pending_calls::pending_calls(channel_state& of) : channel_{&of} {
  channel_->add_reference();
  take_replies();
}

ADVERB_FUNC pending_calls::~pending_calls() {
  if (is_destroyed_ != nullptr) *is_destroyed_ = true;
  wait_.leave();
  failure why;
  on_failure{why}.report(ECANCELED, "messages::caller", [](failure_description& description) {
    description.explain("the caller was destroyed");
  });
  end(why, false);
  channel_->release();
}

ADVERB_FUNC std::uint64_t pending_calls::add(pending_call& which) {
  if (free_ == none) {
    entries_.push_back({.next_free = none});
    free_ = static_cast<std::uint32_t>(entries_.size() - 1);
  }
  const std::uint32_t index = free_;
  entry& added = entries_[index];
  free_ = added.next_free;
  added.call = &which;
  // The highest bit of the number marks a reply.
  added.generation = (added.generation + 1) & 0x7fff'ffffU;
  ++waiting_;
  return (std::uint64_t{added.generation} << 32U) | index;
}

ADVERB_FUNC pending_call* pending_calls::find(std::uint64_t number) noexcept {
  const auto index = static_cast<std::uint32_t>(number);
  if (index >= entries_.size() || entries_[index].generation != number >> 32U) return nullptr;
  return entries_[index].call;
}

ADVERB_FUNC void pending_calls::remove(std::uint64_t number) noexcept {
  const auto index = static_cast<std::uint32_t>(number);
  entries_[index].call = nullptr;
  entries_[index].next_free = std::exchange(free_, index);
  --waiting_;
}

ADVERB_FUNC bool pending_calls::arrived(async::waiter& which) {
  which.leave();
  static_cast<reply_wait&>(which).owner->take_replies();
  return true;
}

// A call that goes on may destroy this.
ADVERB_FUNC void pending_calls::take_replies() {
  bool is_destroyed = false;
  bool* const outer = std::exchange(is_destroyed_, &is_destroyed);
  while (!is_destroyed && channel_->has_next() && take_reply(is_destroyed)) {
  }
  if (is_destroyed) {
    if (outer != nullptr) *outer = true;
    return;
  }
  is_destroyed_ = outer;
  if (!channel_->has_ended() && !wait_.is_waiting()) channel_->receivers().push_back(wait_);
}

ADVERB_FUNC bool pending_calls::take_reply(const bool& is_destroyed) {
  failure why;
  arrived_message* const taken = channel_->take_next(why);
  if (taken == nullptr) {
    if (!why)
      on_failure{why}.report(EPIPE, "messages::caller", [](failure_description& description) {
        description.explain("the peer has closed the channel");
      });
    end(why, is_destroyed);
    return false;
  }
  messages::incoming reply{*channel_, taken};
  // A late reply finds no call, and is dropped.
  pending_call* const call =
      (reply.tag() & reply_bit) != 0 ? find(reply.tag() & ~reply_bit) : nullptr;
  if (call != nullptr) call->complete(std::move(reply));
  return true;
}

ADVERB_FUNC void pending_calls::end(const failure& why, const bool& is_destroyed) {
  for (std::size_t index = 0; !is_destroyed && index < entries_.size(); ++index)
    if (entries_[index].call != nullptr) entries_[index].call->fail(why);
}

ADVERB_FUNC bool pending_call::start(const message_parts& parts, timeout limit) {
  if (calls_->channel().has_ended()) {
    calls_->channel().report("messages::caller", why_);
    return false;
  }
  number_ = calls_->add(*this);
  is_known_ = true;
  request_ = parts;
  request_.flags = message_frame::tagged;
  request_.tag = number_;
  is_sending_ = message_dispatch::start(request_);
  if (has_failed()) {
    forget();
    return false;
  }
  if (!limit.is_endless()) channel().loop().set_timer(timer_, later_by(deadline::now(), limit));
  return true;
}

ADVERB_FUNC bool pending_call::sent(async::waiter& which) {
  which.leave();
  auto& self = static_cast<pending_call&>(which);
  self.is_sending_ = false;
  if (self.has_failed()) self.forget();
  self.finish_if_sent();
  return true;
}

ADVERB_FUNC void pending_call::finish_if_sent() {
  if (is_known_ || is_sending_) return;
  timer_.stop();
  // The replies behind this one are not lost if a handler throws.
  channel().loop().call_and_keep_exception([&] { finish_(*this); });
}

ADVERB_FUNC void pending_call::forget() noexcept {
  if (std::exchange(is_known_, false)) calls_->remove(number_);
}

ADVERB_FUNC void pending_call::complete(messages::incoming&& reply) {
  reply_ = std::move(reply);
  // The request may still be on its way, and the time ends with the reply. A peer that replies to a
  // request which it has not taken gets it no more.
  timer_.stop();
  forget();
  if (is_sending_ && give_up()) is_sending_ = false;
  finish_if_sent();
}

ADVERB_FUNC void pending_call::fail(const failure& why) {
  why_ = why;
  forget();
  if (is_sending_ && give_up()) is_sending_ = false;
  finish_if_sent();
}

ADVERB_FUNC void pending_call::expired(timer& which) {
  failure why;
  channel_state::report_late("messages::caller", why);
  static_cast<call_timer&>(which).owner->fail(why);
}

ADVERB_FUNC messages::incoming pending_call::take_reply(on_failure policy) {
  policy.clear();
  if (why_)
    policy.report(why_);
  else if (has_failed())
    take_result(policy);
  return std::move(reply_);
}

}  // namespace adverb::inline ADVERB_ABI::detail
