// SPDX-License-Identifier: MIT
// A chain of sends of any kind, built at run time and posted with one doorbell.
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <type_traits>

#include <infiniband/verbs.h>

#include <adverb/request/postable.hpp>
#include <adverb/request/prepared_request.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Returns the most demanding service class of a transport.
// Not consteval, for Clang 14.
[[nodiscard]] constexpr service_class strongest_service(transport of) noexcept {
  if (carries(of, service_class::reliable_connection)) return service_class::reliable_connection;
  return carries(of, service_class::segmentation) ? service_class::segmentation
                                                  : service_class::connection;
}

/// Stands for the requests of a chain where a post checks them: any that its transport takes.
template <transport Transport>
struct chained_send {
  struct operation_type {
    struct traits {
      static constexpr auto opcode = IBV_WR_SEND;
      static constexpr service_class service = strongest_service(Transport);
      static constexpr bool stays_here = false;
    };
  };
  static constexpr destination_kind destination = destination_of(Transport);
  static constexpr bool is_chained = true;
};
template <transport Transport>
inline constexpr bool is_send_request<chained_send<Transport>> = true;

}  // namespace detail

/// Sends of any kind, as many as the program adds, which are posted in order with one doorbell:
///
///     send_chain<17> chain;
///     for (const chunk& each : chunks)
///       if (!chain.add(write(each.remote, each.buffer))) break;
///     if (chain.add(send(header).signaled())) queue_pair.post(chain).check();
///     chain.clear();
///
/// `Transport` is that of the queue pair, and `Buffers` the number of buffers of a request. It
/// refers to what the requests refer to: lists of buffers, inline bytes. It may be changed right
/// after a post. It stays where it is. Not thread safe.
template <std::size_t Capacity, transport Transport = transport::rc, std::size_t Buffers = 1>
class send_chain {
 public:
  /// For `post`: the types of the requests.
  using prepared_requests = detail::request_list<detail::chained_send<Transport>>;
  /// For `post`: true for a single request.
  static constexpr bool is_just_one = false;
  /// The last request is linked to the entry behind it.
  static constexpr bool is_cut_for_post = true;

  /// Creates a chain without requests.
  // The entries are written by `add`.
  send_chain() noexcept {}  // NOLINT(modernize-use-equals-default)
  send_chain(const send_chain&) = delete;
  send_chain& operator=(const send_chain&) = delete;
  ~send_chain() = default;

  /// Adds a request at the end. Returns false if there is no room.
  template <class Request>
  [[nodiscard, gnu::always_inline]] bool add(const Request& request) noexcept {
    constexpr bool is_send = detail::is_send_request<Request>;
    static_assert(is_send,
                  "only requests for the send queue can be chained: send(...), write(...), ...");
    if constexpr (is_send) {
      if constexpr (detail::check_preparable<Request>()) {
        detail::check_postable<Transport, qp_state::rts, Request>();
        return add_send(request);
      }
    }
    return false;
  }
  /// Removes all requests.
  void clear() noexcept { end_ = entries_.data(); }

  [[nodiscard]] std::size_t size() const noexcept {
    return static_cast<std::size_t>(end_ - entries_.data());
  }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  /// Returns the number of requests for which there is room.
  [[nodiscard]] static constexpr std::size_t capacity() noexcept { return Capacity; }

  /// Returns the C structs for a post. An empty chain is an empty post.
  [[nodiscard]] detail::request_chain<ibv_send_wr> chain() const noexcept {
    if (empty()) return {nullptr, nullptr, 0};
    return detail::chain_between(&entries_.front().native, &end_[-1].native, size());
  }

 private:
  static_assert(Capacity > 0, "a chain has room for at least one request");
  using elements = std::array<ibv_sge, Buffers>;
  struct entry {
    ibv_send_wr native;
    elements buffers;
  };

  template <class Request>
  [[gnu::always_inline]] bool add_send(const Request& request) noexcept {
    using memory = typename Request::memory;
    constexpr bool has_room = std::is_empty_v<memory> || sizeof(memory) <= sizeof(elements);
    static_assert(has_room,
                  "the request has more buffers than the chain has room for: "
                  "send_chain<capacity, transport, buffers>");
    // Read once, because the stores could change it as far as the compiler sees.
    entry* const added = end_;
    if (added == entries_.data() + Capacity) [[unlikely]]
      return false;
    if constexpr (has_room) {
      request.fill(added->native, &added[1].native, *new (&added->buffers) memory);
      end_ = added + 1;
    }
    return true;
  }

  // A post takes requests that are not const, and some providers write to them.
  mutable std::array<entry, Capacity> entries_;
  entry* end_ = entries_.data();
};

}  // namespace adverb::inline ADVERB_ABI
