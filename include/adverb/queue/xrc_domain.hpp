// SPDX-License-Identifier: MIT
// XRC domains: shared by the shared receive queues and the targets of extended reliable
// connections, within one process or, through a file, across several.
#pragma once

#include <optional>
#include <string_view>

#include <fcntl.h>
#include <infiniband/verbs.h>

#include <adverb/core/error.hpp>
#include <adverb/core/handle.hpp>
#include <adverb/device/context_ref.hpp>
#include <adverb/device/detail/explain_device.hpp>
#include <adverb/request/detail/queue_traits.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Operations on an XRC domain, owned or referenced.
class xrc_domain_base : public handle_base<ibv_xrcd> {
 public:
  using handle_base::handle_base;

  /// Returns the context that the object belongs to.
  [[nodiscard]] context_ref context() const noexcept { return checked_handle()->context; }
};

}  // namespace detail

/// Refers to an XRC domain that another object keeps alive. Pass it by value; it is as cheap
/// as a pointer.
class xrc_domain_ref : public detail::reference_to<detail::xrc_domain_base> {
 public:
  using reference_to::reference_to;
};

/// Selects the XRC domain of a file to open.
enum class xrc_domain_opening : int {
  /// The existing domain only.
  existing = 0,
  /// The existing domain, or else a new one.
  existing_or_new = O_CREAT,
  /// A new domain; fails if one exists.
  only_new = O_CREAT | O_EXCL,
};

namespace detail {

struct xrc_domain_traits {
  using native_type = ibv_xrcd;
  static constexpr const char* destroy_verb = "ibv_close_xrcd";
  static int destroy(ibv_xrcd* domain) noexcept {
    // ibv_close_xrcd does not test for what every context has that opened a domain.
    if (verbs_get_ctx(domain->context) == nullptr) __builtin_unreachable();
    return ibv_close_xrcd(domain);
  }
  static void list_parents(const ibv_xrcd* domain, parent_visitor& parents) noexcept {
    parents.add(domain->context);
  }
  static void describe(const ibv_xrcd* domain, text_writer& writer) noexcept {
    put_device(writer, domain->context).put(" xrcd");
  }
};

/// Explains why an XRC domain could not be opened: the errors of the kernel for a file.
[[gnu::cold]] void explain_opening(failure_description& description, xrc_domain_opening opening);

}  // namespace detail

/// Owns an XRC domain. It must outlive the shared receive queues and targets created in it. Thread
/// safe.
class [[nodiscard]] xrc_domain
    : public detail::owner<detail::xrc_domain_base, detail::xrc_domain_traits> {
 public:
  using owner::owner;

  /// Opens a domain for this process alone. Wraps: ibv_open_xrcd(3).
  explicit xrc_domain(context_ref context, on_failure policy = throwing{})
      : owner{open(context, std::nullopt, xrc_domain_opening::existing_or_new, policy)} {}

  /// Opens the domain of an open file. Processes that open the same file share the domain, as long
  /// as one of them has it open. The file descriptor may be closed afterwards.
  /// Wraps: ibv_open_xrcd(3).
  xrc_domain(context_ref context, int file_descriptor, xrc_domain_opening opening,
             on_failure policy = throwing{})
      : owner{open(context, file_descriptor, opening, policy)} {}

 private:
  static xrc_domain open(context_ref context, std::optional<int> file_descriptor,
                         xrc_domain_opening opening, on_failure policy);
};

/// The options for creating or opening the target of an extended reliable connection.
struct xrc_target_options {
  /// Returned by `user_context()`.
  void* user_context = nullptr;
};

namespace detail {

/// Creates a target with a C call and records its XRC domain. `explain` explains a failure.
template <std::invocable Make, class Explain>
[[nodiscard]] owned_queue_pair make_xrc_target(on_failure policy, const char* verb,
                                               xrc_domain_ref domain, const Make& make,
                                               const Explain& explain) {
  return make_handle<owned_queue_pair>(
      policy, verb, [&] { return with_parents(make(), {domain.native_handle()}); },
      [&](failure_description& description) {
        on_object<xrc_domain_traits>(domain.native_handle())(description);
        explain(description);
      },
      domain);
}

[[nodiscard]] owned_queue_pair create_xrc_target(xrc_domain_ref domain,
                                                 const xrc_target_options& options,
                                                 on_failure policy);

[[nodiscard]] owned_queue_pair open_xrc_target(xrc_domain_ref domain, qp_number number,
                                               const xrc_target_options& options,
                                               on_failure policy);

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/queue/impl/xrc_domain.ipp>
#endif
