// SPDX-License-Identifier: MIT
// The device contexts that librdmacm has opened.
#pragma once

#include <cstddef>
#include <utility>

#include <rdma/rdma_cma.h>

#include <adverb/core/error.hpp>
#include <adverb/device/context_ref.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Frees a list of librdmacm's contexts, or keeps it until the program ends if a context has live
/// objects, and no other list keeps it. Thread safe.
void free_contexts(ibv_context** contexts, std::size_t size) noexcept;

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::cm {

/// The contexts of all RDMA devices that librdmacm has opened. Identifiers share them:
///
///     const cm::context_list contexts;
///     for (context_ref context : contexts) prepare(context);
///
/// An object that is created on one of them, such as a protection domain, serves all its
/// connections. librdmacm closes the context of a removed device when it next looks at the devices.
/// A context stays open while a list has it, or, once the last list is destroyed, until the program
/// ends if there were objects on it.
class [[nodiscard]] context_list {
 public:
  /// Lists the contexts. Fails with ENODEV if there is no RDMA device. Wraps: rdma_get_devices(3).
  explicit context_list(on_failure policy = throwing{});
  context_list(context_list&& other) noexcept
      : contexts_{std::exchange(other.contexts_, nullptr)}, size_{std::exchange(other.size_, 0)} {}
  context_list& operator=(context_list&& other) noexcept;
  /// Frees the list, unless it keeps contexts open for their objects.
  /// Wraps: rdma_free_devices(3).
  ~context_list() {
    if (contexts_ != nullptr) detail::free_contexts(contexts_, size_);
  }

  class iterator {
   public:
    using value_type = context_ref;
    using difference_type = std::ptrdiff_t;

    iterator() noexcept = default;
    explicit iterator(ibv_context** at) noexcept : at_{at} {}

    [[nodiscard]] context_ref operator*() const noexcept { return *at_; }
    iterator& operator++() noexcept {
      ++at_;
      return *this;
    }
    iterator operator++(int) noexcept { return iterator{at_++}; }
    friend bool operator==(iterator, iterator) noexcept = default;

   private:
    ibv_context** at_ = nullptr;
  };

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  /// Returns the context of the device with this index, unchecked.
  [[nodiscard]] context_ref operator[](std::size_t index) const noexcept {
    return contexts_[index];
  }
  [[nodiscard]] iterator begin() const noexcept { return iterator{contexts_}; }
  [[nodiscard]] iterator end() const noexcept { return iterator{contexts_ + size_}; }

 private:
  ibv_context** contexts_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace adverb::inline ADVERB_ABI::cm

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/context_list.ipp>
#endif
