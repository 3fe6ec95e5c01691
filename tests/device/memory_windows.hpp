// SPDX-License-Identifier: MIT
// A loopback whose far side grants access through windows, and whose near side uses it.
#pragma once

#include <algorithm>
#include <cstddef>

#include "support.hpp"

inline constexpr adverb::access_rights window_rights =
    every_right | adverb::access_right::window_bind;

template <adverb::transport Transport = adverb::transport::rc>
struct window_link : loopback<Transport> {
  using loopback<Transport>::loopback;

  using loopback<Transport>::near_end;
  using loopback<Transport>::far_end;
  using loopback<Transport>::near_pair;
  using loopback<Transport>::far_pair;

  adverb::memory_region region{this->domain, far_end.bytes, window_rights};

  /// Has the far side bind a window of type 2 as prepared, and waits for it.
  template <class Binding>
  void bind_to(const Binding& binding) const {
    far_pair.post(bind_window(binding).signaled().id(70)).check();
    const adverb::completion done = next_success(far_end.queue);
    CHECK(done.id() == 70);
    CHECK(done.success().opcode() == adverb::completion_opcode::bind_window);
  }

  /// The status of a write of so many bytes of a pattern that starts with `seed`.
  template <class Remote>
  [[nodiscard]] adverb::completion_status write_to(const Remote& remote, std::size_t length,
                                                   unsigned seed = 5) {
    near_end.fill(0, length, seed);
    near_pair.post(write(at_least(length, remote), near_end.region.slice(0, length)).signaled())
        .check();
    return next_completion(near_end.queue).status();
  }
  /// The buffer with at least this length: the device refuses accesses beyond the window.
  template <class Remote>
  [[nodiscard]] static Remote at_least(std::size_t length, const Remote& remote) {
    return {adverb::adopt, remote.address(), std::max(length, remote.size()), remote.key()};
  }

  /// The status of a read of so many bytes, into offset 4096 of the near side.
  template <class Remote>
  [[nodiscard]] adverb::completion_status read_from(const Remote& remote, std::size_t length) {
    near_pair.post(read(at_least(length, remote), near_end.region.slice(4096, length)).signaled())
        .check();
    return next_completion(near_end.queue).status();
  }
};

/// The buffer with a right that nobody granted.
template <adverb::access_rights Rights, class T, adverb::access_rights Granted>
[[nodiscard]] adverb::remote_buffer<T, Rights> claimed(
    const adverb::remote_buffer<T, Granted>& remote) {
  return {adverb::adopt, remote.address(), remote.size(), remote.key()};
}
