// SPDX-License-Identifier: MIT
// Protection domains: separate the memory and queue pairs of one user from those of another.
#pragma once

#include <infiniband/verbs.h>

#include <adverb/device/context.hpp>
#include <adverb/memory/provider_allocator.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// The operations of a protection domain, whether it is owned or referred to.
class protection_domain_base : public handle_base<ibv_pd> {
 public:
  using handle_base::handle_base;

  /// Returns the context that the object belongs to.
  [[nodiscard]] context_ref context() const noexcept { return checked_handle()->context; }
  /// Returns the handle by which another process imports the domain.
  [[nodiscard]] protection_domain_handle handle() const noexcept {
    return static_cast<protection_domain_handle>(checked_handle()->handle);
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
  static constexpr const char* destroy_verb = "ibv_dealloc_pd";
  static int destroy(ibv_pd* domain) noexcept { return ibv_dealloc_pd(domain); }
  static void list_parents(const ibv_pd* domain, parent_visitor& parents) noexcept {
    parents.add(domain->context);
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
  explicit protection_domain(context_ref context, on_failure policy = throwing{});
};

namespace detail {

/// The operations of a thread domain, whether it is owned or referred to.
class thread_domain_base : public handle_base<ibv_td> {
 public:
  using handle_base::handle_base;

  /// Returns the context that the object belongs to.
  [[nodiscard]] context_ref context() const noexcept { return checked_handle()->context; }
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
  static constexpr const char* destroy_verb = "ibv_dealloc_td";
  static int destroy(ibv_td* domain) noexcept { return ibv_dealloc_td(domain); }
  static void list_parents(const ibv_td* domain, parent_visitor& parents) noexcept {
    parents.add(domain->context);
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
  explicit thread_domain(context_ref context, on_failure policy = throwing{});
};

/// The additions of a parent domain to its protection domain, each optional.
struct parent_domain_options {
  /// Objects made in the parent domain take no locks: only one thread at a time may use them.
  thread_domain_ref thread_domain = {};
  /// The allocator for the provider's queue memory: an lvalue of a provider_allocator.
  provider_allocator_ref allocator = {};
};

namespace detail {

/// Gets the protection domain and the thread domain from the lifetime checker, because the C struct
/// lacks them. Some providers deallocate either while a parent domain still uses it (mana counts no
/// parent domains).
struct parent_domain_traits : protection_domain_traits {
  static int destroy(ibv_pd* domain) noexcept { return ibv_dealloc_pd(domain); }
  static void list_parents(const ibv_pd* domain, parent_visitor& parents) noexcept {
    parents.add(domain->context);
    parents.add_noted_of(domain);
  }
};

}  // namespace detail

/// A protection domain that extends another one, and is usable wherever a protection domain is.
/// Objects made in it work together with objects of the domain that it extends. Destroy it before
/// that domain, its thread domain and its allocator.
class [[nodiscard]] parent_domain
    : public detail::owner<detail::protection_domain_base, detail::parent_domain_traits> {
 public:
  using owner::owner;

  /// Makes a parent domain that extends `domain`. Wraps: ibv_alloc_parent_domain(3).
  parent_domain(protection_domain_ref domain, const parent_domain_options& options,
                on_failure policy = throwing{})
      : owner{adopt, make(domain, options, policy)} {}

 private:
  static ibv_pd* make(protection_domain_ref domain, const parent_domain_options& options,
                      on_failure policy);
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/memory/impl/protection_domain.ipp>
#endif
