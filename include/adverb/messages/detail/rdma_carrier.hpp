// SPDX-License-Identifier: MIT
// Frames over a reliable connection.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include <adverb/async/detail/message_taker.hpp>
#include <adverb/async/reliable_connection.hpp>
#include <adverb/messages/detail/frame_carrier.hpp>
#include <adverb/messages/detail/handshake.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Checks the receives that a channel shares. Fails with EINVAL if the loop has none, or smaller
/// ones.
void check_shared(const async::device_loop& loop, const messages::channel_options& options,
                  on_failure policy);

/// Returns the share of a channel in the receives of its loop; an empty one if it has receives
/// of its own. Fails with ENOMEM if other channels leave too few.
[[nodiscard]] receive_share share_of(async::device_loop& loop, context_ref context,
                                     const messages::channel_options& options, on_failure policy);

/// Returns the options of the connection of a channel.
[[nodiscard]] async::connection_options connection_options_of(
    const messages::channel_options& options, const handshake& mine);

/// Carries frames as messages of a reliable connection, and offers by RDMA.
class rdma_carrier final : public frame_carrier {
 public:
  /// Takes over an established connection, and the share of the receives of its loop.
  explicit rdma_carrier(async::connection&& connection, receive_share share = {}) noexcept
      : connection_{std::move(connection)}, link_{&connection_.link()}, share_{std::move(share)} {}

  [[nodiscard]] messages::network network() const noexcept override {
    return messages::network::rdma;
  }
  [[nodiscard]] async::device_loop& loop() const noexcept override { return link_->loop(); }
  [[nodiscard]] cm::socket_address peer_address() const noexcept override {
    const cm::connection<>* const established = connection_ ? connection_.established() : nullptr;
    return established != nullptr ? established->peer_address() : cm::socket_address{};
  }
  [[nodiscard]] bool is_iwarp() const noexcept override {
    return detail::is_iwarp(link_->device().context);
  }
  [[nodiscard]] async::loop_memory memory(std::size_t size, access_rights rights,
                                          on_failure policy) override {
    return connection_.memory(size, rights, policy);
  }
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept override {
    return link_->domain();
  }
  [[nodiscard]] receive_share take_share() noexcept override { return std::move(share_); }
  /// Returns the link. For tests: valid until the channel has ended.
  [[nodiscard]] reliable_link& link() const noexcept { return *link_; }
  ADVERB_FUNC void start(channel_state& of) override;
  [[nodiscard]] bool is_open() const noexcept override { return link_->is_open(); }
  [[nodiscard]] bool is_audible() const noexcept override { return link_->is_audible(); }
  ADVERB_FUNC void send(frame_slot& slot, std::span<const const_buffer> frame) override;
  ADVERB_FUNC void write(frame_slot& slot, const landing_handle& target,
                         std::span<const const_buffer> message, const_buffer frame) override;
  [[nodiscard]] ADVERB_FUNC landing_handle open(std::span<std::byte> memory, memory_region& region,
                                                on_failure policy) override;
  void close(int error_number) override { link_->close(error_number); }
  void cancel() override {
    if (connection_) connection_.cancel();
  }
  void detach() noexcept override { connection_ = async::connection{}; }

 private:
  friend class end_of_loop<rdma_carrier>;
  friend class message_taker<rdma_carrier>;

  void take_message(receive_block& block);
  [[gnu::cold]] void messages_ended();
  void loop_ended();
  template <class... Requests>
  void post(frame_slot& slot, const Requests&... requests);
  static void frame_sent(async::operation& which, const completion& each);
  void give_back(void* which) noexcept override {
    auto& block = *static_cast<receive_block*>(which);
    block.owner->take_back(block);
  }

  /// Empty when the handle of the program has gone.
  async::connection connection_;
  /// Valid until the channel has ended.
  reliable_link* link_;
  receive_share share_;
  channel_state* owner_ = nullptr;
  std::optional<message_taker<rdma_carrier>> taker_;
  end_of_loop<rdma_carrier> end_{*this};
};

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/messages/impl/rdma_carrier.ipp>
#endif
