// SPDX-License-Identifier: MIT
// Several requests of different kinds, built and linked once and posted repeatedly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <adverb/core/detail/indexed_values.hpp>
#include <adverb/queue/linked_request.hpp>
#include <adverb/queue/post_result.hpp>

namespace adverb::inline ADVERB_ABI {

/// Work requests, all sends or all receives, that are posted in order with one doorbell:
///
///     prepared_batch batch{write(remote, header, body), send_with_immediate(n, note).signaled()};
///     batch.request<1>().immediate(m);
///     queue_pair.post(batch).check();
///
/// A value like prepared_request: each copy links its own requests.
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

  explicit prepared_batch(const Requests&... requests) noexcept
      : requests_{{linked_request<Requests>{requests}}...} {
    link(indices{});
  }
  prepared_batch(const prepared_batch& other) noexcept : requests_{other.requests_} {
    link(indices{});
  }
  /// Assigns the values of the requests; the links stay.
  prepared_batch& operator=(const prepared_batch& other) noexcept = default;
  ~prepared_batch() = default;

  [[nodiscard]] static constexpr std::size_t size() noexcept { return sizeof...(Requests); }

  /// Returns one of the requests, to change it.
  template <std::size_t Index>
  [[nodiscard]] auto& request() & noexcept {
    static_assert(Index < size(), "the batch has fewer requests");
    return detail::value_at<Index>(requests_);
  }
  template <std::size_t Index>
  [[nodiscard]] const auto& request() const& noexcept {
    static_assert(Index < size(), "the batch has fewer requests");
    return detail::value_at<Index>(requests_);
  }

  /// Calls `post` with the chain, like that of prepared_request.
  template <class Post>
  [[nodiscard]] post_result hand_over(const Post& post) const noexcept {
    return post(request<0>().first(), static_cast<std::uint32_t>(size()));
  }

 private:
  using indices = std::index_sequence_for<Requests...>;

  template <std::size_t... Index>
  void link(std::index_sequence<Index...>) noexcept {
    using native_type = std::common_type_t<typename Requests::native_type...>;
    native_type* const all[] = {request<Index>().first()..., nullptr};
    (request<Index>().link_to(all[Index + 1]), ...);
  }

  detail::indexed_values<linked_request<Requests>...> requests_;
};

}  // namespace adverb::inline ADVERB_ABI
