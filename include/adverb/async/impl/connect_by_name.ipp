// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/async/connect_by_name.hpp>

namespace adverb::inline ADVERB_ABI::async {

ADVERB_FUNC task<connection> connect(device_loop& loop, std::string host, std::uint16_t port,
                                     connection_options options) {
  const std::vector<cm::socket_address> found = co_await look_up(loop, std::move(host), port);
  detail::failed_attempts failed;
  for (const cm::socket_address& to : found) {
    if (!failed.may_try(to)) continue;
    failure why;
    std::optional<cm::rejection> rejection;
    connection made = co_await connect(loop, to, options).rejection_to(rejection).report_to(why);
    if (made) co_return made;
    const auto missing = why.verb().starts_with("rdma_resolve") ? detail::attempt_lacks::way
                         : why.verb() == "rdma_connect"         ? detail::attempt_lacks::answer
                                                                : detail::attempt_lacks::queue_pair;
    if (!failed.note(to, why, missing, rejection)) break;
  }
  on_failure{throwing{}}.report(failed.told());
  co_return connection{};
}

}  // namespace adverb::inline ADVERB_ABI::async
