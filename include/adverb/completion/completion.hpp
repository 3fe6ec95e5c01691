// SPDX-License-Identifier: MIT
// Completions, and views that give access to their fields only where these are valid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include <infiniband/verbs.h>

#include <adverb/completion/completion_opcode.hpp>
#include <adverb/completion/status.hpp>
#include <adverb/core/detail/byte_order.hpp>
#include <adverb/core/detail/hardening.hpp>
#include <adverb/core/error.hpp>
#include <adverb/core/handle.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Reports a completion that is no success. `put_pair` names its queue pair if known; `block` is
/// the size of its receive, or 0 if that is unknown or it is no receive.
[[gnu::cold]] void report_status(on_failure policy, completion_status status, std::uint64_t id,
                                 std::uint32_t vendor_error, callable_ref<text_writer&> put_pair,
                                 std::size_t block = 0);

template <class Completion, class PutPair>
[[gnu::cold, gnu::noinline]] void report_completion(on_failure policy, Completion completion,
                                                    PutPair put_pair) {
  report_status(policy, completion.status(), completion.id(), completion.vendor_error(),
                [&](text_writer& writer) { put_pair(writer, completion); });
}

/// Fails if a completion of either engine is no success. `put_pair` names its queue pair if known.
/// `Completion` is a value if that is a pointer only, so that a good completion is never in memory.
template <class Completion, class PutPair>
[[gnu::always_inline]] inline void check_completion(on_failure policy, Completion completion,
                                                    PutPair put_pair) {
  if (completion.status() == completion_status::success) [[likely]] {
    policy.clear();
  } else {
    report_completion<Completion>(policy, completion, put_pair);
    policy.assume_reported();
  }
}

/// Terminates a program that reads a field which the completion does not have.
// Not a const char*, with which GCC 12 moves a part of the loop over the completions behind its
// end.
template <class Completion>
[[noreturn, gnu::cold, gnu::noinline]] void end_at_field(const Completion& read,
                                                         std::string_view view) noexcept {
  end_program(view.data(), [&](failure_description& description) {
    description
        .object([&](text_writer& writer) {
          if constexpr (requires { read.qp_num; })
            writer.put("qp ").put(static_cast<qp_number>(read.qp_num)).put(" ");
          writer.put("id ").decimal(read.wr_id);
        })
        .explain([&](text_writer& writer) {
          const auto status = static_cast<completion_status>(read.status);
          if (status == completion_status::success)
            writer.put("it is not the completion of a receive: test the view before reading it");
          else
            writer.put("the work request failed (").put(status).put("): check() it first");
        });
  });
}

/// Terminates a program that reads a field of an empty view.
template <class Completion>
[[gnu::always_inline]] inline void require_view(const Completion& read, bool there,
                                                std::string_view view) noexcept {
  if constexpr (hardened(ADVERB_HARDENING_FAST))
    if (!there) [[unlikely]]
      end_at_field(read, view);
}

}  // namespace detail

/// The fields that only the completion of a receive has. Valid as long as its completion. Reading a
/// field of an empty view terminates the program (ADVERB_HARDENING_FAST).
class received_message {
 public:
  /// Views a work completion of the C API.
  constexpr received_message(const ibv_wc& native, bool there) noexcept
      : native_{&native}, there_{there} {}
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return there_; }

  /// Returns the length in bytes. For datagrams (UD) it includes the 40 bytes of the GRH area at
  /// the start of the buffer, with or without a GRH.
  [[nodiscard]] std::uint32_t length() const noexcept { return field().byte_len; }
  /// Returns the immediate data in host byte order, if the sender sent any.
  [[nodiscard]] std::optional<adverb::immediate> immediate() const noexcept {
    if (!has(IBV_WC_WITH_IMM)) return std::nullopt;
    return static_cast<adverb::immediate>(detail::swap_network_order(field().imm_data));
  }
  /// Returns the local key that the sender invalidated (send with invalidate), if any.
  [[nodiscard]] std::optional<rkey> invalidated_key() const noexcept {
    if (!has(IBV_WC_WITH_INV)) return std::nullopt;
    return static_cast<rkey>(field().invalidated_rkey);
  }
  /// Returns true for a peer's write with immediate, which brings no data to this receive. `length`
  /// is then the length of the written memory.
  [[nodiscard]] bool announces_write() const noexcept {
    return field().opcode == IBV_WC_RECV_RDMA_WITH_IMM;
  }
  /// Returns true if the device verified the checksums of IP and of TCP or UDP (IPv4 packets, and
  /// only on devices that support this). False does not mean that a checksum is wrong.
  [[nodiscard]] bool ip_checksum_ok() const noexcept { return has(IBV_WC_IP_CSUM_OK); }

  // Datagrams (UD) only:
  /// Returns the queue pair of the sender.
  [[nodiscard]] qp_number source_queue_pair() const noexcept {
    return static_cast<qp_number>(field().src_qp);
  }
  /// Returns true if the first 40 bytes of the buffer hold the GRH of the datagram.
  [[nodiscard]] bool has_grh() const noexcept { return has(IBV_WC_GRH); }
  /// Returns the LID of the sender.
  [[nodiscard]] lid source_lid() const noexcept { return static_cast<lid>(field().slid); }
  /// Returns the service level of the datagram.
  [[nodiscard]] adverb::service_level service_level() const noexcept {
    return static_cast<adverb::service_level>(field().sl);
  }
  /// Returns the low bits of the local LID to which the datagram was sent.
  [[nodiscard]] std::uint8_t path_bits() const noexcept { return field().dlid_path_bits; }
  /// Returns the index of the partition key of the datagram.
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

/// The additional fields of a message to a tag matching queue.
class tagged_message : public received_message {
 public:
  using received_message::received_message;

  /// Returns true if a posted tag matched.
  [[nodiscard]] bool tag_matched() const noexcept { return has(IBV_WC_TM_MATCH); }
  /// Returns true if all data of the message is there.
  [[nodiscard]] bool tag_data_valid() const noexcept { return has(IBV_WC_TM_DATA_VALID); }
};

/// The fields that only a successful completion has. Valid as long as its completion. Reading a
/// field of an empty view terminates the program (ADVERB_HARDENING_FAST).
class successful_completion {
 public:
  /// Views a work completion of the C API.
  constexpr explicit successful_completion(const ibv_wc& native) noexcept : native_{&native} {}
  [[nodiscard]] constexpr explicit operator bool() const noexcept {
    return native_->status == IBV_WC_SUCCESS;
  }

  /// Returns the operation that completed.
  [[nodiscard]] completion_opcode opcode() const noexcept {
    return static_cast<completion_opcode>(field().opcode);
  }
  /// Returns the number of bytes that a read or atomic returned.
  [[nodiscard]] std::uint32_t length() const noexcept { return field().byte_len; }
  /// Returns true if the list of a tag matching queue must be synchronised before an addition.
  [[nodiscard]] bool tag_synchronization_requested() const noexcept {
    return (field().wc_flags & IBV_WC_TM_SYNC_REQ) != 0;
  }
  /// Returns the received message if a receive completed, otherwise or after a failure an empty
  /// view. For a tag matching queue use `receive_tagged`.
  [[nodiscard]] received_message receive() const noexcept {
    return {*native_, *this && detail::completes_receive(native_->opcode)};
  }
  /// Returns the message to a tag matching queue, with or without a tag.
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

/// The completion of a work request. Some fields are always valid, others only after success,
/// others only for receives. Views give access to the latter two:
///
///     if (auto success = completion.success())
///       if (auto message = success.receive()) use(message.length());
///
/// The default constructor leaves it uninitialised, so that an array to poll into costs nothing.
class completion {
 public:
  completion() noexcept = default;
  /// Copies a work completion of the C API.
  explicit completion(const ibv_wc& native) noexcept : native_{native} {}

  /// Returns the id of the request.
  [[nodiscard]] std::uint64_t id() const noexcept { return native_.wr_id; }
  /// Returns the id as the pointer that was set.
  template <class T>
  [[nodiscard]] T* pointer() const noexcept {
    return reinterpret_cast<T*>(static_cast<std::uintptr_t>(native_.wr_id));
  }
  /// Returns the status.
  [[nodiscard]] completion_status status() const noexcept {
    return static_cast<completion_status>(native_.status);
  }
  /// Returns the queue pair of the request.
  [[nodiscard]] qp_number queue_pair() const noexcept {
    return static_cast<qp_number>(native_.qp_num);
  }
  /// Returns the provider's own error code.
  [[nodiscard]] std::uint32_t vendor_error() const noexcept { return native_.vendor_err; }

  /// Returns a view of the fields after success, which is false after a failure. The view refers to
  /// this completion: use that of a temporary in the same expression only.
  [[nodiscard]] successful_completion success() const noexcept ADVERB_LIFETIME_BOUND {
    return successful_completion{native_};
  }

  /// Fails if the completion is no success, with its status as the error code.
  void check(on_failure policy = throwing{}) const {
    detail::check_completion<const completion&>(
        policy, *this, [](text_writer& writer, const completion& failed) {
          writer.put("qp ").put(failed.queue_pair()).put(" ");
        });
  }

  [[nodiscard]] const ibv_wc& native() const noexcept { return native_; }

 private:
  ibv_wc native_;
};

namespace detail {

static_assert(sizeof(completion) == sizeof(ibv_wc) && alignof(completion) == alignof(ibv_wc) &&
              std::is_standard_layout_v<completion> && std::is_trivially_copyable_v<completion>);

/// Returns completions as the C structs that the C API fills in. Each is pointer-interconvertible
/// with its one member. This is the only such cast.
[[nodiscard]] inline ibv_wc* native_completions(completion* first) noexcept {
  return reinterpret_cast<ibv_wc*>(first);
}

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/completion/impl/completion.ipp>
#endif
