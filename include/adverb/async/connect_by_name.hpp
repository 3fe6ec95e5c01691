// SPDX-License-Identifier: MIT
// Connecting to a host by its name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <adverb/async/detail/name_lookups.hpp>
#include <adverb/async/device_loop.hpp>
#include <adverb/async/reliable_connection.hpp>
#include <adverb/async/task.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/cm/connect.hpp>
#include <adverb/cm/socket_address.hpp>
#include <adverb/core/detail/lack_of_memory.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::async {

/// The addresses of a host.
class lookup_step : public detail::async_step<lookup_step> {
 public:
  /// Makes the step of this host.
  lookup_step(device_loop& loop, std::string host, std::uint16_t port) noexcept
      : loop_{&loop}, host_{std::move(host)}, port_{port} {}

  /// Returns the loop that runs it.
  [[nodiscard]] device_loop& loop() const noexcept { return *loop_; }

  /// One start of the step.
  template <class Derived>
  class operation : public waiter {
   public:
    /// Makes an operation, and starts nothing.
    explicit operation(const lookup_step& step)
        : waiter{&resume}, loop_{step.loop_}, host_{step.host_}, port_{step.port_} {}
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;
    ~operation() {
      if (lookup_ != nullptr) lookup_->waiting = nullptr;
    }

    /// Starts it. Returns false if it has finished already.
    [[nodiscard]] bool start() {
      const auto look_up = [&] {
        if (detail::name_lookups* const lookups = loop_->lookups(why_))
          lookup_ = lookups->start(host_, port_, *this, why_);
      };
      if (!detail::has_memory_for(look_up)) detail::report_lack_of_memory(why_, "getaddrinfo");
      return lookup_ != nullptr;
    }
    /// Returns the result, or reports the failure.
    [[nodiscard]] std::vector<cm::socket_address> take(on_failure policy) {
      policy.clear();
      if (why_) policy.report(why_);
      return std::move(found_);
    }

   private:
    static bool resume(waiter& which) {
      auto& self = static_cast<operation&>(which);
      detail::name_lookup& done = *std::exchange(self.lookup_, nullptr);
      self.found_ = std::move(done.found);
      self.why_ = done.why;
      static_cast<Derived&>(self).finished();
      return true;
    }

    device_loop* loop_;
    std::string host_;
    std::uint16_t port_;
    detail::name_lookup* lookup_ = nullptr;
    std::vector<cm::socket_address> found_;
    failure why_;
  };

 private:
  device_loop* loop_;
  std::string host_;
  std::uint16_t port_;
};

/// Looks up the IP addresses of a host, given by name or numeric address, the best first. A thread
/// of its own does it, because the lookup blocks. Destroying the step leaves the thread to itself,
/// which needs neither the loop nor the program's objects. Lookup failures have the error category
/// of `cm::lookup_error`. Wraps: getaddrinfo(3).
[[nodiscard]] inline lookup_step look_up(device_loop& loop, std::string host,
                                         std::uint16_t port) noexcept {
  return {loop, std::move(host), port};
}

}  // namespace adverb::inline ADVERB_ABI::async

namespace adverb::inline ADVERB_ABI::detail {

/// The options of every attempt.
struct same_options {
  [[nodiscard]] const async::connection_options& operator()() const noexcept { return options; }
  async::connection_options options;
};

/// Connects to the first of these addresses that answers, each with the options that `next_options`
/// returns for it. Else returns nothing, and stores the failure of the attempt that got furthest in
/// `told`.
template <class NextOptions>
async::task<async::connection> connect_to_each(async::device_loop& loop,
                                               std::vector<cm::socket_address> addresses,
                                               NextOptions next_options, failure& told) {
  failed_attempts failed;
  for (const cm::socket_address& to : addresses) {
    if (!failed.may_try(to)) continue;
    const async::connection_options options = next_options();
    failure why;
    std::optional<cm::rejection> rejection;
    async::connection made =
        co_await async::connect(loop, to, options).rejection_to(rejection).report_to(why);
    if (made) co_return made;
    const auto missing = why.verb().starts_with("rdma_resolve") ? attempt_lacks::way
                         : why.verb() == "rdma_connect"         ? attempt_lacks::answer
                                                                : attempt_lacks::queue_pair;
    if (!failed.note(to, why, missing, rejection)) break;
  }
  told = failed.told();
  co_return async::connection{};
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::async {

/// Connects to a listener on a port of a host, given by name or numeric address:
///
///     async::connection server = co_await async::connect(loop, "storage-1", 7471);
///
/// Tries the addresses of the host in turn, as `cm::connect` does, each with the
/// `connect_timeout` of the options, and throws the failure of the attempt that got furthest. A
/// task for coroutines of tasks: on Asio, and with senders, use the steps `look_up` and `connect`.
[[nodiscard]] task<connection> connect(device_loop& loop, std::string host, std::uint16_t port,
                                       connection_options options = {});

}  // namespace adverb::inline ADVERB_ABI::async

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/async/impl/connect_by_name.ipp>
#endif
