// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <adverb/core/detail/lack_of_memory.hpp>
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

ADVERB_FUNC handshake accepting_end::answer_to(const handshake& of_peer) const noexcept {
  handshake answer = mine;
  // A number that another channel has is none that the peer has chosen at random.
  answer.resumes = mine.resumes && of_peer.resumes && !sessions.has_ended() &&
                   sessions.find(of_peer.session) == nullptr;
  if (answer.resumes) answer.session = of_peer.session;
  return answer;
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::messages {

ADVERB_FUNC listener::listener(async::device_loop& loop, const cm::socket_address& address,
                               const channel_options& options, on_failure policy)
    : end_{std::make_shared<detail::accepting_end>(loop, options, policy)} {
  if (policy.failed()) return;
  detail::check_shared(loop, options, policy);
  if (policy.failed()) return;
  failure none;
  if (options.over == network::rdma || (options.over == network::any && loop.has_channel(none))) {
    rdma_.emplace(loop, address, cm::listener_options{}, policy);
    if (policy.failed()) {
      rdma_.reset();
      return;
    }
    rdma_->waiters().push_back(request_waiter_);
  }
  if (options.over == network::rdma) return;
  failure why;
  tcp_.emplace(loop, rdma_ ? address.with_port(rdma_->port()) : address, end_->mine,
               options.connect_timeout, waiters_, detail::greeting_filter{&resume_over_tcp, this},
               why);
  policy.clear();
  if (!why) return;
  tcp_.reset();
  // A listener over iWARP has the port.
  const bool is_by_rdma = rdma_ && detail::is_code(why.code(), std::errc::address_in_use) &&
                          detail::is_any_device_iwarp();
  if (!is_by_rdma) policy.report(why);
}

ADVERB_FUNC listener::~listener() {
  cancel_waits();
  end_->sessions.end();
}

/// The next request.
class listener::arrival_step : public detail::async_step<arrival_step> {
 public:
  explicit arrival_step(listener& of) noexcept : listener_{&of} {}

  [[nodiscard]] async::device_loop& loop() const noexcept { return listener_->loop(); }

  template <class Derived>
  class operation : public async::cancellable_waiter {
   public:
    explicit operation(const arrival_step& step) noexcept
        : cancellable_waiter{&resume}, listener_{step.listener_} {}

    [[nodiscard]] bool start() {
      got_ = listener_->take();
      if (got_) return false;
      listener_->waiters_.push_back(*this);
      return true;
    }
    [[nodiscard]] channel_request take(on_failure policy) {
      policy.clear();
      if (is_cancelled()) detail::report_cancelled(policy, "messages::listener::accept");
      return std::move(got_);
    }

   private:
    static bool resume(waiter& which) {
      auto& self = static_cast<operation&>(which);
      if (!self.is_cancelled()) self.got_ = self.listener_->take();
      return detail::leave_and_finish<Derived>(which);
    }

    listener* listener_;
    channel_request got_;
  };

 private:
  listener* listener_;
};

ADVERB_FUNC channel_request listener::take() {
  channel_request got;
  got.end_ = end_;
  if (!requests_.empty()) {
    got.request_ = std::move(requests_.front());
    requests_.pop_front();
  } else if (tcp_ && (got.request_.over_tcp = tcp_->take()) != nullptr) {
    got.request_.of_peer = got.request_.over_tcp->of_peer();
  }
  return got;
}

ADVERB_FUNC void listener::take_request() {
  detail::link_request got;
  got.over_rdma = rdma_->take_request();
  if (!got) return;
  got.of_peer = detail::handshake::decode(got.over_rdma.private_data());
  if (resume(got) || requests_.size() == most_requests) return;
  // The destructor rejects it if there is no memory.
  if (detail::has_memory_for([&] { requests_.push_back(std::move(got)); })) waiters_.resume_first();
}

ADVERB_FUNC bool listener::resume(detail::link_request& requested) {
  if (!requested.of_peer || !requested.of_peer->is_resumption) return false;
  if (detail::resumable_carrier* const found = end_->sessions.find(requested.of_peer->session))
    found->take_request(std::move(requested));
  else if (end_->sessions.has_finished(requested.of_peer->session))
    requested.reject(end_->mine.of_finished_session(requested.of_peer->session));
  else
    requested.reject(end_->mine.of_unknown_session());
  return true;
}

ADVERB_FUNC bool listener::resume_over_tcp(void* self,
                                           std::unique_ptr<detail::tcp_greeting>& greeted) {
  if (!greeted->of_peer() || !greeted->of_peer()->is_resumption) return false;
  detail::link_request got{
      .of_peer = greeted->of_peer(), .over_rdma = {}, .over_tcp = std::move(greeted)};
  return static_cast<listener*>(self)->resume(got);
}

ADVERB_FUNC void listener::cancel_waits() noexcept {
  loop().cancel(waiters_);
  requests_.clear();
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
  return request_.of_peer && end_->mine.agrees_with(*request_.of_peer);
}

ADVERB_FUNC void channel_request::reject() {
  if (request_.over_rdma) request_.over_rdma.reject(end_->mine.encode());
}

ADVERB_FUNC async::task<channel> channel_request::accept() {
  return [](channel_request self) -> async::task<channel> {
    if (!self.is_for_channel()) {
      self.reject();
      detail::report_no_handshake("messages::channel_request::accept");
    }
    detail::accepting_end& end = *self.end_;
    const detail::handshake mine = end.answer_to(*self.request_.of_peer);
    std::unique_ptr<detail::frame_carrier> carrier;
    if (self.request_.over_tcp != nullptr) {
      carrier =
          detail::carrier_of(*end.loop, *self.request_.over_tcp, mine, end.options, throwing{})
              .carrier;
    } else {
      async::connection_request& request = self.request_.over_rdma;
      detail::receive_share share =
          detail::share_of(*end.loop, request.context(), end.options, throwing{});
      async::connection accepted =
          co_await request.accept(detail::connection_options_of(end.options, mine));
      carrier = std::make_unique<detail::rdma_carrier>(std::move(accepted), std::move(share));
    }
    co_return detail::make_channel(
        std::move(carrier),
        {end.options, mine, *self.request_.of_peer, cm::socket_address{}, &end.sessions}, false);
  }(std::move(*this));
}

}  // namespace adverb::inline ADVERB_ABI::messages
