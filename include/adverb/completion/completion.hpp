// SPDX-License-Identifier: MIT
// Completions, and the views through which their fields are read only where they are valid.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include <infiniband/verbs.h>

#include <adverb/completion/status.hpp>
#include <adverb/core/attributes.hpp>
#include <adverb/core/byte_order.hpp>
#include <adverb/core/error.hpp>
#include <adverb/core/handle.hpp>
#include <adverb/core/ids.hpp>

namespace adverb::inline ADVERB_ABI {

/// What a successful completion completed. `receive` and `receive_write_with_immediate` are on the
/// side that posted a receive, the others on the side that posted the request.
enum class completion_opcode : std::uint32_t {
  send = IBV_WC_SEND,
  write = IBV_WC_RDMA_WRITE,
  read = IBV_WC_RDMA_READ,
  compare_and_swap = IBV_WC_COMP_SWAP,
  fetch_and_add = IBV_WC_FETCH_ADD,
  bind_window = IBV_WC_BIND_MW,
  local_invalidate = IBV_WC_LOCAL_INV,
  tcp_segmentation = IBV_WC_TSO,
  flush = 8,         // IBV_WC_FLUSH, of later rdma-core
  atomic_write = 9,  // IBV_WC_ATOMIC_WRITE, likewise
  receive = IBV_WC_RECV,
  receive_write_with_immediate = IBV_WC_RECV_RDMA_WITH_IMM,
};

[[nodiscard]] constexpr text<48> to_text(completion_opcode opcode) noexcept {
  const auto name = [&]() -> std::string_view {
    switch (opcode) {
      case completion_opcode::send: return "send";
      case completion_opcode::write: return "write";
      case completion_opcode::read: return "read";
      case completion_opcode::compare_and_swap: return "compare and swap";
      case completion_opcode::fetch_and_add: return "fetch and add";
      case completion_opcode::bind_window: return "bind window";
      case completion_opcode::local_invalidate: return "local invalidate";
      case completion_opcode::tcp_segmentation: return "TCP segmentation";
      case completion_opcode::flush: return "flush";
      case completion_opcode::atomic_write: return "atomic write";
      case completion_opcode::receive: return "receive";
      case completion_opcode::receive_write_with_immediate:
        return "receive of write with immediate";
    }
    return {};
  };
  return detail::name_or_number(name(), static_cast<std::uint32_t>(opcode));
}

/// What only the completion of a receive has. Valid as long as the completion it came from.
class received_message {
 public:
  constexpr explicit received_message(const ibv_wc* native) noexcept : native_{native} {}
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return native_ != nullptr; }

  /// In bytes. For datagrams (UD) this counts the 40 bytes of the GRH area at the start of the
  /// buffer, whether a GRH is there or not.
  [[nodiscard]] std::uint32_t length() const noexcept { return native_->byte_len; }
  /// The immediate data, in host byte order, when the sender sent any.
  [[nodiscard]] std::optional<adverb::immediate> immediate() const noexcept {
    if ((native_->wc_flags & IBV_WC_WITH_IMM) == 0) return std::nullopt;
    return static_cast<adverb::immediate>(detail::swap_network_order(native_->imm_data));
  }
  /// The key that the sender invalidated here, when it did (send with invalidate).
  [[nodiscard]] std::optional<rkey> invalidated_key() const noexcept {
    if ((native_->wc_flags & IBV_WC_WITH_INV) == 0) return std::nullopt;
    return static_cast<rkey>(native_->invalidated_rkey);
  }
  /// True when no data came but a peer's write with immediate was announced: `length` is then that
  /// of the written memory.
  [[nodiscard]] bool announces_write() const noexcept {
    return native_->opcode == IBV_WC_RECV_RDMA_WITH_IMM;
  }

  // Datagrams (UD) only:
  /// The queue pair that sent it.
  [[nodiscard]] qp_number source_queue_pair() const noexcept {
    return static_cast<qp_number>(native_->src_qp);
  }
  /// True when the first 40 bytes of the buffer hold the GRH that it came with.
  [[nodiscard]] bool has_grh() const noexcept { return (native_->wc_flags & IBV_WC_GRH) != 0; }
  [[nodiscard]] lid source_lid() const noexcept { return static_cast<lid>(native_->slid); }
  [[nodiscard]] adverb::service_level service_level() const noexcept {
    return static_cast<adverb::service_level>(native_->sl);
  }
  [[nodiscard]] std::uint8_t path_bits() const noexcept { return native_->dlid_path_bits; }
  [[nodiscard]] adverb::pkey_index pkey_index() const noexcept {
    return static_cast<adverb::pkey_index>(native_->pkey_index);
  }

 private:
  const ibv_wc* native_;
};

/// What only a successful completion has. Valid as long as the completion it came from.
class successful_completion {
 public:
  constexpr explicit successful_completion(const ibv_wc* native) noexcept : native_{native} {}
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return native_ != nullptr; }

  [[nodiscard]] completion_opcode opcode() const noexcept {
    return static_cast<completion_opcode>(native_->opcode);
  }
  /// The bytes that a read or atomic brought.
  [[nodiscard]] std::uint32_t length() const noexcept { return native_->byte_len; }
  /// The message, when it was a receive that completed.
  [[nodiscard]] received_message receive() const noexcept {
    return received_message{(native_->opcode & IBV_WC_RECV) != 0 ? native_ : nullptr};
  }

 private:
  const ibv_wc* native_;
};

/// The end of a work request. Some fields are valid always, others only after success, others
/// only for receives; the latter are reached through views:
///
///     if (auto success = completion.success())
///       if (auto message = success.receive()) use(message.length());
///
/// Left uninitialised by default, so that an array of them to poll into costs nothing.
class completion {
 public:
  completion() noexcept = default;
  explicit completion(const ibv_wc& native) noexcept : native_{native} {}

  /// The id that the request was given.
  [[nodiscard]] std::uint64_t id() const noexcept { return native_.wr_id; }
  /// The same as the pointer it was given as.
  template <class T>
  [[nodiscard]] T* pointer() const noexcept {
    return reinterpret_cast<T*>(static_cast<std::uintptr_t>(native_.wr_id));
  }
  [[nodiscard]] completion_status status() const noexcept {
    return static_cast<completion_status>(native_.status);
  }
  /// The queue pair of the request.
  [[nodiscard]] qp_number queue_pair() const noexcept {
    return static_cast<qp_number>(native_.qp_num);
  }
  /// The provider's own code for what went wrong.
  [[nodiscard]] std::uint32_t vendor_error() const noexcept { return native_.vendor_err; }

  /// The view of a success; false when it was none. It refers to this completion: one that is a
  /// temporary can be looked at in the same expression, and has to be named for anything else.
  [[nodiscard]] successful_completion success() const noexcept ADVERB_LIFETIME_BOUND {
    return successful_completion{native_.status == IBV_WC_SUCCESS ? &native_ : nullptr};
  }

  /// Reports a completion that is no success, with its status as the error code.
  template <error_policy Policy = throwing>
  void check(Policy&& policy = {}) const {
    if (native_.status == IBV_WC_SUCCESS) [[likely]] {
      detail::clear(policy);
      return;
    }
    detail::report(std::forward<Policy>(policy), make_error_code(status()), "work request",
                   [&](failure_description& description) {
                     description
                         .object([&](text_writer& writer) {
                           writer.put("qp ").put(queue_pair()).put(" id ").decimal(id());
                         })
                         .explain([&](text_writer& writer) {
                           writer.put(hint_for(status()));
                           if (vendor_error() == 0) return;
                           writer.put(hint_for(status()).empty() ? "" : "; ");
                           writer.put("vendor error 0x").hexadecimal(vendor_error());
                         });
                   });
  }

  [[nodiscard]] const ibv_wc& native() const noexcept { return native_; }

 private:
  ibv_wc native_;
};

namespace detail {

static_assert(sizeof(completion) == sizeof(ibv_wc) && alignof(completion) == alignof(ibv_wc) &&
              std::is_standard_layout_v<completion> && std::is_trivially_copyable_v<completion>);

/// Completions as the C API fills them in: each is pointer-interconvertible with its one member.
/// The one such cast.
[[nodiscard]] inline ibv_wc* native_completions(completion* first) noexcept {
  return reinterpret_cast<ibv_wc*>(first);
}

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI
