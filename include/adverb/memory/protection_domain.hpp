// SPDX-License-Identifier: MIT
// Protection domains: separate the memory and queue pairs of one user from those of another.
#pragma once

#include <infiniband/verbs.h>

#include <adverb/device/context.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// The operations of a protection domain, whether it is owned or referred to.
class protection_domain_base : public handle_base<ibv_pd> {
 public:
  using handle_base::handle_base;

  [[nodiscard]] context_ref context() const noexcept { return native_handle()->context; }
  /// Returns the handle by which another process imports the domain.
  [[nodiscard]] protection_domain_handle handle() const noexcept {
    return static_cast<protection_domain_handle>(native_handle()->handle);
  }
};

}  // namespace detail

/// A non-owning reference to a protection domain, which must outlive the reference. It is the size
/// of a pointer; pass it by value.
class protection_domain_ref : public detail::reference_to<detail::protection_domain_base> {
 public:
  using reference_to::reference_to;
};

namespace detail {

/// Writes "rxe0 pd 3".
inline void put_domain(text_writer& writer, const ibv_pd* domain) noexcept {
  put_device(writer, domain->context).put(" pd ").decimal(domain->handle);
}

struct protection_domain_traits {
  using native_type = ibv_pd;
  static constexpr std::string_view destroy_verb = "ibv_dealloc_pd";
  static int destroy(ibv_pd* domain) noexcept { return ibv_dealloc_pd(domain); }
  static void for_each_parent(const ibv_pd* domain, callable_ref<const void*> function) noexcept {
    function(domain->context);
  }
  static void describe(const ibv_pd* domain, text_writer& writer) noexcept {
    put_domain(writer, domain);
  }
};

}  // namespace detail

/// A protection domain. Memory regions, address handles and queue pairs are made in one, and work
/// together only within it. Thread safe.
class [[nodiscard]] protection_domain
    : public detail::owner<detail::protection_domain_base, detail::protection_domain_traits> {
 public:
  using owner::owner;

  /// Allocates a protection domain. Wraps: ibv_alloc_pd(3).
  explicit protection_domain(context_ref context, on_failure policy = throwing{})
      : owner{adverb::adopt,
              detail::make_object(
                  policy, "ibv_alloc_pd", [&] { return ibv_alloc_pd(context.native_handle()); },
                  detail::on_device(context.native_handle()), context)} {}
};

}  // namespace adverb::inline ADVERB_ABI
