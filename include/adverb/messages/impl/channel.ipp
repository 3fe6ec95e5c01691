// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include <adverb/async/connect_by_name.hpp>
#include <adverb/messages/channel.hpp>
#include <adverb/messages/detail/rdma_carrier.hpp>
#include <adverb/messages/detail/resumable_carrier.hpp>
#include <adverb/messages/detail/tcp_peers.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC messages::channel make_channel(std::unique_ptr<frame_carrier> carrier,
                                           const resumption_terms& terms, bool is_connecting) {
  resumable_carrier* resumption = nullptr;
  if (terms.mine.resumes_with(terms.of_peer)) {
    auto outer = std::make_unique<resumable_carrier>(std::move(carrier), terms);
    resumption = outer.get();
    carrier = std::move(outer);
  }
  auto* const made = new channel_state{std::move(carrier), resumption,    terms.options, terms.mine,
                                       terms.of_peer,      is_connecting, throwing{}};
  messages::channel channel{*made};
  made->begin();
  return channel;
}

ADVERB_FUNC void report_no_handshake(const char* verb) {
  on_failure{throwing{}}.report(EPROTO, verb, [](failure_description& description) {
    description.explain(
        "the peer sent no handshake of a channel with a version in common; possible causes: it is "
        "no messages::channel, or one of another version of adverb");
  });
}

/// Makes the channel of a connection to a listener at an address.
ADVERB_FUNC messages::channel connected_channel(greeted_carrier made,
                                                const messages::channel_options& options,
                                                const handshake& mine,
                                                const cm::socket_address& address) {
  if (made.of_peer && mine.agrees_with(*made.of_peer))
    return make_channel(std::move(made.carrier), {options, mine, *made.of_peer, address}, true);
  report_no_handshake("messages::connect");
  return {};
}

ADVERB_FUNC messages::channel connected_channel(async::connection connection,
                                                const messages::channel_options& options,
                                                const handshake& mine) {
  const auto of_peer = handshake::decode(connection.established()->private_data());
  receive_share share =
      share_of(connection.link().loop(), connection.link().device().context, options, throwing{});
  auto carrier = std::make_unique<rdma_carrier>(std::move(connection), std::move(share));
  const cm::socket_address address = carrier->peer_address();
  return connected_channel({std::move(carrier), of_peer}, options, mine, address);
}

/// Returns the connecting end's part of the handshake of a new channel.
ADVERB_FUNC handshake first_handshake(const async::device_loop& loop,
                                      const messages::channel_options& options) {
  check_shared(loop, options, throwing{});
  handshake made = handshake::of(options, throwing{});
  if (made.resumes) made.session = handshake::new_session(throwing{});
  return made;
}

/// Reports why neither network has connected.
ADVERB_FUNC void report_both(const failure& tcp, const failure& rdma) {
  on_failure{throwing{}}.report(
      tcp.code(), "messages::connect", [&](failure_description& description) {
        description.explain([&](text_writer& writer) {
          writer.put("over TCP: ").put(tcp.what()).put("; over RDMA: ").put(rdma.what());
        });
      });
}

/// Makes the options of each attempt over RDMA, and its handshake.
struct rdma_attempts {
  [[nodiscard]] async::connection_options operator()() const {
    mine = first_handshake(loop, options);
    async::connection_options made = connection_options_of(options, mine);
    constexpr timeout longest = detail::seconds{2};
    if (options.over == messages::network::any && longest.count() < made.connect_timeout.count())
      made.connect_timeout = longest;
    return made;
  }
  const async::device_loop& loop;
  const messages::channel_options& options;
  handshake& mine;
};

/// Connects to the first of these addresses that answers: over RDMA, and then over TCP. Each
/// attempt has a session of its own, because the peer may accept one that has failed here.
ADVERB_FUNC async::task<messages::channel> connect_to_first(async::device_loop& loop,
                                                            std::vector<cm::socket_address> to,
                                                            messages::channel_options options) {
  using messages::network;
  handshake mine;
  failure over_rdma;
  failure none;
  if (options.over == network::rdma || (options.over == network::any && loop.has_channel(none))) {
    const rdma_attempts each{loop, options, mine};
    async::connection made = co_await connect_to_each(loop, to, each, over_rdma);
    if (made) co_return connected_channel(std::move(made), options, mine);
  }
  if (options.over == network::rdma) on_failure{throwing{}}.report(over_rdma);
  failure why;
  for (const cm::socket_address& each : to) {
    mine = first_handshake(loop, options);
    greeted_carrier made = co_await tcp_connect_step{loop, each, mine, options}.report_to(why);
    if (!why) co_return connected_channel(std::move(made), options, mine, each);
  }
  if (over_rdma)
    report_both(why, over_rdma);
  else
    on_failure{throwing{}}.report(why);
  co_return messages::channel{};
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::messages {

ADVERB_FUNC async::task<channel> connect(async::device_loop& loop, cm::socket_address address,
                                         channel_options options) {
  return detail::connect_to_first(loop, {address}, options);
}

ADVERB_FUNC async::task<channel> connect(async::device_loop& loop, std::string host,
                                         std::uint16_t port, channel_options options) {
  std::vector<cm::socket_address> found = co_await async::look_up(loop, std::move(host), port);
  co_return co_await detail::connect_to_first(loop, std::move(found), std::move(options));
}

ADVERB_FUNC channel connect(const cm::socket_address& address, channel_options options) {
  options.is_blocking = true;
  auto loop = std::make_unique<async::event_loop>();
  channel made = loop->wait(connect(*loop, address, options));
  made.keep(std::move(loop));
  return made;
}

ADVERB_FUNC channel connect(std::string host, std::uint16_t port, channel_options options) {
  options.is_blocking = true;
  auto loop = std::make_unique<async::event_loop>();
  channel made = loop->wait(connect(*loop, std::move(host), port, options));
  made.keep(std::move(loop));
  return made;
}

}  // namespace adverb::inline ADVERB_ABI::messages
