// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <tuple>

#include <adverb/messages/detail/channel_state.hpp>
#include <adverb/messages/detail/rdma_carrier.hpp>
#include <adverb/request/requests.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC async::connection_options connection_options_of(
    const messages::channel_options& options, const handshake& mine) {
  async::connection_options made{
      // A write and the frame behind it take two.
      .max_send_wr = 2 * options.max_frames + 2,
      .receives = options.receives + message_credits::spare_receives,
      .block_size = options.block_size,
      .shared = options.shared,
      .max_send_sge = 1 + message_parts::most_parts,
      .connect_timeout = options.connect_timeout,
  };
  handshake sent = mine;
  if (options.shared) sent.granted_at_start = message_credits::least_receives;
  made.connection.private_data = sent.encode();
  return made;
}

ADVERB_FUNC void check_shared(const async::device_loop& loop,
                              const messages::channel_options& options, on_failure policy) {
  policy.clear();
  const async::device_loop_options& of_loop = loop.options();
  const bool has_receives = of_loop.shared_receives != 0;
  if (!options.shared || (has_receives && options.block_size <= of_loop.shared_block_size)) return;
  policy.report(EINVAL, "messages::channel_options", [&](failure_description& description) {
    if (!has_receives)
      description.explain("shared is set, and the options of the loop have no shared receives");
    else
      description.explain("block_size is {}, and shared_block_size of the loop {}",
                          {options.block_size, of_loop.shared_block_size});
  });
}

ADVERB_FUNC receive_share share_of(async::device_loop& loop, context_ref context,
                                   const messages::channel_options& options, on_failure policy) {
  policy.clear();
  if (!options.shared) return {};
  shared_receives* const all = loop.shared_blocks(context, policy);
  if (all == nullptr) return {};
  all->loans()->set_resume(
      [](void* argument, async::waiter& which) {
        static_cast<async::device_loop*>(argument)->resume_later(which);
      },
      &loop);
  receive_share share{all->loans(), message_credits::least_receives,
                      message_credits::spare_receives, options.receives};
  if (!share)
    policy.report(ENOMEM, "messages::channel_options", [&](failure_description& description) {
      description.explain(
          "{} channels share the {} receives of the loop, which are too few for another one: "
          "raise shared_receives",
          {all->loans()->shares(), all->loans()->receives()});
    });
  return share;
}

ADVERB_FUNC void rdma_carrier::start(channel_state& of) {
  owner_ = &of;
  loop().tell_end_to(end_);
  taker_.emplace(*link_, *this).begin();
}

ADVERB_FUNC void rdma_carrier::take_message(receive_block& block) {
  owner_->receive({*this, &block, block.bytes()});
}

// A failure holds its whole message, so none is made for each frame.
ADVERB_FUNC void rdma_carrier::messages_ended() {
  failure why;
  static_cast<void>(link_->no_message("async::connection::next", why));
  end_.leave();
  owner_->ended(why);
}

// The link has ended, and the wait for frames is not resumed.
ADVERB_FUNC void rdma_carrier::loop_ended() {
  failure why;
  report_cancelled(why, "messages::channel");
  owner_->ended(why);
}

ADVERB_FUNC void rdma_carrier::send(frame_slot& slot, std::span<const const_buffer> frame) {
  if (frame.size() == 1) [[likely]]
    post(slot, adverb::send(frame.front()));
  else
    post(slot, adverb::send(frame));
}

ADVERB_FUNC void rdma_carrier::write(frame_slot& slot, const landing_handle& target,
                                     std::span<const const_buffer> message, const_buffer frame) {
  post(slot, adverb::write(target, message), adverb::send(frame));
}

ADVERB_FUNC landing_handle rdma_carrier::open(std::span<std::byte> memory, memory_region& region,
                                              on_failure policy) {
  region = memory_region{link_->domain(), memory,
                         access_right::local_write | access_right::remote_write, policy};
  return policy.failed() ? landing_handle{} : region.remote_writable();
}

template <class... Requests>
void rdma_carrier::post(frame_slot& slot, const Requests&... requests) {
  const send_window_result posted =
      link_->sends().post_for(&slot, &frame_sent, std::tuple{requests...});
  slot.is_posted = link_->sends().takes_slot(posted);
  if (posted) [[likely]]
    return;
  link_->close(posted.full() ? ENOMEM : posted.code().value());
}

ADVERB_FUNC void rdma_carrier::frame_sent(async::operation& which, const completion& each) {
  auto& posted = static_cast<request_slot&>(which);
  // Siw of Linux 6.1 flushes a read in progress twice.
  if (!posted.is_taken()) return;
  auto& link = static_cast<reliable_link&>(*posted.owner);
  auto& slot = *static_cast<frame_slot*>(posted.waiting);
  const bool succeeded = each.status() == completion_status::success;
  link.complete(posted, each, [&] { slot.owner->sent(slot, succeeded); });
}

}  // namespace adverb::inline ADVERB_ABI::detail
