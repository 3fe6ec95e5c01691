// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include <adverb/cm/detail/drive_own_pair.hpp>
#include <adverb/remote/detail/stream_port.hpp>
#include <adverb/request/requests.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC stream_port::stream_port(reliable_link& link, const stream_options& options,
                                     on_failure policy)
    : link_{&link},
      is_iwarp_{detail::is_iwarp(link.device().context)},
      end_timeout_{options.end_timeout},
      receive_buffer_{options.receive_buffer},
      receives_{static_cast<std::uint16_t>(options.receives)},
      state_{{.requests = options.max_send_wr,
              .requests_of_write = is_iwarp_ ? 2U : 1U,
              .send_buffer = options.send_buffer,
              .receive_buffer = options.receive_buffer,
              .receives = receives_,
              .max_inline = options.max_inline_data}},
      shared_{link.loop(), link.device().context, receive_offset + options.receive_buffer,
              access_right::local_write | access_right::remote_write, policy},
      taker_{link, *this} {
  if (policy.failed()) return;
  send_buffer_ = {link.loop(), link.device().context, options.send_buffer,
                  access_right::local_write, policy};
  if (!policy.failed()) sent_ = send_buffer_.buffer();
}

ADVERB_FUNC stream_offer stream_port::offer() const {
  const auto memory = shared_.region().remote_writable();
  const auto key = static_cast<std::uint32_t>(memory.key());
  return {
      .receives = receives_,
      .list = {.address = memory.address(), .key = key, .length = stream_limits::list_size},
      .buffer = {
          .address = memory.address() + receive_offset, .key = key, .length = receive_buffer_ / 2}};
}

ADVERB_FUNC void stream_port::connected(const stream_offer& of_peer, bool has_accepted) noexcept {
  peer_list_ = of_peer.list;
  peer_order_ = of_peer.order;
  state_.connect(of_peer, is_iwarp_ && has_accepted);
  taker_.begin();
  flush();
}

ADVERB_FUNC void stream_port::report(const char* verb, on_failure policy) const {
  if (why_)
    policy.report(why_);
  else
    link_->report(verb, policy);
}

ADVERB_FUNC std::size_t stream_port::read(std::span<std::byte> into) noexcept {
  std::size_t total = 0;
  const std::byte* const buffer = shared_.bytes().data() + receive_offset;
  while (total != into.size() && state_.readable() != 0) {
    const auto size =
        static_cast<std::uint32_t>(std::min<std::size_t>(into.size() - total, state_.contiguous()));
    std::memcpy(&into[total], buffer + state_.read_offset(), size);
    state_.consume(size);
    total += size;
  }
  if (total != 0) flush();
  return total;
}

ADVERB_FUNC std::size_t stream_port::write(std::span<const std::byte> bytes) noexcept {
  std::size_t total = 0;
  note_completions();
  while (total != bytes.size() && link_->is_open() && !state_.is_peer_gone()) {
    const stream_transfer next = state_.write(bytes.size() - total);
    const std::uint32_t size = next.target.length;
    if (size == 0) break;
    const auto from = bytes.subspan(total, size);
    if (next.is_inline) {
      post_write(next.target, next.message(), next.is_signaled, inline_data{from});
    } else {
      std::memcpy(&send_buffer_.bytes()[next.source], from.data(), size);
      post_write(next.target, next.message(), next.is_signaled,
                 sent_.unchecked_slice(next.source, size));
    }
    total += size;
  }
  return total;
}

template <class... Payload>
void stream_port::post_write(const stream_target& to, std::uint32_t message, bool is_signaled,
                             const Payload&... payload) noexcept {
  const remote_buffer<std::byte, access_right::remote_write> target{adopt, to.address, to.length,
                                                                    static_cast<rkey>(to.key)};
  auto& sends = link_->sends();
  if (!is_iwarp_) [[likely]]
    return check(
        sends.post(write_with_immediate(target, static_cast<immediate>(message), payload...)
                       .signaled(is_signaled)));
  check(sends.post(adverb::write(target, payload...),
                   send(inline_data{message}).signaled(is_signaled)));
}

ADVERB_FUNC void stream_port::check(const send_window_result& posted) noexcept {
  if (!posted) [[unlikely]]
    link_->close(posted.code().value());
}

ADVERB_FUNC void stream_port::post(const stream_notice& due) noexcept {
  stream_target to = peer_list_;
  if (due.freed) {
    stream_target half = offer().buffer;
    half.address += due.freed->offset;
    to.address += std::uint64_t{due.freed->entry} * stream_target::encoded_size;
    to.length = stream_target::encoded_size;
    return post_write(to, due.message, true, inline_data{half.encode(peer_order_)});
  }
  if (is_iwarp_) return check(link_->sends().post(send(inline_data{due.message}).signaled()));
  to.length = 0;
  post_write(to, due.message, true);
}

ADVERB_FUNC void stream_port::flush() noexcept {
  note_completions();
  while (link_->is_open()) {
    const std::optional<stream_notice> due = state_.notice();
    if (!due) break;
    post(*due);
  }
  wait_for_completions();
}

ADVERB_FUNC bool stream_port::completion_wait::resume(async::waiter& which) {
  auto& self = static_cast<completion_wait&>(which);
  stream_port& port = *self.owner;
  if (std::exchange(self.is_cancelled, false)) {
    self.leave();
    port.flush();
    return true;
  }
  if (port.link_->is_open()) {
    port.flush();
    port.resume(port.writers_);
    if (port.needs_completions()) return false;
  }
  self.leave();
  return true;
}

ADVERB_FUNC std::span<std::byte, stream_target::encoded_size> stream_port::entry() const noexcept {
  constexpr std::size_t size = stream_target::encoded_size;
  return shared_.bytes().subspan(state_.entry() * size).first<size>();
}

ADVERB_FUNC void stream_port::take_message(receive_block& block) noexcept {
  const received_message got = block.received.success().receive();
  std::uint32_t message = 0;
  std::uint32_t written = 0;
  bool is_message = got.announces_write();
  const auto named = stream_target::decode(entry(), std::endian::native);
  if (is_message) [[likely]] {
    message = static_cast<std::uint32_t>(got.immediate().value_or(immediate{}));
    written = got.length();
  } else if (is_iwarp_ && block.bytes().size() == sizeof message) {
    is_message = true;
    std::memcpy(&message, block.bytes().data(), sizeof message);
    // The write in front of the message is over, and its length is not known.
    if (stream_message::kind_of(message) == stream_message::kind::data)
      written = stream_message::value_of(message);
    else if (stream_message::kind_of(message) == stream_message::kind::credits && named.length != 0)
      written = stream_target::encoded_size;
  }
  // The receive is posted again before the peer gets a credit for it.
  block.owner->take_back(block);
  if (has_ended_) return;
  if (!is_message) return violate(stream_violation::unknown_message);
  const std::span at = entry();
  const std::uint32_t buffers = state_.buffers();
  const auto violated = state_.arrive(message, written, named);
  if (violated != stream_violation::none) [[unlikely]]
    return violate(violated);
  if (state_.buffers() != buffers) std::ranges::fill(at, std::byte{});
  flush();
  const auto kind = stream_message::kind_of(message);
  if (kind != stream_message::kind::credits) resume(readers_);
  if (kind != stream_message::kind::data) resume(writers_);
}

ADVERB_FUNC void stream_port::violate(stream_violation which) noexcept {
  on_failure{why_}.report(EPROTO, "remote_stream", [&](failure_description& description) {
    description.explain([&](text_writer& writer) {
      writer.put("the peer violates the protocol: ").put(describe(which));
    });
  });
  link_->close(EPROTO);
  end();
}

ADVERB_FUNC void stream_port::messages_ended() noexcept {
  // `connection::cancel_waits` has ended the wait.
  if (!link_->has_no_more_messages()) return taker_.begin();
  end();
}

ADVERB_FUNC void stream_port::cancel_waits() noexcept {
  link_->loop().cancel(readers_);
  link_->loop().cancel(writers_);
}

ADVERB_FUNC void stream_port::end() noexcept {
  has_ended_ = true;
  resume(readers_);
  resume(writers_);
}

ADVERB_FUNC void stream_port::resume(async::waiter_list& waiters) noexcept {
  bool goes_on = true;
  while (goes_on && !waiters.empty())
    link_->loop().call_and_keep_exception([&] { goes_on = waiters.front().go_on(); });
}

}  // namespace adverb::inline ADVERB_ABI::detail
