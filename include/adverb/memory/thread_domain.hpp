// SPDX-License-Identifier: MIT
// Thread domains: the promise that objects are used by one thread at a time.
#pragma once

#include <infiniband/verbs.h>

#include <adverb/device/context.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// What a thread domain can do, whether it is owned or referred to.
class thread_domain_base : public handle_base<ibv_td> {
 public:
  using handle_base::handle_base;

  [[nodiscard]] context_ref context() const noexcept { return native_handle()->context; }
};

}  // namespace detail

/// Refers to a thread domain that something else keeps alive. As cheap as the pointer, to be passed
/// by value.
class thread_domain_ref : public detail::reference_to<detail::thread_domain_base> {
 public:
  using reference_to::reference_to;
};

namespace detail {

struct thread_domain_traits {
  using native_type = ibv_td;
  static constexpr std::string_view destroy_verb = "ibv_dealloc_td";
  static int destroy(ibv_td* domain) noexcept { return ibv_dealloc_td(domain); }
  template <class Function>
  static void for_each_parent(const ibv_td* domain, const Function& function) noexcept {
    function(domain->context);
  }
  static void describe(const ibv_td* domain, text_writer& writer) noexcept {
    put_device(writer, domain->context).put(" td");
  }
};

}  // namespace detail

/// A thread domain: objects that are made in a parent_domain with it take no locks, and so belong
/// to one thread at a time, all of them together. Has to outlive its parent domains.
class [[nodiscard]] thread_domain
    : public detail::owner<detail::thread_domain_base, detail::thread_domain_traits> {
 public:
  using owner::owner;

  /// Wraps: ibv_alloc_td(3).
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
