// SPDX-License-Identifier: MIT
// Many requests of one kind, built and linked once and posted repeatedly.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <adverb/core/detail/check.hpp>
#include <adverb/queue/linked_request.hpp>
#include <adverb/queue/post_result.hpp>

namespace adverb::inline ADVERB_ABI {

template <class Request>
class prepared_list;

/// The first requests of a list, to be posted: `list.first(count)`. Refers to the list.
template <class Request>
class prepared_list_part {
 public:
  using prepared_requests = detail::request_list<Request>;
  static constexpr bool is_just_one = false;

  /// Calls `post` with the chain, like that of prepared_request. Cuts the chain during the post.
  template <class Post>
  [[nodiscard]] post_result hand_over(const Post& post) const noexcept {
    if (count_ == 0) return {};
    linked_request<Request>& last = first_[count_ - 1];
    auto* const rest = last.link_to(nullptr);
    const post_result result = post(first_->first(), static_cast<std::uint32_t>(count_));
    last.link_to(rest);
    return result;
  }

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
  using prepared_requests = detail::request_list<Request>;
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

  /// Calls `post` with the chain, like that of prepared_request.
  template <class Post>
  [[nodiscard]] post_result hand_over(const Post& post) const noexcept {
    if (requests_.empty()) return {};
    return post(requests_.front().first(), static_cast<std::uint32_t>(requests_.size()));
  }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] void out_of_range(std::size_t count) const {
    detail::fail(failure{detail::errno_code(ERANGE), "prepared_list::first",
                         [&](failure_description& description) {
                           description.explain([&](text_writer& writer) {
                             writer.decimal(count).put(" of ").decimal(size()).put(" requests");
                           });
                         }});
  }

  void link() noexcept {
    for (std::size_t index = 1; index < requests_.size(); ++index)
      requests_[index - 1].link_to(requests_[index].first());
  }

  std::vector<linked_request<Request>> requests_;
};

}  // namespace adverb::inline ADVERB_ABI
