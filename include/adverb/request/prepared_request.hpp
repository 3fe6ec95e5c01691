// SPDX-License-Identifier: MIT
// Work requests that are built once and posted repeatedly, one or several at a time.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <adverb/core/detail/check.hpp>
#include <adverb/request/detail/patchable_request.hpp>
#include <adverb/request/post_result.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

template <std::size_t Index, class T>
struct indexed_value {
  T value;
};

template <class Indices, class... T>
struct indexed_value_list;
template <std::size_t... Index, class... T>
struct indexed_value_list<std::index_sequence<Index...>, T...> : indexed_value<Index, T>... {};

/// One value of each type. An aggregate, uninitialised where the types are.
template <class... T>
using indexed_values = indexed_value_list<std::index_sequence_for<T...>, T...>;

template <std::size_t Index, class T>
[[nodiscard, gnu::always_inline]] constexpr T& value_at(indexed_value<Index, T>& all) noexcept {
  return all.value;
}
template <std::size_t Index, class T>
[[nodiscard, gnu::always_inline]] constexpr const T& value_at(
    const indexed_value<Index, T>& all) noexcept {
  return all.value;
}

/// The shape of a request with this payload; unknown if its number of elements is.
template <class Payload>
inline constexpr request_shape shape_with = Payload::send_flags != 0    ? request_shape::inline_data
                                            : is_list<Payload>          ? request_shape::unknown
                                            : held_pieces<Payload> == 0 ? request_shape::no_elements
                                            : held_pieces<Payload> == 1 ? request_shape::one_element
                                                                        : request_shape::elements;

/// The C structs of prepared requests. All but the last are linked to the next. `first` is null if
/// there are none.
template <class Native>
struct request_chain {
  Native* first;
  Native* last;
  std::uint32_t count;
};

template <class Native>
[[nodiscard]] request_chain<Native> chain_between(Native* first, Native* last,
                                                  std::size_t count) noexcept {
  return {first, last, static_cast<std::uint32_t>(count)};
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

/// A request of a prepared batch or list. It is changed like a prepared_request, and posted
/// together with the others.
template <class Request>
class linked_request : public detail::patchable_request<linked_request<Request>, Request> {
  using base = detail::patchable_request<linked_request<Request>, Request>;

 public:
  /// The type of the original request.
  using linked_request_type = Request;
  using native_type = typename base::native_type;

  /// Prepares a request.
  explicit linked_request(const Request& request) noexcept : base{request} {}

  /// For the batch or list: the C struct, and the link to the next one.
  using base::for_post;
  /// For the batch or list: sets the link to the next request.
  void link_to(native_type* next) noexcept { this->native_.next = next; }
  /// Sets the address of its one buffer and nothing else.
  using base::move_buffer;
};

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
  /// For `post`: the types of the requests.
  using prepared_requests = list;
  /// For `post`: true for a single request.
  static constexpr bool is_just_one = sizeof...(Requests) == 1;

  /// Prepares the requests.
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
    static_assert(Index < size(), "the batch has no request at this index");
    return detail::value_at<Index>(requests_);
  }
  template <std::size_t Index>
  [[nodiscard]] const auto& request() const& noexcept {
    static_assert(Index < size(), "the batch has no request at this index");
    return detail::value_at<Index>(requests_);
  }

  /// Returns the C structs for a post.
  [[nodiscard]] auto chain() const noexcept {
    return detail::chain_between(request<0>().for_post(), request<size() - 1>().for_post(), size());
  }

 private:
  using indices = std::index_sequence_for<Requests...>;

  template <std::size_t... Index>
  void link(std::index_sequence<Index...>) noexcept {
    using native_type = std::common_type_t<typename Requests::native_type...>;
    native_type* const all[] = {request<Index>().for_post()..., nullptr};
    (request<Index>().link_to(all[Index + 1]), ...);
  }

  detail::indexed_values<linked_request<Requests>...> requests_;
};

namespace detail {

/// Returns the chain of the first `count` of some linked requests.
template <class Linked>
[[nodiscard]] auto chain_of(const Linked* first, std::size_t count) noexcept {
  using native_type = typename Linked::native_type;
  if (count == 0) return request_chain<native_type>{nullptr, nullptr, 0};
  return chain_between(first->for_post(), first[count - 1].for_post(), count);
}

}  // namespace detail

template <class Request>
class prepared_list;

/// The first requests of a list, to be posted: `list.first(count)`. Refers to the list.
template <class Request>
class prepared_list_part {
 public:
  /// For `post`: the types of the requests.
  using prepared_requests = detail::request_list<Request>;
  /// For `post`: true for a single request.
  static constexpr bool is_just_one = false;
  /// The last request is linked to the rest of the list.
  static constexpr bool is_cut_for_post = true;

  /// Returns the C structs for a post.
  [[nodiscard]] auto chain() const noexcept { return detail::chain_of(first_, count_); }

 private:
  friend class prepared_list<Request>;

  prepared_list_part(linked_request<Request>* first, std::size_t count) noexcept
      : first_{first}, count_{count} {}

  linked_request<Request>* first_;
  std::size_t count_;
};

/// A list of work requests of one kind, sized at run time, that are posted in order with one
/// doorbell:
///
///     prepared_list list{receive(region.slice(0, 64)), 32};
///     for (std::size_t index = 0; index < list.size(); ++index)
///       list[index].id(index).payload(blocks[index]);
///     queue_pair.post(list).check();
///     queue_pair.post(list.first(8)).check();
///
/// Creating or copying it allocates (std::bad_alloc); nothing else does. A value: each copy links
/// its own requests. A moved-from list is empty. Not thread safe.
template <class Request>
class prepared_list {
 public:
  /// For `post`: the types of the requests.
  using prepared_requests = detail::request_list<Request>;
  /// For `post`: true for a single request.
  static constexpr bool is_just_one = false;
  using value_type = linked_request<Request>;

  /// Creates a list of `count` copies of one request.
  prepared_list(const Request& model, std::size_t count)
      : requests_(count, linked_request<Request>{model}) {
    link();
  }
  prepared_list(const prepared_list& other) : requests_{other.requests_} { link(); }
  prepared_list(prepared_list&&) noexcept = default;
  prepared_list& operator=(const prepared_list& other) {
    if (this != &other) *this = prepared_list{other};
    return *this;
  }
  prepared_list& operator=(prepared_list&&) noexcept = default;
  ~prepared_list() = default;

  [[nodiscard]] std::size_t size() const noexcept { return requests_.size(); }
  /// Returns one of the requests, to change it. The index is not checked.
  [[nodiscard]] linked_request<Request>& operator[](std::size_t index) noexcept {
    return requests_[index];
  }
  [[nodiscard]] const linked_request<Request>& operator[](std::size_t index) const noexcept {
    return requests_[index];
  }
  [[nodiscard]] auto begin() noexcept { return requests_.begin(); }
  [[nodiscard]] auto end() noexcept { return requests_.end(); }
  [[nodiscard]] auto begin() const noexcept { return requests_.begin(); }
  [[nodiscard]] auto end() const noexcept { return requests_.end(); }

  /// Returns the first `count` requests, to post them; none is an empty post. Fails with ERANGE,
  /// like operations without a policy, if the list has fewer.
  [[nodiscard]] prepared_list_part<Request> first(std::size_t count) & {
    if (count > requests_.size()) [[unlikely]]
      out_of_range(count);
    return {requests_.data(), count};
  }

  /// Returns the C structs for a post.
  [[nodiscard]] auto chain() const noexcept { return detail::chain_of(requests_.data(), size()); }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] void out_of_range(std::size_t count) const {
    detail::fail(failure{
        detail::errno_code(ERANGE), "prepared_list::first", [&](failure_description& description) {
          description.explain("the count {} exceeds the size {} of the list", {count, size()});
        }});
  }

  void link() noexcept {
    for (std::size_t index = 1; index < requests_.size(); ++index)
      requests_[index - 1].link_to(requests_[index].for_post());
  }

  std::vector<linked_request<Request>> requests_;
};

/// A work request in its C form, to be changed where it differs and posted again:
///
///     prepared_request request{write(remote, region.slice(0, 64)).signaled()};
///     request.remote(slot).id(index);
///     queue_pair.post(request).check();
///
/// It is a value. It refers only to lists of buffers, inline bytes and the header of a segmented
/// send: each post reads them, and they must live until then. Post it wherever the original request
/// can be posted: to queue pairs, shared receive queues and work queues, but not through the
/// extended sender. It may be changed right after a post. Not thread safe.
template <class Request>
class prepared_request : public detail::patchable_request<prepared_request<Request>, Request> {
  using base = detail::patchable_request<prepared_request<Request>, Request>;

 public:
  /// The type of the original request.
  using request_type = Request;
  /// For `post`: the types of the requests.
  using prepared_requests = detail::request_list<Request>;
  /// For `post`: true for a single request.
  static constexpr bool is_just_one = true;
  /// For `post`: the shape of the request.
  static constexpr detail::request_shape shape = detail::shape_with<typename Request::payload_type>;

  /// Prepares a request.
  explicit prepared_request(const Request& request) noexcept : base{request} {}

  /// Returns the C struct for a post.
  [[nodiscard]] auto chain() const noexcept {
    return detail::chain_between(this->for_post(), this->for_post(), 1);
  }
};

}  // namespace adverb::inline ADVERB_ABI
