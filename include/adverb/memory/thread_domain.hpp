// SPDX-License-Identifier: MIT
// Thread domains: the promise that only one thread at a time uses certain objects.
#pragma once

#include <infiniband/verbs.h>

#include <adverb/device/context.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// The operations of a thread domain, whether it is owned or referred to.
class thread_domain_base : public handle_base<ibv_td> {
 public:
  using handle_base::handle_base;

  [[nodiscard]] context_ref context() const noexcept { return native_handle()->context; }
};

}  // namespace detail

/// A non-owning reference to a thread domain, which must outlive the reference. It is the size of a
/// pointer; pass it by value.
class thread_domain_ref : public detail::reference_to<detail::thread_domain_base> {
 public:
  using reference_to::reference_to;
};

namespace detail {

struct thread_domain_traits {
  using native_type = ibv_td;
  static constexpr std::string_view destroy_verb = "ibv_dealloc_td";
  static int destroy(ibv_td* domain) noexcept { return ibv_dealloc_td(domain); }
  static void for_each_parent(const ibv_td* domain, callable_ref<const void*> function) noexcept {
    function(domain->context);
  }
  static void describe(const ibv_td* domain, text_writer& writer) noexcept {
    put_device(writer, domain->context).put(" td");
  }
};

}  // namespace detail

/// A thread domain. Objects made in a parent_domain with it take no locks, so only one thread at a
/// time may use any of them. It must outlive its parent domains.
class [[nodiscard]] thread_domain
    : public detail::owner<detail::thread_domain_base, detail::thread_domain_traits> {
 public:
  using owner::owner;

  /// Allocates a thread domain. Wraps: ibv_alloc_td(3).
  explicit thread_domain(context_ref context, on_failure policy = throwing{})
      : owner{adverb::adopt, detail::make_object(
                                 policy, "ibv_alloc_td",
                                 [&] {
                                   ibv_td_init_attr attributes{};
                                   return ibv_alloc_td(context.native_handle(), &attributes);
                                 },
                                 detail::on_device(context.native_handle()), context)} {}
};

}  // namespace adverb::inline ADVERB_ABI
