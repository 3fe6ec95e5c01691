// SPDX-License-Identifier: MIT
// Operations on the list of a tag matching queue: small values that are posted to the queue.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include <infiniband/verbs.h>

#include <adverb/request/inline_data.hpp>
#include <adverb/request/work_request.hpp>

namespace adverb::inline ADVERB_ABI {

/// Identifies an entry in the list of a tag matching queue, for the lifetime of the entry.
enum class tag_handle : std::uint32_t {};

namespace detail {

/// The common part of all list operations. The modifiers of `Operation` return a changed copy.
template <class Operation>
class tag_operation {
 public:
  constexpr tag_operation() noexcept = default;

  /// Requests a completion on the queue's completion queue, with this `id()`.
  template <request_id_type Id>
  [[nodiscard]] constexpr Operation signaled(Id id) const noexcept {
    return changed([&](tag_operation& copy) {
      copy.id_ = request_id(id);
      copy.flags_ |= IBV_OPS_SIGNALED;
    });
  }
  /// Sets the total number of unexpected messages that the program has handled so far. The device
  /// matches no new entry until the number covers all of them.
  [[nodiscard]] constexpr Operation handled_unexpected(std::uint32_t count) const noexcept {
    return changed([&](tag_operation& copy) {
      copy.unexpected_ = count;
      copy.flags_ |= IBV_OPS_TM_SYNC;
    });
  }

 protected:
  template <class Change>
  [[nodiscard]] constexpr Operation changed(const Change& change) const noexcept {
    Operation copy = static_cast<const Operation&>(*this);
    change(copy);
    return copy;
  }

  void fill(ibv_ops_wr& operation, ibv_ops_wr* next, ibv_ops_wr_opcode opcode) const noexcept {
    operation = {};
    operation.wr_id = id_;
    operation.next = next;
    operation.opcode = opcode;
    operation.flags = flags_;
    operation.tm.unexpected_cnt = unexpected_;
  }

 private:
  std::uint64_t id_ = 0;
  int flags_ = 0;
  std::uint32_t unexpected_ = 0;
};

}  // namespace detail

/// An operation that adds a receive for the messages with a tag.
template <class Payload>
class tag_addition : public detail::tag_operation<tag_addition<Payload>> {
 public:
  /// Adds a receive for the messages with this tag.
  constexpr tag_addition(std::uint64_t tag, const Payload& payload) noexcept
      : tag_{tag}, payload_{payload} {}

  /// Sets the `id()` or `pointer<T>()` of the completion of the receive.
  template <detail::request_id_type Id>
  [[nodiscard]] constexpr tag_addition id(Id value) const noexcept {
    return this->changed([&](tag_addition& copy) { copy.receive_id_ = detail::request_id(value); });
  }
  /// Sets the bits of a message's tag that are compared; all by default.
  [[nodiscard]] constexpr tag_addition mask(std::uint64_t bits) const noexcept {
    return this->changed([&](tag_addition& copy) { copy.mask_ = bits; });
  }
  /// Sets where the post stores the handle of the entry once it is accepted.
  [[nodiscard]] constexpr tag_addition handle_to(tag_handle& handle) const noexcept {
    return this->changed([&](tag_addition& copy) { copy.handle_ = &handle; });
  }

  /// Additional memory that a post of it needs beside the C struct.
  using memory = typename Payload::memory;

  /// Writes the fields that the device reads.
  void fill(ibv_ops_wr& operation, ibv_ops_wr* next, memory& elements) const noexcept {
    detail::tag_operation<tag_addition>::fill(operation, next, IBV_WR_TAG_ADD);
    operation.tm.add.recv_wr_id = receive_id_;
    operation.tm.add.sg_list = payload_.lower(elements);
    operation.tm.add.num_sge = payload_.count();
    operation.tm.add.tag = tag_;
    operation.tm.add.mask = mask_;
  }
  /// Called when the queue has accepted the operation.
  void accepted(const ibv_ops_wr& operation) const noexcept {
    if (handle_ != nullptr) *handle_ = static_cast<tag_handle>(operation.tm.handle);
  }

 private:
  std::uint64_t tag_;
  std::uint64_t mask_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t receive_id_ = 0;
  tag_handle* handle_ = nullptr;
  [[no_unique_address]] Payload payload_;
};

/// An operation that removes an entry from the list.
class tag_deletion : public detail::tag_operation<tag_deletion> {
 public:
  /// Removes the entry with this handle.
  constexpr explicit tag_deletion(tag_handle handle) noexcept : handle_{handle} {}

  /// For `post`: the memory that the request needs while it is posted.
  using memory = detail::no_memory;
  /// Writes the fields that the device reads.
  void fill(ibv_ops_wr& operation, ibv_ops_wr* next, memory&) const noexcept {
    tag_operation::fill(operation, next, IBV_WR_TAG_DEL);
    operation.tm.handle = static_cast<std::uint32_t>(handle_);
  }

 private:
  tag_handle handle_;
};

/// An operation that leaves the list unchanged.
class tag_synchronization : public detail::tag_operation<tag_synchronization> {
 public:
  /// For `post`: the memory that the request needs while it is posted.
  using memory = detail::no_memory;
  /// Writes the fields that the device reads.
  void fill(ibv_ops_wr& operation, ibv_ops_wr* next, memory&) const noexcept {
    tag_operation::fill(operation, next, IBV_WR_TAG_SYNC);
  }
};

/// Creates an operation that adds a receive to the list. Messages with this tag are scattered into
/// the payload: mutable buffers or one std::span of them.
template <class... Payload>
[[nodiscard]] constexpr auto add_tag(std::uint64_t tag, const Payload&... payload) noexcept {
  return tag_addition{tag, detail::scatter(payload...)};
}
/// Creates an operation that removes an entry from the list. If a message has already used the
/// entry, a signaled deletion completes with completion_status::tag_matching_error.
[[nodiscard]] constexpr tag_deletion delete_tag(tag_handle handle) noexcept {
  return tag_deletion{handle};
}
/// Creates an operation that only reports the total number of unexpected messages handled so far.
[[nodiscard]] constexpr tag_synchronization synchronize_tags(
    std::uint32_t handled_unexpected) noexcept {
  return tag_synchronization{}.handled_unexpected(handled_unexpected);
}

namespace detail {

template <class T>
inline constexpr bool is_tag_operation = std::is_base_of_v<tag_operation<T>, T>;
template <class T>
  requires(!std::is_class_v<T>)
inline constexpr bool is_tag_operation<T> = false;

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI
