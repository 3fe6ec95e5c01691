// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <new>
#include <utility>

#include <rdma/rdma_cma.h>

#include <adverb/cm/context_list.hpp>
#include <adverb/cm/detail/explain_call.hpp>
#include <adverb/core/detail/check.hpp>
#include <adverb/core/detail/lifetime.hpp>
#include <adverb/device/context.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The contexts of a list that is kept. Never destroyed.
struct kept_contexts {
  noted_parents contexts;
  kept_contexts* next;
};
[[gnu::visibility("default")]] inline constinit std::atomic<kept_contexts*> first_kept_contexts{};

ADVERB_FUNC void free_contexts(ibv_context** contexts, std::size_t size) noexcept {
  kept_contexts* first = first_kept_contexts.load(std::memory_order_acquire);
  const auto must_be_kept = [&](const ibv_context* context) {
    if (lifetime_registry::instance().children_of(context).none()) return false;
    for (const kept_contexts* each = first; each != nullptr; each = each->next)
      if (std::find(each->contexts.begin(), each->contexts.end(), context) != each->contexts.end())
        return false;
    return true;
  };
  if (std::none_of(contexts, contexts + size, must_be_kept)) return rdma_free_devices(contexts);
  noted_parents all;
  for (std::size_t index = 0; index < size; ++index) all.push_back(contexts[index]);
  auto* const kept = new (std::nothrow) kept_contexts{std::move(all), first};
  // The devices stay open without a record, so the next list keeps them, too.
  if (kept == nullptr) return;
  while (!first_kept_contexts.compare_exchange_weak(kept->next, kept, std::memory_order_acq_rel)) {
  }
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::cm {

ADVERB_FUNC context_list::context_list(on_failure policy) {
  int count = 0;
  contexts_ = detail::check_pointer(
      policy, "rdma_get_devices", [&] { return rdma_get_devices(&count); },
      [](failure_description& description) {
        description.explain(&detail::explain_event_channel);
      });
  size_ = static_cast<std::size_t>(count);
}

ADVERB_FUNC context_list& context_list::operator=(context_list&& other) noexcept {
  std::swap(contexts_, other.contexts_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace adverb::inline ADVERB_ABI::cm
