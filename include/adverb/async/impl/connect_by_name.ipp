// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/async/connect_by_name.hpp>

namespace adverb::inline ADVERB_ABI::async {

ADVERB_FUNC task<connection> connect(device_loop& loop, std::string host, std::uint16_t port,
                                     connection_options options) {
  std::vector<cm::socket_address> found = co_await look_up(loop, std::move(host), port);
  failure why;
  const detail::same_options each{std::move(options)};
  connection made = co_await detail::connect_to_each(loop, std::move(found), each, why);
  if (!made) on_failure{throwing{}}.report(why);
  co_return made;
}

}  // namespace adverb::inline ADVERB_ABI::async
