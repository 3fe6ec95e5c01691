// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <adverb/device/device.hpp>
#include <adverb/messages/channel_listener.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Returns true if RDMA connections of this machine may take ports of TCP.
ADVERB_FUNC bool is_any_device_iwarp() noexcept {
  std::error_code none;
  const device_list all{none};
  return std::ranges::any_of(
      all, [](device_ref each) { return each.transport_type() == transport_type::iwarp; });
}

}  // namespace adverb::inline ADVERB_ABI::detail

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
  const bool is_by_rdma = rdma_ && detail::is_code(why.code(), std::errc::address_in_use) &&
                          detail::is_any_device_iwarp();
  if (!is_by_rdma) policy.report(why);
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
    [[nodiscard]] channel_request take(on_failure policy) {
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
    channel_request got_;
  };

 private:
  listener* listener_;
};

ADVERB_FUNC channel_request listener::take() {
  channel_request got;
  got.listener_ = this;
  if (rdma_) got.over_rdma_ = rdma_->take_request();
  if (got.over_rdma_)
    got.of_peer_ = detail::handshake::decode(got.over_rdma_.private_data());
  else if (tcp_ && (got.over_tcp_ = tcp_->take()) != nullptr)
    got.of_peer_ = got.over_tcp_->of_peer();
  return got;
}

ADVERB_FUNC void listener::cancel_waits() noexcept {
  loop_->cancel(waiters_);
  if (rdma_) rdma_->cancel_waits();
  if (tcp_) tcp_->clear();
}

ADVERB_FUNC async::task<channel_request> listener::next() {
  channel_request got = co_await arrival_step{*this};
  co_return got;
}

ADVERB_FUNC async::task<channel> listener::accept() {
  while (true) {
    channel_request got = co_await next();
    if (got.is_for_channel()) co_return co_await got.accept();
    got.reject();
  }
}

ADVERB_FUNC bool channel_request::is_for_channel() const noexcept {
  return of_peer_ && listener_->mine_.agrees_with(*of_peer_);
}

ADVERB_FUNC void channel_request::reject() {
  if (over_rdma_) over_rdma_.reject(listener_->mine_.encode());
}

ADVERB_FUNC async::task<channel> channel_request::accept() {
  return [](channel_request self) -> async::task<channel> {
    if (!self.is_for_channel()) {
      self.reject();
      detail::report_no_handshake("messages::channel_request::accept");
    }
    const listener& by = *self.listener_;
    std::unique_ptr<detail::frame_carrier> carrier;
    if (self.over_tcp_ != nullptr) {
      carrier =
          detail::carrier_of(by.loop(), *self.over_tcp_, by.mine_, by.options_, throwing{}).carrier;
    } else {
      carrier = std::make_unique<detail::rdma_carrier>(
          co_await self.over_rdma_.accept(detail::connection_options_of(by.options_, by.mine_)));
    }
    co_return detail::make_channel(std::move(carrier), by.options_, by.mine_, *self.of_peer_,
                                   false);
  }(std::move(*this));
}

}  // namespace adverb::inline ADVERB_ABI::messages
