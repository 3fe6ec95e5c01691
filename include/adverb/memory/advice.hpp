// SPDX-License-Identifier: MIT
// Prefetch advice for on-demand memory.
#pragma once

#include <cerrno>
#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/memory/buffer.hpp>
#include <adverb/memory/protection_domain.hpp>

namespace adverb::inline ADVERB_ABI {

/// Options of an advice about on-demand memory.
struct advice_options {
  /// Return after the advice has been followed, not when it has been accepted.
  bool flush = false;
};

namespace detail {

/// The type of the buffers in a list.
template <class List>
using buffer_in = std::remove_cvref_t<decltype(*std::data(std::declval<const List&>()))>;

/// Returns the meaning of an errno of ibv_advise_mr.
[[nodiscard]] constexpr std::string_view explain_advice(int code) noexcept {
  switch (code) {
    case EFAULT:
      return "possible causes: a buffer is not inside its region or not mapped, or its region is "
             "not on_demand";
    case EPERM:
      return "possible causes: a buffer belongs to another domain, or its region lacks local_write "
             "for a write";
    case ENOENT:
      return "possible causes: the region of a buffer is not on_demand, or no longer exists";
    default: return {};
  }
}

template <class List>
void advise(on_failure policy, protection_domain_ref domain, ibv_advise_mr_advice advice,
            const List& buffers, advice_options options) {
  constexpr const char* verb = "ibv_advise_mr";
  if (!check_present(policy, verb, domain.native_handle())) return;
  const int result = ibv_advise_mr(
      domain.native_handle(), advice, options.flush ? IBV_ADVISE_MR_FLAG_FLUSH : 0,
      native_elements(std::data(buffers)), static_cast<std::uint32_t>(std::size(buffers)));
  check_returned(policy, verb, result, [&](failure_description& description) {
    description.object([&](text_writer& writer) { put_domain(writer, domain.native_handle()); });
    description.explain(explain_advice(description.code().value()));
  });
}

}  // namespace detail

/// An array, container or span of buffers.
template <class List>
concept buffer_range = requires(const List& list) {
  { std::size(list) } -> std::convertible_to<std::size_t>;
  requires std::same_as<detail::buffer_in<List>, const_buffer> ||
               std::same_as<detail::buffer_in<List>, mutable_buffer>;
};

/// Pages in memory of on-demand regions for the device to read, so that the first request does not
/// wait for pages. Best effort: pages may leave again. Fails with EFAULT if a buffer is not mapped
/// or not on_demand. Wraps: ibv_advise_mr(3).
template <buffer_range List>
void prefetch(protection_domain_ref domain, const List& buffers, advice_options options = {},
              on_failure policy = throwing{}) {
  detail::advise(policy, domain, IBV_ADVISE_MR_ADVICE_PREFETCH, buffers, options);
}

/// Pages in memory of on-demand regions for the device to write. The buffers are mutable. Otherwise
/// like `prefetch`. Wraps: ibv_advise_mr(3).
template <buffer_range List>
void prefetch_for_writing(protection_domain_ref domain, const List& buffers,
                          advice_options options = {}, on_failure policy = throwing{}) {
  static_assert(std::same_as<detail::buffer_in<List>, mutable_buffer>,
                "prefetch_for_writing() needs mutable buffers");
  detail::advise(policy, domain, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, buffers, options);
}

/// Maps pages that are already present for the device, and pages in no others. Otherwise like
/// `prefetch`. Wraps: ibv_advise_mr(3).
template <buffer_range List>
void prefetch_without_faulting(protection_domain_ref domain, const List& buffers,
                               advice_options options = {}, on_failure policy = throwing{}) {
  detail::advise(policy, domain, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, buffers, options);
}

}  // namespace adverb::inline ADVERB_ABI
