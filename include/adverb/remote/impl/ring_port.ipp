// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>

#include <adverb/cm/detail/drive_own_pair.hpp>
#include <adverb/core/detail/byte_order.hpp>
#include <adverb/remote/detail/ring_port.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void ring_end::report(const char* verb, on_failure policy) const {
  if (port_ != nullptr) return port_->report(verb, policy);
  policy.report(ECONNABORTED, verb, [](failure_description& description) {
    description.explain("the connection of the ring was destroyed");
  });
}

ADVERB_FUNC void ring_end::resume_waiters() noexcept {
  add_reference();
  while (resume_first()) {
  }
  release();
}

// The reader's end.

ADVERB_FUNC ring_reader::ring_reader(ring_port& of, reliable_link& link,
                                     const ring_options& options, std::uint32_t distance,
                                     bool of_bytes, on_failure policy)
    : ring_end{of, link.loop()},
      slots_{options.slots, ring_sizes::freed_at_once(options.slots)},
      memory_{link.loop(), link.device().context, std::size_t{options.slots} * distance,
              access_right::local_write | access_right::remote_write, policy} {
  if (policy.failed()) return;
  bytes_ = memory_.bytes().data();
  description_ = {.slots = options.slots,
                  .slot_size = options.slot_size,
                  .distance = distance,
                  .memory = memory_.region().remote_writable()};
  shortest_ = of_bytes ? 0 : options.slot_size;
  longer_ = options.slot_size - shortest_;
  of.add(*this, ring_sizes::reader_receives(options.slots), policy);
}

ADVERB_FUNC void ring_reader::detach() noexcept {
  loop().cancel(waiters());
  if (port_ != nullptr) {
    port_->remove_reader();
    // The peer may still write.
    port_->link().cancel();
    port_ = nullptr;
  }
  release();
}

[[gnu::noinline]] ADVERB_FUNC void ring_reader::acknowledge() noexcept {
  if (port_ != nullptr) port_->flush();
}

ADVERB_FUNC bool ring_reader::post_due() noexcept {
  while (slots_.owes_acknowledgement()) {
    if (port_->link().sends().available() == 0) return false;
    const std::uint32_t count = slots_.due();
    const std::span bytes = port_->begin_frame(ring_frame::freed, count);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t number = swap_little_endian(slots_.acknowledge().encode());
      std::memcpy(&bytes[ring_frame::front + std::size_t{i} * 4], &number, 4);
    }
    port_->post_frame(ring_frame::front + std::size_t{count} * 4);
  }
  return true;
}

// The writer's end.

ADVERB_FUNC ring_writer::ring_writer(ring_port& of, reliable_link& link,
                                     const ring_description& of_reader, on_failure policy)
    : ring_end{of, link.loop()},
      slots_{of_reader.slots},
      description_{of_reader},
      memory_{link.loop(), link.device().context, std::size_t{of_reader.slots} * of_reader.distance,
              access_right::local_write, policy} {
  if (policy.failed()) return;
  bytes_ = memory_.bytes().data();
  buffer_ = memory_.slice(0, of_reader.slot_size, policy);
  most_unposted_ = std::bit_floor(std::min(of_reader.slots, link.sends().size()));
  claims_.resize(most_unposted_);
  claims_mask_ = most_unposted_ - 1;
  has_notice_ = is_iwarp(link.device().context);
  if (has_notice_ && link.sends().size() < 2) {
    policy.report(EINVAL, "remote_ring::writer", [](failure_description& description) {
      description.explain(
          "over iWARP a write and its notice are two requests: connection_options::max_send_wr is "
          "1");
    });
    return;
  }
  const queue_pair_ref<transport::rc, qp_state::any> pair{link.queue_pair()};
  most_inline_ = pair.query(policy).max_inline_data();
  if (policy.failed()) return;
  // Each acknowledgement but the one that ends a stall names as many slots as fit, or a quarter.
  at_once_ = ring_sizes::freed_at_once(of_reader.slots);
  of.add(*this, ring_sizes::writer_receives(of_reader.slots), policy);
}

ADVERB_FUNC void ring_writer::detach() noexcept {
  loop().cancel(waiters());
  if (port_ == nullptr) return release();
  is_detached_ = true;
  if (is_done() || port_->has_ended()) port_->remove_writer();
}

ADVERB_FUNC void ring_writer::flush() noexcept {
  if (port_ != nullptr) port_->flush();
}

ADVERB_FUNC bool ring_writer::make_room() noexcept {
  publish();
  return claimed_ - posted_ < most_unposted_;
}

ADVERB_FUNC send_window_result ring_writer::post_batch(std::uint32_t count) {
  auto& sends = port_->link().sends();
  batch_.clear();
  for (std::uint32_t i = 0; i < count; ++i)
    with_write_of(claim_at(posted_ + i), [&](const auto& write) {
      static_cast<void>(batch_.add(write.id(sends.unattended())));
    });
  return sends.post_prepared(batch_);
}

ADVERB_FUNC send_window_result ring_writer::post_with_notice(std::uint32_t count) {
  auto& sends = port_->link().sends();
  const std::span bytes = port_->begin_frame(ring_frame::written, count);
  batch_.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    const ring_claim& each = claim_at(posted_ + i);
    const std::uint32_t numbers[] = {swap_little_endian(each.place), swap_little_endian(each.size)};
    std::memcpy(&bytes[ring_frame::front + std::size_t{i} * 8], numbers, 8);
    const std::size_t offset = offset_of(ring_place::decode(each.place));
    static_cast<void>(batch_.add(write(description_.memory.unchecked_slice(offset, each.size),
                                       buffer_.unchecked_slice(offset, each.size))
                                     .id(sends.unattended())));
  }
  const const_buffer notice = port_->frame(ring_frame::front + std::size_t{count} * 8);
  static_cast<void>(batch_.add(send(notice).id(sends.unattended())));
  const send_window_result posted = sends.post_prepared(batch_);
  if (posted) port_->frame_posted();
  return posted;
}

ADVERB_FUNC bool ring_writer::post_writes() noexcept {
  auto& sends = port_->link().sends();
  while (posted_ != published_) {
    const std::uint32_t room = sends.available();
    std::uint32_t count =
        std::min({published_ - posted_, room, static_cast<std::uint32_t>(ring_batch::capacity())});
    if (has_notice_) [[unlikely]]
      count = std::min({count, room - std::min(room, 1U), ring_frame::most_written});
    if (count == 0) return false;
    const send_window_result posted = has_notice_ ? post_with_notice(count) : post_batch(count);
    if (!port_->check(posted)) return false;
    for (; count != 0; --count) slots_.publish(ring_place::decode(claim_at(posted_++).place));
  }
  return true;
}

ADVERB_FUNC bool ring_writer::post_only() noexcept {
  const ring_claim& only = claim_at(posted_);
  const send_window_result posted =
      with_write_of(only, [&](const auto& write) { return port_->link().sends().post(write); });
  if (!posted) [[unlikely]]
    return port_->check(posted);
  ++posted_;
  slots_.publish(ring_place::decode(only.place));
  return true;
}

ADVERB_FUNC bool ring_writer::post_note(std::byte type) noexcept {
  if (port_->link().sends().available() == 0) return false;
  static_cast<void>(port_->begin_frame(type, 0));
  port_->post_frame(ring_frame::front);
  return true;
}

ADVERB_FUNC bool ring_writer::post_due() noexcept {
  if (!post_writes()) return false;
  if (must_ask_) [[unlikely]] {
    if (!post_note(ring_frame::asked)) return false;
    must_ask_ = false;
  }
  if (must_end()) [[unlikely]] {
    if (!post_note(ring_frame::ended)) return false;
    frames_to_end_ = port_->frames_in_progress();
  }
  return true;
}

// The port.

ADVERB_FUNC ring_port::ring_port(reliable_link& link, on_failure policy)
    : link_{&link},
      frames_{link.loop(), link.device().context,
              (link.sends().size() + std::size_t{1}) * ring_frame::size, access_right::local_write,
              policy},
      frame_count_{link.sends().size() + std::size_t{1}},
      taker_{link, *this} {
  if (!policy.failed()) buffer_ = frames_.buffer();
}

ADVERB_FUNC ring_port::~ring_port() {
  has_ended_ = true;
  if (reader_ != nullptr) {
    reader_->port_gone();
    reader_->resume();
  }
  if (writer_ == nullptr) return;
  ring_writer& left = *writer_;
  left.add_reference();
  remove_writer();
  left.resume();
  left.release();
}

ADVERB_FUNC ring_port* ring_port::of(reliable_link& link, on_failure policy) {
  if (link.attachment() == nullptr) {
    auto made = std::make_unique<ring_port>(link, policy);
    if (policy.failed()) return nullptr;
    link.attach(std::move(made));
  } else if (!link.attachment()->has_rings()) {
    policy.report(EINVAL, "remote_ring", [](failure_description& description) {
      description.explain("the connection belongs to a remote_stream");
    });
    return nullptr;
  }
  return static_cast<ring_port*>(link.attachment());
}

[[gnu::noinline]] ADVERB_FUNC void ring_port::begin_now() {
  has_begun_ = true;
  taker_.begin();
}

template <class End>
void ring_port::add_to(End*& place, End& added, std::uint32_t receives, on_failure policy) {
  const std::uint32_t there = link_->receives();
  if (place != nullptr || there < receives_ + receives) {
    policy.report(EINVAL, "remote_ring", [&](failure_description& description) {
      if (place != nullptr)
        description.explain("the connection has a ring in this direction");
      else if (there == 0)
        description.explain("a ring needs receives of its own, and the connection shares them");
      else
        description.explain(
            "the rings of the connection need {} receives, and it has {}: set "
            "connection_options::receives",
            {receives_ + receives, there});
    });
    return;
  }
  receives_ += receives;
  place = &added;
}

ADVERB_FUNC void ring_port::add(ring_reader& reader, std::uint32_t receives, on_failure policy) {
  add_to(reader_, reader, receives, policy);
}
ADVERB_FUNC void ring_port::add(ring_writer& writer, std::uint32_t receives, on_failure policy) {
  add_to(writer_, writer, receives, policy);
}

ADVERB_FUNC void ring_port::report(const char* verb, on_failure policy) const {
  if (why_) return policy.report(why_);
  link_->report(verb, policy);
}

ADVERB_FUNC bool ring_port::check(const send_window_result& posted) noexcept {
  if (posted.full()) return false;
  if (!posted) link_->close(posted.code().value());
  return true;
}

ADVERB_FUNC void ring_port::post_frame(std::size_t size) noexcept {
  const send_window_result posted =
      link_->sends().post_for(this, &frame_sent, std::tuple{send(frame(size))});
  if (link_->sends().takes_slot(posted)) ++frames_in_progress_;
  static_cast<void>(check(posted));
  frame_posted();
}

ADVERB_FUNC void ring_port::frame_sent(async::operation& which, const completion& each) {
  auto& slot = static_cast<request_slot&>(which);
  auto& link = static_cast<reliable_link&>(*slot.owner);
  // Frames in progress complete also when the link has destroyed the port.
  link.complete(slot, each, [&link] {
    auto* const port = static_cast<ring_port*>(link.attachment());
    if (port == nullptr) return;
    --port->frames_in_progress_;
    if (port->writer_ != nullptr) port->writer_->frame_sent();
    if (port->frames_in_progress_ == 0 && port->reader_ != nullptr) port->reader_->resume();
  });
}

ADVERB_FUNC bool ring_port::post_due() noexcept {
  if (writer_ != nullptr) {
    if (!writer_->post_due()) return false;
    if (writer_->is_done()) [[unlikely]]
      remove_writer();
  }
  return reader_ == nullptr || !reader_->slots().owes_acknowledgement() || reader_->post_due();
}

ADVERB_FUNC void ring_port::flush() noexcept {
  if (!link_->is_open() || room_wait_.is_waiting()) return;
  const bool is_ready = link_->is_ready() || link_->make_ready();
  if (is_ready ? !post_due() : link_->is_open()) link_->wait_for_room(room_wait_);
}

ADVERB_FUNC bool ring_port::room_wait::resume(async::waiter& which) {
  auto& self = static_cast<room_wait&>(which);
  ring_port& port = *self.owner;
  if (std::exchange(self.is_cancelled, false)) {
    self.leave();
    port.flush();
    return true;
  }
  if (port.link_->is_open() && !port.post_due()) return false;
  self.leave();
  if (port.writer_ != nullptr) port.writer_->resume();
  return true;
}

ADVERB_FUNC void ring_port::take_message(receive_block& block) noexcept {
  const received_message got = block.received.success().receive();
  if (!got.announces_write()) [[unlikely]]
    return take_frame(block);
  const auto place =
      ring_place::decode(static_cast<std::uint32_t>(got.immediate().value_or(immediate{})));
  const std::uint32_t length = got.length();
  // The receive is posted again before the writer learns that it may use the slot again.
  block.owner->take_back(block);
  if (has_ended_) [[unlikely]]
    return;
  const ring_violation violated =
      reader_ != nullptr ? reader_->arrive(place, length) : ring_violation::no_ring;
  if (violated != ring_violation::none) [[unlikely]]
    return violate(violated);
  if (batch_wait_.is_waiting()) return;
  if (link_->device().dispatcher.has_more())
    link_->loop().resume_later(batch_wait_);
  else
    resume_reader();
}

[[gnu::noinline]] ADVERB_FUNC void ring_port::resume_reader() noexcept {
  if (reader_ != nullptr) reader_->resume_for_entries();
}

ADVERB_FUNC bool ring_port::batch_wait::resume(async::waiter& which) {
  which.leave();
  static_cast<batch_wait&>(which).owner->resume_reader();
  return true;
}

[[gnu::noinline]] ADVERB_FUNC void ring_port::take_frame(receive_block& block) noexcept {
  const ring_violation violated = take_frame(block.bytes());
  block.owner->take_back(block);
  if (has_ended_) return;
  if (violated != ring_violation::none) [[unlikely]]
    return violate(violated);
  resume();
}

ADVERB_FUNC ring_violation ring_port::take_frame(std::span<const std::byte> bytes) noexcept {
  const auto places = ring_frame::places_of(bytes);
  if (!places) return ring_violation::malformed_frame;
  const bool is_freed = bytes[0] == ring_frame::freed;
  // A ring whose handle has gone ignores what is freed.
  if (is_freed ? writer_ == nullptr : reader_ == nullptr)
    return is_freed ? ring_violation::none : ring_violation::no_ring;
  if (ring_frame::is_note(bytes[0])) reader_->note(bytes[0]);
  const std::size_t each = ring_frame::bytes_of_place(bytes[0]);
  for (auto left = *places; !left.empty(); left = left.subspan(each)) {
    const auto place = ring_place::decode(load_little_endian<0, std::uint32_t>(left.first<4>()));
    const auto violated =
        is_freed ? writer_->take_back(place)
                 : reader_->arrive(place, load_little_endian<4, std::uint32_t>(left.first<8>()));
    if (violated != ring_violation::none) [[unlikely]]
      return violated;
  }
  return ring_violation::none;
}

ADVERB_FUNC void ring_port::violate(ring_violation which) noexcept {
  on_failure{why_}.report(EPROTO, "remote_ring", [&](failure_description& description) {
    description.explain([&](text_writer& writer) {
      writer.put("the peer violates the protocol: ").put(describe(which));
    });
  });
  link_->close(EPROTO);
  end();
}

ADVERB_FUNC void ring_port::messages_ended() noexcept {
  if (link_->has_no_more_messages()) return end();
  // `connection::cancel_waits` has ended the wait.
  taker_.begin();
}

ADVERB_FUNC void ring_port::cancel_waits() noexcept {
  for (ring_end* const each : {static_cast<ring_end*>(reader_), static_cast<ring_end*>(writer_)})
    if (each != nullptr) link_->loop().cancel(each->waiters());
}

ADVERB_FUNC void ring_port::end() noexcept {
  has_ended_ = true;
  if (writer_ != nullptr) {
    writer_->connection_ended();
    if (writer_->is_detached()) remove_writer();
  }
  resume();
}

ADVERB_FUNC void ring_port::resume() noexcept {
  if (reader_ != nullptr) reader_->resume();
  if (writer_ != nullptr) writer_->resume();
}

}  // namespace adverb::inline ADVERB_ABI::detail
