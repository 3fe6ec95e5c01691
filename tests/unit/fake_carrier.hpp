// SPDX-License-Identifier: MIT
// One end of a channel whose peer, and whose network, is the test: it places each event between
// two turns of the loop.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>

namespace channel_test {

using namespace adverb;

/// Keeps the frames that a channel sends, and passes it those of the test.
class fake_carrier final : public detail::frame_carrier {
 public:
  explicit fake_carrier(async::device_loop& loop) noexcept : loop_{&loop} {}

  // For the test.

  /// The headers of the frames that the channel has sent.
  std::vector<detail::message_frame> sent;
  /// Nothing more can be posted, as when a completion has failed.
  bool is_closed = false;

  /// Passes a frame of the peer to the channel.
  void arrive(const detail::message_frame& header, std::span<const std::byte> body = {}) {
    std::vector<std::byte>& bytes = arrived_.emplace_back();
    const auto front = header.encode();
    bytes.assign(front.begin(), front.end());
    bytes.insert(bytes.end(), body.begin(), body.end());
    owner_->receive({*this, this, bytes});
  }
  /// Passes the handle of memory that takes an offer.
  void take_offer(std::uint32_t sequence, std::uint32_t length, std::uint32_t granted) {
    const auto handle = detail::landing_handle{adopt, 0, length, rkey{}}.encode();
    arrive({.type = detail::message_frame_type::take,
            .length = length,
            .sequence = sequence,
            .granted = granted},
           std::as_bytes(std::span{handle}));
  }
  /// Completes the frames in progress, or so many of them.
  void complete(bool succeeded = true, std::size_t most = ~std::size_t{0}) {
    for (std::size_t left = std::min(most, in_progress_.size()); left != 0; --left) {
      detail::frame_slot& first = *in_progress_.front();
      in_progress_.pop_front();
      owner_->sent(first, succeeded);
    }
  }
  /// Ends the link, which may destroy this object.
  void end(const failure& why = {}) {
    is_closed = true;
    complete(false);
    owner_->ended(why);
  }
  [[nodiscard]] std::size_t count(detail::message_frame_type type) const {
    return static_cast<std::size_t>(std::ranges::count(sent, type, &detail::message_frame::type));
  }

  // For the channel.

  [[nodiscard]] messages::network network() const noexcept override {
    return messages::network::tcp;
  }
  [[nodiscard]] async::device_loop& loop() const noexcept override { return *loop_; }
  [[nodiscard]] cm::socket_address peer_address() const noexcept override { return {}; }
  [[nodiscard]] bool is_iwarp() const noexcept override { return false; }
  [[nodiscard]] async::loop_memory memory(std::size_t size, access_rights /*rights*/,
                                          on_failure policy) override {
    policy.clear();
    return async::loop_memory{size};
  }
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept override { return {}; }
  void start(detail::channel_state& of) override { owner_ = &of; }
  [[nodiscard]] bool is_open() const noexcept override { return !is_closed; }
  [[nodiscard]] bool is_audible() const noexcept override { return true; }
  void send(detail::frame_slot& slot, std::span<const const_buffer> /*frame*/) override {
    const std::span<const std::byte> bytes{slot.bytes, detail::message_frame::header_size};
    sent.push_back(
        detail::message_frame::decode(bytes.first<detail::message_frame::header_size>()));
    slot.is_posted = !is_closed;
    if (slot.is_posted) in_progress_.push_back(&slot);
  }
  void write(detail::frame_slot& slot, const detail::landing_handle& /*target*/,
             std::span<const const_buffer> /*message*/, const_buffer frame) override {
    is_closed = is_closed || fails_to_write;
    send(slot, std::span{&frame, 1});
  }
  [[nodiscard]] detail::landing_handle open(std::span<std::byte> memory, memory_region& /*region*/,
                                            on_failure policy) override {
    policy.clear();
    return {adopt, 0, memory.size(), rkey{}};
  }
  void close(int /*error_number*/) override { is_closed = true; }
  void cancel() override { is_closed = true; }
  void detach() noexcept override { is_closed = true; }

  /// The next write cannot be posted.
  bool fails_to_write = false;

 private:
  void give_back(void* /*which*/) noexcept override {}

  async::device_loop* loop_;
  detail::channel_state* owner_ = nullptr;
  std::deque<detail::frame_slot*> in_progress_;
  std::deque<std::vector<std::byte>> arrived_;
};

/// The kind of an end.
struct end_options {
  messages::channel_options of_channel;
  /// The receives of the peer.
  std::uint32_t of_peer = 8;
  bool is_connecting = true;
  /// The address of the listener, for an end that connects again.
  cm::socket_address address{};
  /// The sessions of the listener, for an end that accepts.
  detail::session_table* table = nullptr;
  /// The number of the session of an end that resumes.
  std::uint64_t session = 77;
};

/// One end of a channel over a carrier of the test.
class fake_end {
 public:
  fake_end(async::event_loop& loop, const end_options& options) {
    auto made = std::make_unique<fake_carrier>(loop);
    carrier_ = made.get();
    detail::handshake mine = detail::handshake::of(options.of_channel, throwing{});
    mine.session = mine.resumes ? options.session : 0;
    detail::handshake of_peer = mine;
    of_peer.receives = options.of_peer;
    std::unique_ptr<detail::frame_carrier> outer = std::move(made);
    detail::resumable_carrier* resumption = nullptr;
    if (mine.resumes) {
      auto resumable = std::make_unique<detail::resumable_carrier>(
          std::move(outer), detail::resumption_terms{options.of_channel, mine, of_peer,
                                                     options.address, options.table});
      resumption = resumable.get();
      outer = std::move(resumable);
    }
    auto* const state = new detail::channel_state{
        std::move(outer),      resumption, options.of_channel, mine, of_peer,
        options.is_connecting, throwing{}};
    channel_ = messages::channel{*state};
    state->begin();
  }

  /// Valid until the channel has ended, or its link is replaced.
  [[nodiscard]] fake_carrier& carrier() const noexcept { return *carrier_; }
  [[nodiscard]] messages::channel& channel() noexcept { return channel_; }
  [[nodiscard]] const messages::channel& channel() const noexcept { return channel_; }
  /// Destroys the handle of the program.
  void drop() { channel_ = messages::channel{}; }

 private:
  fake_carrier* carrier_ = nullptr;
  messages::channel channel_;
};

/// Runs the loop for a time.
inline void run_for(async::event_loop& loop, timeout length) {
  async::sleep_for(loop, length).wait();
}

/// A step that the test starts and destroys by itself.
template <class Step>
class plain_step {
 public:
  explicit plain_step(const Step& step) : step_{step} {
    operation_ = std::make_unique<operation>(step_);
    is_waiting_ = operation_->start();
  }
  [[nodiscard]] bool is_finished() const noexcept {
    return !is_waiting_ || operation_->is_finished;
  }
  /// Destroys an operation that waits. One whose memory the device uses goes on.
  void cancel() {
    if (operation_->is_waiting()) operation_.reset();
  }

 private:
  struct operation : Step::template operation<operation> {
    explicit operation(const Step& step) : Step::template operation<operation>{step} {}
    void finished() { is_finished = true; }
    bool is_finished = false;
  };

  Step step_;
  std::unique_ptr<operation> operation_;
  bool is_waiting_ = false;
};

}  // namespace channel_test
