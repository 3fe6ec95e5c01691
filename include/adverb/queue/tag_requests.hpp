// SPDX-License-Identifier: MIT
// What can be done to the list of a tag matching queue: small values, made by functions, posted by
// the queue.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include <infiniband/verbs.h>

#include <adverb/queue/detail/payload.hpp>
#include <adverb/queue/work_request.hpp>

namespace adverb::inline ADVERB_ABI {

/// Names an entry of the list of a tag matching queue, for as long as it is there.
enum class tag_handle : std::uint32_t {};

namespace detail {

/// What every operation on the list has. The modifiers of `Operation` return a changed copy.
template <class Operation>
class tag_operation {
 public:
  constexpr tag_operation() noexcept = default;

  /// Asks for a completion, on the queue's completion queue, that carries this as `id()`.
  template <request_id_type Id>
  [[nodiscard]] constexpr Operation signaled(Id id) const noexcept {
    return changed([&](tag_operation& copy) {
      copy.id_ = request_id(id);
      copy.flags_ |= IBV_OPS_SIGNALED;
    });
  }
  /// Tells the device how many unexpected messages the program has handled so far, all told. Until
  /// it knows them all it matches no new entry.
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

/// Puts a receive into the list, for the messages with a tag.
template <class Payload>
class tag_addition : public detail::tag_operation<tag_addition<Payload>> {
 public:
  constexpr tag_addition(std::uint64_t tag, const Payload& payload) noexcept
      : tag_{tag}, payload_{payload} {}

  /// What the completion of the receive carries as `id()` or `pointer<T>()`.
  template <detail::request_id_type Id>
  [[nodiscard]] constexpr tag_addition id(Id value) const noexcept {
    return this->changed([&](tag_addition& copy) { copy.receive_id_ = detail::request_id(value); });
  }
  /// Which bits of a message's tag are compared: all without this.
  [[nodiscard]] constexpr tag_addition mask(std::uint64_t bits) const noexcept {
    return this->changed([&](tag_addition& copy) { copy.mask_ = bits; });
  }
  /// Where posting puts the handle of the entry, once it is accepted.
  [[nodiscard]] constexpr tag_addition handle_to(tag_handle& handle) const noexcept {
    return this->changed([&](tag_addition& copy) { copy.handle_ = &handle; });
  }

  /// What it needs beside the C struct while it is posted.
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
  /// Told when the queue has taken it.
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

/// Takes an entry off the list.
class tag_deletion : public detail::tag_operation<tag_deletion> {
 public:
  constexpr explicit tag_deletion(tag_handle handle) noexcept : handle_{handle} {}

  using memory = detail::no_memory;
  /// The same as that of tag_addition.
  void fill(ibv_ops_wr& operation, ibv_ops_wr* next, memory&) const noexcept {
    tag_operation::fill(operation, next, IBV_WR_TAG_DEL);
    operation.tm.handle = static_cast<std::uint32_t>(handle_);
  }

 private:
  tag_handle handle_;
};

/// Changes nothing in the list.
class tag_synchronization : public detail::tag_operation<tag_synchronization> {
 public:
  using memory = detail::no_memory;
  /// The same as that of tag_addition.
  void fill(ibv_ops_wr& operation, ibv_ops_wr* next, memory&) const noexcept {
    tag_operation::fill(operation, next, IBV_WR_TAG_SYNC);
  }
};

/// Puts a receive into the list: a message that carries this tag is scattered into the payload,
/// mutable buffers or one std::span of them.
template <class... Payload>
[[nodiscard]] constexpr auto add_tag(std::uint64_t tag, const Payload&... payload) noexcept {
  return tag_addition{tag, detail::scatter(payload...)};
}
/// Takes an entry off the list. When a message has taken it already, a signaled deletion completes
/// with completion_status::tag_matching_error.
[[nodiscard]] constexpr tag_deletion delete_tag(tag_handle handle) noexcept {
  return tag_deletion{handle};
}
/// Tells the device how many unexpected messages the program has handled so far, all told, and
/// nothing else.
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
