// SPDX-License-Identifier: MIT
// The request that is posted over and over.
#pragma once

#include <cstddef>
#include <cstdint>

#include <adverb/adverb.hpp>

#include "options.hpp"
#include "setup.hpp"

namespace perf {

/// Calls `use` with a function that makes the request of a lane for messages of `size` bytes.
/// Different operations are different types, so this is decided before anything is measured.
template <class Engine, class Use>
auto with_request(side<Engine>& own, const options& wanted, std::uint32_t size, const Use& use) {
  const adverb::const_buffer payload = own.from().const_slice(0, size);
  const bool as_inline = size <= own.inline_size();
  const auto inline_payload = adverb::inline_data{own.outgoing().first(size)};
  if constexpr (Engine::transport == adverb::transport::ud) {
    const auto to = [](const auto& request, const lane<Engine>& each) {
      return request.to({each.way, each.theirs.number, each.theirs.queue_key});
    };
    if (as_inline)
      return use([=](const lane<Engine>& each) { return to(adverb::send(inline_payload), each); });
    return use([=](const lane<Engine>& each) { return to(adverb::send(payload), each); });
  } else {
    const auto always = [&](const auto& request) {
      return use([=](const lane<Engine>&) { return request; });
    };
    if (wanted.operation == operation::send)
      return as_inline ? always(adverb::send(inline_payload)) : always(adverb::send(payload));
    if constexpr (Engine::transport == adverb::transport::rc) {
      const adverb::mutable_buffer result = own.into().slice(0, size);
      const auto number = own.remote().template as<std::uint64_t>();
      if (wanted.operation == operation::read) return always(adverb::read(own.remote(), result));
      if (wanted.operation == operation::atomic)
        return wanted.atomic == atomic_operation::fetch_and_add
                   ? always(adverb::fetch_and_add(number, 1, result))
                   : always(adverb::compare_and_swap(number, {0, 1}, result));
    }
    return as_inline ? always(adverb::write(own.remote(), inline_payload))
                     : always(adverb::write(own.remote(), payload));
  }
}

}  // namespace perf
