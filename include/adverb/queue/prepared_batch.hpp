// SPDX-License-Identifier: MIT
// Several requests, of different kinds, that are built and linked once and posted again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <adverb/queue/linked_request.hpp>
#include <adverb/queue/post_result.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// A place in a batch.
template <std::size_t Index, class Request>
struct batch_place {
  linked_request<Request> request;
};

template <class Indices, class... Requests>
struct batch_places;
template <std::size_t... Index, class... Requests>
struct batch_places<std::index_sequence<Index...>, Requests...> : batch_place<Index, Requests>... {
  using native_type = std::common_type_t<typename Requests::native_type...>;

  explicit batch_places(const Requests&... requests) noexcept
      : batch_place<Index, Requests>{linked_request<Requests>{requests}}... {}

  void link() noexcept {
    native_type* const all[] = {batch_place<Index, Requests>::request.first()...};
    (batch_place<Index, Requests>::request.link_to(
         Index + 1 < sizeof...(Index) ? all[(Index + 1) % sizeof...(Index)] : nullptr),
     ...);
  }
};

/// The one place with that index.
template <std::size_t Index, class Request>
[[nodiscard]] linked_request<Request>& request_at(batch_place<Index, Request>& place) noexcept {
  return place.request;
}
template <std::size_t Index, class Request>
[[nodiscard]] const linked_request<Request>& request_at(
    const batch_place<Index, Request>& place) noexcept {
  return place.request;
}

}  // namespace detail

/// Work requests, all sends or all receives, that are posted in their order and with one doorbell:
///
///     prepared_batch batch{write(remote, header, body), send_with_immediate(n, note).signaled()};
///     batch.request<1>().immediate(m);
///     queue_pair.post(batch).check();
///
/// A value like prepared_request: each copy is linked in itself.
template <class... Requests>
class prepared_batch {
  using list = detail::request_list<Requests...>;
  static_assert(sizeof...(Requests) > 0, "there is nothing to prepare");
  static constexpr bool preparable = (detail::check_preparable<Requests>() && ...);
  static_assert(!preparable || list::all_send || list::all_receive,
                "sends and receives go to different queues: prepare a batch of each");

 public:
  using prepared_requests = list;
  static constexpr bool is_just_one = sizeof...(Requests) == 1;

  explicit prepared_batch(const Requests&... requests) noexcept : places_{requests...} {
    places_.link();
  }
  prepared_batch(const prepared_batch& other) noexcept : places_{other.places_} { places_.link(); }
  /// The requests take over values and keep their places.
  prepared_batch& operator=(const prepared_batch& other) noexcept = default;
  ~prepared_batch() = default;

  [[nodiscard]] static constexpr std::size_t size() noexcept { return sizeof...(Requests); }

  /// One of the requests, to be changed.
  template <std::size_t Index>
  [[nodiscard]] auto& request() & noexcept {
    static_assert(Index < size(), "the batch has fewer requests");
    return detail::request_at<Index>(places_);
  }
  template <std::size_t Index>
  [[nodiscard]] const auto& request() const& noexcept {
    static_assert(Index < size(), "the batch has fewer requests");
    return detail::request_at<Index>(places_);
  }

  /// The same as that of prepared_request.
  template <class Post>
  [[nodiscard]] post_result hand_over(const Post& post) const noexcept {
    return post(request<0>().first(), static_cast<std::uint32_t>(size()));
  }

 private:
  detail::batch_places<std::index_sequence_for<Requests...>, Requests...> places_;
};

}  // namespace adverb::inline ADVERB_ABI
