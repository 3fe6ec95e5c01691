// SPDX-License-Identifier: MIT
// The result of a co_await as a member of an aggregate, as in docs/guide/async.md.
#include <coroutine>
#include <exception>
#include <utility>

#include "support/catch.hpp"

namespace {

/// Counts the objects that exist.
struct counted {
  counted() noexcept { ++count; }
  counted(counted&&) noexcept { ++count; }
  ~counted() { --count; }
  static inline int count = 0;
};

struct next_counted {
  [[nodiscard]] bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  [[nodiscard]] counted await_resume() const noexcept { return {}; }
};

struct detached {
  struct promise_type {
    detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

struct session {
  int number;
  counted connection;
};

}  // namespace

TEST_CASE("the result of a co_await is destroyed once if it has a name and moves to an aggregate") {
  counted::count = 0;
  []() -> detached {
    counted connection = co_await next_counted{};
    const session self{1, std::move(connection)};
    CHECK(counted::count == 2);
  }();
  CHECK(counted::count == 0);
}

#if defined(__clang__) || __GNUC__ > 12
TEST_CASE("the result of a co_await in the braces of an aggregate is destroyed once") {
  counted::count = 0;
  []() -> detached { const session self{1, co_await next_counted{}}; }();
  CHECK(counted::count == 0);
}
#endif
