// SPDX-License-Identifier: MIT
// Completions, and the views through which their fields are read only where they are valid.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include <infiniband/verbs.h>

#include <adverb/completion/completion_opcode.hpp>
#include <adverb/completion/detail/check_completion.hpp>
#include <adverb/completion/status.hpp>
#include <adverb/core/attributes.hpp>
#include <adverb/core/detail/byte_order.hpp>
#include <adverb/core/detail/hardening.hpp>
#include <adverb/core/error.hpp>
#include <adverb/core/handle.hpp>
#include <adverb/core/ids.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Ends a program that reads a field which the completion does not have.
template <class Completion>
[[noreturn, gnu::cold, gnu::noinline]] void end_at_field(const Completion& read,
                                                         std::string_view view) noexcept {
  end_program(view, [&](failure_description& description) {
    description
        .object([&](text_writer& writer) {
          if constexpr (requires { read.qp_num; })
            writer.put("qp ").put(static_cast<qp_number>(read.qp_num)).put(" ");
          writer.put("id ").decimal(read.wr_id);
        })
        .explain([&](text_writer& writer) {
          const auto status = static_cast<completion_status>(read.status);
          if (status == completion_status::success)
            writer.put("it is the completion of no receive: test the view before reading it");
          else
            writer.put("the work request failed (").put(status).put("): check() it first");
        });
  });
}

/// Ends a program that reads a field which is there only if the view is not empty.
template <class Completion>
[[gnu::always_inline]] inline void require_view(const Completion& read, bool there,
                                                std::string_view view) noexcept {
  if constexpr (hardened(ADVERB_HARDENING_FAST))
    if (!there) [[unlikely]]
      end_at_field(read, view);
}

}  // namespace detail

/// What only the completion of a receive has. Valid as long as the completion it came from. A view
/// that is empty has no field: reading one ends the program (ADVERB_HARDENING_FAST).
class received_message {
 public:
  constexpr received_message(const ibv_wc& native, bool there) noexcept
      : native_{&native}, there_{there} {}
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return there_; }

  /// In bytes. For datagrams (UD) this counts the 40 bytes of the GRH area at the start of the
  /// buffer, whether a GRH is there or not.
  [[nodiscard]] std::uint32_t length() const noexcept { return field().byte_len; }
  /// The immediate data, in host byte order, when the sender sent any.
  [[nodiscard]] std::optional<adverb::immediate> immediate() const noexcept {
    if (!has(IBV_WC_WITH_IMM)) return std::nullopt;
    return static_cast<adverb::immediate>(detail::swap_network_order(field().imm_data));
  }
  /// The key that the sender invalidated here, when it did (send with invalidate).
  [[nodiscard]] std::optional<rkey> invalidated_key() const noexcept {
    if (!has(IBV_WC_WITH_INV)) return std::nullopt;
    return static_cast<rkey>(field().invalidated_rkey);
  }
  /// True when no data came but a peer's write with immediate was announced: `length` is then that
  /// of the written memory.
  [[nodiscard]] bool announces_write() const noexcept {
    return field().opcode == IBV_WC_RECV_RDMA_WITH_IMM;
  }
  /// True when the device verified the checksums of IP and of TCP or UDP (IPv4 packets, and only
  /// where the device has this): nothing is known otherwise.
  [[nodiscard]] bool ip_checksum_ok() const noexcept { return has(IBV_WC_IP_CSUM_OK); }

  // Datagrams (UD) only:
  /// The queue pair that sent it.
  [[nodiscard]] qp_number source_queue_pair() const noexcept {
    return static_cast<qp_number>(field().src_qp);
  }
  /// True when the first 40 bytes of the buffer hold the GRH that it came with.
  [[nodiscard]] bool has_grh() const noexcept { return has(IBV_WC_GRH); }
  [[nodiscard]] lid source_lid() const noexcept { return static_cast<lid>(field().slid); }
  [[nodiscard]] adverb::service_level service_level() const noexcept {
    return static_cast<adverb::service_level>(field().sl);
  }
  [[nodiscard]] std::uint8_t path_bits() const noexcept { return field().dlid_path_bits; }
  [[nodiscard]] adverb::pkey_index pkey_index() const noexcept {
    return static_cast<adverb::pkey_index>(field().pkey_index);
  }

 protected:
  [[nodiscard]] bool has(unsigned flag) const noexcept { return (field().wc_flags & flag) != 0; }

 private:
  [[nodiscard]] const ibv_wc& field() const noexcept {
    detail::require_view(*native_, there_, "completion::success().receive()");
    return *native_;
  }

  const ibv_wc* native_;
  bool there_;
};

/// What a message has besides that came to a tag matching queue.
class tagged_message : public received_message {
 public:
  using received_message::received_message;

  /// True when a posted tag matched.
  [[nodiscard]] bool tag_matched() const noexcept { return has(IBV_WC_TM_MATCH); }
  /// True when all data of the message is there.
  [[nodiscard]] bool tag_data_valid() const noexcept { return has(IBV_WC_TM_DATA_VALID); }
};

/// What only a successful completion has. Valid as long as the completion it came from. A view that
/// is empty has no field: reading one ends the program (ADVERB_HARDENING_FAST).
class successful_completion {
 public:
  constexpr explicit successful_completion(const ibv_wc& native) noexcept : native_{&native} {}
  [[nodiscard]] constexpr explicit operator bool() const noexcept {
    return native_->status == IBV_WC_SUCCESS;
  }

  [[nodiscard]] completion_opcode opcode() const noexcept {
    return static_cast<completion_opcode>(field().opcode);
  }
  /// The bytes that a read or atomic brought.
  [[nodiscard]] std::uint32_t length() const noexcept { return field().byte_len; }
  /// True when the list of a tag matching queue has to be synchronised before more can be added.
  [[nodiscard]] bool tag_synchronization_requested() const noexcept {
    return (field().wc_flags & IBV_WC_TM_SYNC_REQ) != 0;
  }
  /// The message, when it was a receive that completed; of a tag matching queue: `receive_tagged`.
  /// Empty for a completion that failed.
  [[nodiscard]] received_message receive() const noexcept {
    return {*native_, *this && detail::completes_receive(native_->opcode)};
  }
  /// The message that came to a tag matching queue, with a tag or without.
  [[nodiscard]] tagged_message receive_tagged() const noexcept {
    return {*native_, *this && detail::completes_tagged_receive(native_->opcode)};
  }

 private:
  [[nodiscard]] const ibv_wc& field() const noexcept {
    detail::require_view(*native_, static_cast<bool>(*this), "completion::success()");
    return *native_;
  }

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
    return successful_completion{native_};
  }

  /// Reports a completion that is no success, with its status as the error code.
  void check(on_failure policy = throwing{}) const {
    detail::check_completion(
        policy, *this, [&](text_writer& writer) { writer.put("qp ").put(queue_pair()).put(" "); });
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
