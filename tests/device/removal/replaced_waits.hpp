// SPDX-License-Identifier: MIT
// epoll_wait and ppoll, in which adverb waits, can be stopped by a test.
#pragma once

#include <cstddef>
#include <functional>

namespace replaced_waits {

/// Calls `action` before the `nth` wait of this thread from now on, counted from 1.
void before(std::size_t nth, std::function<void()> action);

/// Returns true if the action has been called.
[[nodiscard]] bool has_come() noexcept;

}  // namespace replaced_waits
