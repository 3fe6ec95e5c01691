// SPDX-License-Identifier: MIT
// A loop for tasks, with epoll.
#pragma once

#include <vector>

#include <adverb/async/device_loop.hpp>
#include <adverb/async/task.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::async {

/// Runs tasks on one thread:
///
///     async::event_loop loop;
///     loop.spawn(serve(loop));
///     loop.run();
///
/// `stop` is thread safe; nothing else is.
class event_loop : public device_loop {
 public:
  /// Wraps: epoll_create(2), eventfd(2).
  explicit event_loop(const device_loop_options& options = {}, on_failure policy = throwing{});
  ~event_loop();

  /// Runs until every task and every connection without a handle has ended, or until `stop`.
  /// Rethrows the first exception that left a task.
  void run();
  /// Has `run` return. Thread safe; may be called by a signal handler.
  void stop() noexcept;

 private:
  static void watch(void* self, event_source& source);
  void turn();

  int epoll_ = -1;
  int wake_ = -1;
  bool is_stopped_ = false;
  /// What has more to do.
  std::vector<event_source*> unfinished_;
};

}  // namespace adverb::inline ADVERB_ABI::async

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/async/impl/event_loop.ipp>
#endif
