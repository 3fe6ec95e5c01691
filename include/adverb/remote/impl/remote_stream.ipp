// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <adverb/remote/remote_stream.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void check_stream(const stream_options& options, on_failure policy) {
  policy.clear();
  constexpr std::uint32_t least_requests = 4 * stream_limits::notices;
  const std::string_view defect =
      options.send_buffer == 0 ? "send_buffer is 0"
      : options.receive_buffer == 0 || options.receive_buffer % 2 != 0 ||
              options.receive_buffer / 2 > stream_limits::most_bytes
          ? "receive_buffer is no multiple of 2 below 2^30"
      : options.max_send_wr < least_requests ? "max_send_wr is below 16"
      : options.receives < stream_limits::least_receives ||
              options.receives > stream_limits::most_receives
          ? "receives is not within 8 and 65,534"
      : options.max_inline_data < stream_limits::least_inline ? "max_inline_data is below 32"
                                                              : "";
  if (defect.empty()) return;
  policy.report(EINVAL, "stream_options",
                [&](failure_description& description) { description.explain(defect); });
}

ADVERB_FUNC async::connection_options connection_of_stream(const stream_options& options) {
  return {.max_send_wr = options.max_send_wr,
          .receives = options.receives + stream_limits::notices,
          .block_size = sizeof(std::uint32_t),
          .max_inline_data = options.max_inline_data,
          .connect_timeout = options.connect_timeout,
          .end_timeout = options.end_timeout};
}

ADVERB_FUNC void prepare_stream(reliable_link& link, const stream_options& options,
                                const cm::private_data* of_peer, cm::private_data& data,
                                on_failure policy) {
  check_stream(options, policy);
  if (!policy.failed() && of_peer != nullptr)
    static_cast<void>(stream_offer::decode(*of_peer, policy));
  if (policy.failed()) return;
  auto made = std::make_unique<stream_port>(link, options, policy);
  if (policy.failed()) return;
  data = std::span<const std::byte>{made->offer().encode()};
  link.attach(std::move(made));
}

ADVERB_FUNC async::connection begin_stream(async::connection made, bool has_accepted,
                                           on_failure policy) {
  const cm::connection<>* const established = made.established();
  const cm::private_data none;
  const stream_offer of_peer =
      stream_offer::decode(established != nullptr ? established->private_data() : none, policy);
  if (policy.failed()) return {};
  stream_port::of(made.link()).connected(of_peer, has_accepted);
  return made;
}

ADVERB_FUNC void report_unwritten(const stream_port& of, const char* verb, on_failure policy) {
  const bool is_peer_gone = of.state().is_peer_gone();
  policy.report(is_peer_gone ? ECONNRESET : EPIPE, verb, [&](failure_description& description) {
    description.explain(is_peer_gone ? "the peer has closed the stream"
                                     : "this side has ended its writes");
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail
