// SPDX-License-Identifier: MIT
// Asynchronous datagrams (UD): endpoints, the messages that they receive, and multicast groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <adverb/async/accept.hpp>
#include <adverb/async/connection_options.hpp>
#include <adverb/async/detail/link.hpp>
#include <adverb/async/device_loop.hpp>
#include <adverb/async/loop_memory.hpp>
#include <adverb/async/message.hpp>
#include <adverb/async/reliable_connection.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/cm/connector.hpp>
#include <adverb/cm/datagram_endpoint.hpp>
#include <adverb/cm/datagram_peer.hpp>
#include <adverb/cm/multicast_membership.hpp>
#include <adverb/queue/send_window.hpp>
#include <adverb/request/datagram.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

class datagram_link;

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::async {

/// A received datagram: a block of the endpoint, which is posted again when this object is
/// destroyed. It must not outlive the loop. Not thread safe: used by the thread of its loop.
class [[nodiscard]] datagram {
 public:
  /// Makes an empty datagram.
  datagram() noexcept = default;
  /// Takes over a message whose block begins with a header.
  explicit datagram(message&& arrived) noexcept : message_{std::move(arrived)} {}

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(message_); }

  /// Returns the fields of the receive: the queue pair of the sender, and the immediate data. Their
  /// length includes the header.
  [[nodiscard]] received_message fields() const noexcept { return message_.fields(); }
  /// Returns the payload.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return message_ ? datagram_payload(message_.bytes(), fields()) : std::span<const std::byte>{};
  }
  /// Returns the payload as registered memory, to send it on. The datagram must stay until that has
  /// completed.
  [[nodiscard]] const_buffer buffer() const noexcept {
    return message_.buffer().unchecked_slice(message_ ? grh_size : 0,
                                             static_cast<std::uint32_t>(bytes().size()));
  }
  /// Returns the header, with the addresses of the sender and of the destination. The datagram must
  /// not be empty. The header is valid if `fields().has_grh()`.
  [[nodiscard]] global_route_header header() const noexcept {
    detail::require(static_cast<bool>(message_), "async::datagram::header",
                    "the datagram is empty: moved from, or the result of a step that failed");
    return global_route_header{
        std::span{reinterpret_cast<const std::byte*>(message_.block_->memory.address()), grh_size}
            .first<grh_size>()};
  }

 private:
  friend class detail::datagram_link;

  [[nodiscard]] const completion& received() const noexcept {
    detail::require(static_cast<bool>(message_), "async::datagram_endpoint::sender_of",
                    "the datagram is empty: moved from, or the result of a step that failed");
    return message_.block_->received;
  }

  message message_;
};

}  // namespace adverb::inline ADVERB_ABI::async

namespace adverb::inline ADVERB_ABI::detail {

class joining_group;

/// The link of an endpoint for datagrams (UD).
class datagram_link final : public engine_link<queue_pair_ref<transport::ud>> {
 public:
  datagram_link(async::device_loop& loop, loop_device& device) noexcept
      : engine_link{loop, device} {}
  ~datagram_link() { release_queue_pair(); }

  /// Creates the endpoint of librdmacm on a local address.
  [[gnu::cold]] void create(const cm::socket_address& address,
                            const async::connection_options& options, on_failure policy);
  /// Takes over a queue pair that was created without librdmacm.
  void take_over(adverb::queue_pair<transport::ud>&& pair, const async::connection_options& options,
                 on_failure policy);

  /// Returns the endpoint of librdmacm, or null without librdmacm.
  [[nodiscard]] cm::datagram_endpoint* managed() noexcept {
    return std::get_if<cm::datagram_endpoint>(&holder_);
  }
  [[nodiscard]] engine queue_pair() const noexcept ADVERB_LIFETIME_BOUND;
  /// Returns the sender of a datagram as a destination.
  [[nodiscard]] cm::datagram_target sender_of(const async::datagram& received,
                                              on_failure policy) const;

  /// Has the events of a join passed to it.
  void add(joining_group& joining) { joining_.push_back(&joining); }
  /// Forgets a join.
  void remove(const joining_group& joining) noexcept { std::erase(joining_, &joining); }

  ADVERB_FUNC void handle(cm::event& happened) override;

 private:
  [[gnu::cold]] void start(engine pair, async::connection_options options, on_failure policy);
  ADVERB_FUNC std::error_code move_to_error() noexcept override;
  void destroy_queue_pair() noexcept override { holder_ = std::monostate{}; }
  void take_events() noexcept override {}
  [[nodiscard]] bool ends_alone() const noexcept override { return true; }

  std::variant<std::monostate, cm::datagram_endpoint, adverb::queue_pair<transport::ud>> holder_;
  std::vector<joining_group*> joining_;
  port_number port_{};
  adverb::queue_key queue_key_{};
};

/// A group that an endpoint is joining. It waits for the end of the endpoint beside the event.
class joining_group : public async::waiter {
 public:
  joining_group(const joining_group&) = delete;
  joining_group& operator=(const joining_group&) = delete;

  /// Takes an event. Returns true if it ends the join, which is then destroyed perhaps.
  bool take_event(cm::event& happened);

 protected:
  joining_group(function* resume, datagram_link& of) noexcept : waiter{resume}, link_{&of} {}
  ~joining_group();

  [[gnu::cold]] [[nodiscard]] bool start_join(const cm::socket_address& group,
                                              const cm::multicast_options& options);
  [[gnu::cold]] [[nodiscard]] cm::multicast_membership take_membership(on_failure policy);

 private:
  datagram_link* link_;
  cm::multicast_join join_;
  cm::multicast_membership membership_;
  failure why_;
};

/// A peer whose queue pair an endpoint resolves. It waits for the end of the endpoint beside the
/// events.
class resolving_peer : public async::waiter, public async_event_target {
 public:
  resolving_peer(const resolving_peer&) = delete;
  resolving_peer& operator=(const resolving_peer&) = delete;

 protected:
  resolving_peer(waiter::function* resume, datagram_link& of,
                 const cm::peer_options& options) noexcept
      : waiter{resume}, link_{&of}, options_{options} {}
  ~resolving_peer() = default;

  [[gnu::cold]] [[nodiscard]] bool start_resolve(const cm::socket_address& address);
  [[gnu::cold]] [[nodiscard]] cm::datagram_peer take_peer(on_failure policy);

 private:
  using started = cm::connector<transport::ud>;
  using near = cm::connector<transport::ud, cm::step::address_resolved>;
  using far = cm::connector<transport::ud, cm::step::route_resolved>;

  /// Takes an event of its identifier.
  ADVERB_FUNC void handle(cm::event& happened) override;
  void advance(cm::event& happened);

  datagram_link* link_;
  cm::peer_options options_;
  std::variant<std::monostate, started, near, far> at_;
  cm::datagram_peer peer_;
  failure why_;
};

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::async {

/// The next datagram of an endpoint.
class datagram_step : public detail::async_step<datagram_step> {
 public:
  /// Makes the step of this link.
  explicit datagram_step(detail::datagram_link& of) noexcept : link_{&of} {}

  /// Returns the loop that runs it.
  [[nodiscard]] device_loop& loop() const noexcept { return link_->loop(); }

  /// One start of the step.
  template <class Derived>
  class operation : public detail::message_operation<Derived> {
   public:
    /// Makes an operation, and starts nothing.
    explicit operation(const datagram_step& step) noexcept
        : detail::message_operation<Derived>{*step.link_} {}
    /// Returns the result, or reports the failure.
    [[nodiscard]] datagram take(on_failure policy) {
      return datagram{operation::take_from(this->link(), "async::datagram_endpoint::next", policy)};
    }
  };

 private:
  detail::datagram_link* link_;
};

/// A peer, found by the address of its listener.
class resolve_step : public detail::async_step<resolve_step> {
 public:
  /// Makes the step to this address.
  resolve_step(detail::datagram_link& of, const cm::socket_address& address,
               const cm::peer_options& options) noexcept
      : link_{&of}, address_{address}, options_{options} {}

  /// Returns the loop that runs it.
  [[nodiscard]] device_loop& loop() const noexcept { return link_->loop(); }

  /// One start of the step.
  template <class Derived>
  class operation : public detail::resolving_peer {
   public:
    /// Makes an operation, and starts nothing.
    explicit operation(const resolve_step& step) noexcept
        : resolving_peer{&detail::leave_and_finish<Derived>, *step.link_, step.options_},
          step_{&step} {}
    /// Starts it. Returns false if it has finished already.
    [[nodiscard]] bool start() { return start_resolve(step_->address_); }
    /// Returns the result, or reports the failure.
    [[nodiscard]] cm::datagram_peer take(on_failure policy) { return take_peer(policy); }

   private:
    const resolve_step* step_;
  };

 private:
  detail::datagram_link* link_;
  cm::socket_address address_;
  cm::peer_options options_;
};

/// The membership of an endpoint in a multicast group.
class join_step : public detail::async_step<join_step> {
 public:
  /// Makes the step of this group.
  join_step(detail::datagram_link& of, const cm::socket_address& group,
            const cm::multicast_options& options) noexcept
      : link_{&of}, group_{group}, options_{options} {}

  /// Returns the loop that runs it.
  [[nodiscard]] device_loop& loop() const noexcept { return link_->loop(); }

  /// One start of the step.
  template <class Derived>
  class operation : public detail::joining_group {
   public:
    /// Makes an operation, and starts nothing.
    explicit operation(const join_step& step) noexcept
        : joining_group{&detail::leave_and_finish<Derived>, *step.link_}, step_{&step} {}
    /// Starts it. Returns false if it has finished already.
    [[nodiscard]] bool start() { return start_join(step_->group_, step_->options_); }
    /// Returns the result, or reports the failure.
    [[nodiscard]] cm::multicast_membership take(on_failure policy) {
      return take_membership(policy);
    }

   private:
    const join_step* step_;
  };

 private:
  detail::datagram_link* link_;
  cm::socket_address group_;
  cm::multicast_options options_;
};

/// Listens for peers that request the destination of their datagrams. The answers do not block:
///
///     while (true) (co_await listener.next()).accept_datagrams(here.queue_pair());
///
/// It stays where it is, because the loop refers to it. Not thread safe.
class datagram_listener final : public detail::request_queue<transport::ud> {
 public:
  /// Listens. Wraps: rdma_listen(3).
  using request_queue::request_queue;

  /// Waits for the next request. A peer that has not got the answer in time repeats it.
  [[nodiscard]] basic_request_step<datagram_listener> next() noexcept {
    return basic_request_step<datagram_listener>{*this};
  }
};

/// An endpoint for datagrams (UD) of a loop. Its functions return steps to await:
///
///     async::datagram_endpoint here{loop, own_address};
///     const cm::datagram_peer peer = co_await here.resolve(address);
///     co_await here.send(peer, question);
///     const async::datagram answer = co_await here.next();
///
/// The objects that a request refers to, its destination too, must live until its step has
/// finished. Destroying a step under way cancels it, and ends the endpoint if the device has the
/// request. The destructor ends the endpoint without blocking. Its memberships must end before.
///
/// Each of the `receives` blocks has room for a header beside `block_size` bytes of payload. The
/// options `shared`, `connection` and `dead_after` do not count. iWARP has no datagrams.
///
/// Not thread safe: used by the thread of its loop, which must outlive it.
class [[nodiscard]] datagram_endpoint {
 public:
  /// Makes an empty endpoint.
  datagram_endpoint() noexcept = default;
  /// Makes an endpoint on a local address, and posts the receives. Fails with EADDRNOTAVAIL if the
  /// address is a wildcard, which selects no device. Wraps: rdma_bind_addr(3), rdma_create_qp(3).
  datagram_endpoint(device_loop& loop, const cm::socket_address& address,
                    const connection_options& options = {}, on_failure policy = throwing{});
  /// Takes over a queue pair that was created without librdmacm, and posts the receives. Its
  /// completion queues are those of the loop (`device_loop::queue`), and its device outlives the
  /// loop. The queue pair is destroyed on failure.
  datagram_endpoint(device_loop& loop, adverb::queue_pair<transport::ud> pair,
                    const connection_options& options = {}, on_failure policy = throwing{});
  datagram_endpoint(datagram_endpoint&& other) noexcept
      : link_{std::exchange(other.link_, nullptr)} {}
  datagram_endpoint& operator=(datagram_endpoint&& other) noexcept {
    std::swap(link_, other.link_);
    return *this;
  }
  ~datagram_endpoint() { detach(); }

  [[nodiscard]] explicit operator bool() const noexcept { return link_ != nullptr; }

  /// Posts requests with one doorbell, each with its destination (`send(…).to(peer)`), and waits
  /// for the completion of the last. Waits for room before, in order.
  template <class... Requests>
  [[nodiscard]] basic_perform_step<detail::datagram_link, Requests...> perform(
      const Requests&... requests) const noexcept {
    static_assert(sizeof...(Requests) > 0, "there is nothing to perform");
    return {link(), requests...};
  }
  /// Sends a datagram to a peer or to a group.
  template <class Payload>
  [[nodiscard]] auto send(const datagram_destination& to, const Payload& payload) const noexcept {
    return perform(adverb::send(payload).to(to));
  }
  /// Waits for the next datagram.
  [[nodiscard]] datagram_step next() const noexcept { return datagram_step{link()}; }
  /// Requests from the listener at an address the queue pair that receives datagrams. The time
  /// limit of the options is that of the address and of the route. Wraps: rdma_resolve_addr(3),
  /// rdma_resolve_route(3), rdma_connect(3).
  [[nodiscard]] resolve_step resolve(const cm::socket_address& address,
                                     const cm::peer_options& options = {}) const noexcept {
    return {link(), address, options};
  }
  /// Joins a multicast group. The membership is a destination, and its destructor leaves the group.
  /// Fails with EINVAL without librdmacm. Ignores the time limit of the options.
  /// Wraps: rdma_join_multicast(3).
  [[nodiscard]] join_step join(const cm::socket_address& group,
                               const cm::multicast_options& options = {}) const noexcept {
    return {link(), group, options};
  }
  /// Ends the endpoint, and waits until its requests are flushed. Wraps: ibv_modify_qp(3).
  [[nodiscard]] disconnect_step close() const noexcept { return disconnect_step{link()}; }

  /// Returns the sender of a datagram as a destination. Its queue key is assumed to be that of this
  /// endpoint. A system call; keep the result for further answers. Wraps: ibv_create_ah(3).
  [[nodiscard]] cm::datagram_target sender_of(const datagram& received,
                                              on_failure policy = throwing{}) const {
    return link().sender_of(received, policy);
  }

  /// Does the same as `connection::expires_after`.
  void expires_after(timeout limit) const noexcept { link().expires_after(limit); }
  /// Ends what is under way with ECANCELED, and the endpoint.
  void cancel() const noexcept { link().cancel(); }
  /// Ends the waits for datagrams, for room, for peers and for groups, with ECANCELED.
  void cancel_waits() const noexcept { link().cancel_waits(); }

  /// Returns the queue pair; empty once the loop has destroyed it.
  [[nodiscard]] queue_pair_ref<transport::ud> queue_pair() const noexcept ADVERB_LIFETIME_BOUND {
    return link().queue_pair();
  }
  /// Returns the domain in which to register memory for the requests.
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept { return link().domain(); }
  /// Returns new registered memory for the requests, as `connection::memory` does.
  [[nodiscard]] loop_memory memory(std::size_t size,
                                   access_rights rights = access_right::local_write,
                                   on_failure policy = throwing{}) const {
    return {link().loop(), link().device().context, size, rights, policy};
  }
  /// Returns the endpoint of librdmacm, with its address; null without librdmacm.
  [[nodiscard]] const cm::datagram_endpoint* managed() const noexcept { return link().managed(); }

 private:
  [[nodiscard]] detail::datagram_link& link() const noexcept {
    detail::require(link_ != nullptr, "async::datagram_endpoint",
                    "the endpoint is empty: moved from, or its constructor failed");
    link_->loop().thread().check("async::datagram_endpoint");
    return *link_;
  }
  void detach() noexcept;

  detail::datagram_link* link_ = nullptr;
};

}  // namespace adverb::inline ADVERB_ABI::async

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/async/impl/datagrams.ipp>
#endif
