// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/async/connect_by_name.hpp>
#include <adverb/messages/channel.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC async::connection_options connection_options_of(
    const messages::channel_options& options, const handshake& mine) {
  async::connection_options made{
      // A write and the frame behind it take two.
      .max_send_wr = 2 * options.max_frames + 2,
      .receives = options.receives + message_credits::spare_receives,
      .block_size = options.block_size,
      .max_send_sge = 1 + message_parts::most_parts,
      .connect_timeout = options.connect_timeout,
  };
  made.connection.private_data = mine.encode();
  return made;
}

ADVERB_FUNC messages::channel make_channel(async::connection connection,
                                           const messages::channel_options& options,
                                           const handshake& mine, const handshake& of_peer,
                                           bool is_connecting) {
  auto* const made =
      new channel_state{std::move(connection), options, mine, of_peer, is_connecting, throwing{}};
  messages::channel channel{*made};
  made->begin();
  return channel;
}

/// Makes the channel of a connection to a listener.
ADVERB_FUNC messages::channel connected_channel(async::connection connection,
                                                const messages::channel_options& options,
                                                const handshake& mine) {
  const auto of_peer = handshake::decode(connection.established()->private_data());
  if (of_peer && mine.agrees_with(*of_peer))
    return make_channel(std::move(connection), options, mine, *of_peer, true);
  on_failure{throwing{}}.report(EPROTO, "messages::connect", [](failure_description& description) {
    description.explain(
        "the private data of the peer is no handshake of a channel with a version in common: "
        "it is no messages::channel, or one of another version of adverb");
  });
  return {};
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::messages {

ADVERB_FUNC async::task<channel> connect(async::device_loop& loop, cm::socket_address address,
                                         channel_options options) {
  const auto mine = detail::handshake::of(options, throwing{});
  co_return detail::connected_channel(
      co_await async::connect(loop, address, detail::connection_options_of(options, mine)), options,
      mine);
}

ADVERB_FUNC async::task<channel> connect(async::device_loop& loop, std::string host,
                                         std::uint16_t port, channel_options options) {
  const auto mine = detail::handshake::of(options, throwing{});
  co_return detail::connected_channel(
      co_await async::connect(loop, std::move(host), port,
                              detail::connection_options_of(options, mine)),
      options, mine);
}

ADVERB_FUNC async::task<channel> accept(async::listener& listener, channel_options options) {
  const auto mine = detail::handshake::of(options, throwing{});
  while (true) {
    async::connection_request request = co_await listener.next();
    const auto of_peer = detail::handshake::decode(request.private_data());
    if (!of_peer || !mine.agrees_with(*of_peer)) {
      request.reject(mine.encode());
      continue;
    }
    async::connection connection =
        co_await request.accept(detail::connection_options_of(options, mine));
    co_return detail::make_channel(std::move(connection), options, mine, *of_peer, false);
  }
}

}  // namespace adverb::inline ADVERB_ABI::messages
