// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <utility>

#include <adverb/messages/channel_listener.hpp>

namespace adverb::inline ADVERB_ABI::messages {

ADVERB_FUNC listener::listener(async::device_loop& loop, const cm::socket_address& address,
                               const channel_options& options, on_failure policy)
    : loop_{&loop}, options_{options}, mine_{detail::handshake::of(options, policy)} {
  if (policy.failed()) return;
  failure none;
  if (options.over == network::rdma || (options.over == network::any && loop.has_channel(none))) {
    rdma_.emplace(loop, address, cm::listener_options{}, policy);
    if (policy.failed()) {
      rdma_.reset();
      return;
    }
  }
  if (options.over == network::rdma) return;
  failure why;
  tcp_.emplace(loop, rdma_ ? address.with_port(rdma_->port()) : address, mine_,
               options.connect_timeout, waiters_, why);
  policy.clear();
  if (!why) return;
  tcp_.reset();
  // A listener over iWARP has the port.
  if (!rdma_ || !detail::is_code(why.code(), std::errc::address_in_use)) policy.report(why);
}

/// The next request over RDMA, or connection over TCP.
class listener::arrival_step : public detail::async_step<arrival_step> {
 public:
  explicit arrival_step(listener& of) noexcept : listener_{&of} {}

  [[nodiscard]] async::device_loop& loop() const noexcept { return *listener_->loop_; }

  template <class Derived>
  class operation : public async::cancellable_waiter {
   public:
    explicit operation(const arrival_step& step) noexcept
        : cancellable_waiter{&resume}, listener_{step.listener_} {}

    [[nodiscard]] bool start() {
      got_ = listener_->take();
      if (got_) return false;
      listener_->waiters_.push_back(*this);
      if (listener_->rdma_) listener_->rdma_->waiters().push_back(request_);
      return true;
    }
    [[nodiscard]] arrival take(on_failure policy) {
      policy.clear();
      if (is_cancelled()) detail::report_cancelled(policy, "messages::listener::accept");
      return std::move(got_);
    }

   private:
    /// Waits for a request over RDMA.
    struct request_waiter : async::cancellable_waiter {
      explicit request_waiter(operation& of) noexcept
          : cancellable_waiter{[](waiter& which) {
              auto& self = static_cast<request_waiter&>(which);
              if (self.is_cancelled()) self.owner->cancel();
              return self.owner->go_on();
            }},
            owner{&of} {}
      operation* owner;
    };

    static bool resume(waiter& which) {
      auto& self = static_cast<operation&>(which);
      if (!self.is_cancelled()) self.got_ = self.listener_->take();
      self.request_.leave();
      return detail::leave_and_finish<Derived>(which);
    }

    listener* listener_;
    request_waiter request_{*this};
    arrival got_;
  };

 private:
  listener* listener_;
};

ADVERB_FUNC listener::arrival listener::take() {
  arrival got;
  if (rdma_) got.request = rdma_->take_request();
  if (!got && tcp_) got.greeted = tcp_->take();
  return got;
}

ADVERB_FUNC void listener::cancel_waits() noexcept {
  loop_->cancel(waiters_);
  if (rdma_) rdma_->cancel_waits();
  if (tcp_) tcp_->clear();
}

ADVERB_FUNC async::task<channel> listener::accept() {
  while (true) {
    arrival got = co_await arrival_step{*this};
    if (got.greeted != nullptr) {
      detail::greeted_carrier made =
          detail::carrier_of(*loop_, *got.greeted, mine_, options_, throwing{});
      co_return detail::make_channel(std::move(made.carrier), options_, mine_, *made.of_peer,
                                     false);
    }
    const auto of_peer = detail::handshake::decode(got.request.private_data());
    if (!of_peer || !mine_.agrees_with(*of_peer)) {
      got.request.reject(mine_.encode());
      continue;
    }
    async::connection connection =
        co_await got.request.accept(detail::connection_options_of(options_, mine_));
    co_return detail::make_channel(std::make_unique<detail::rdma_carrier>(std::move(connection)),
                                   options_, mine_, *of_peer, false);
  }
}

}  // namespace adverb::inline ADVERB_ABI::messages
