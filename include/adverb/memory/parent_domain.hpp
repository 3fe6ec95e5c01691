// SPDX-License-Identifier: MIT
// Parent domains: a protection domain with a thread domain or an allocator for the provider.
#pragma once

#include <infiniband/verbs.h>

#include <adverb/memory/protection_domain.hpp>
#include <adverb/memory/provider_allocator.hpp>
#include <adverb/memory/thread_domain.hpp>

namespace adverb::inline ADVERB_ABI {

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
  static void for_each_parent(const ibv_pd* domain, callable_ref<const void*> function) noexcept {
    function(domain->context);
    for (const void* parent : lifetime_registry::instance().noted_parents_of(domain))
      function(parent);
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
#include <adverb/memory/impl/parent_domain.ipp>
#endif
