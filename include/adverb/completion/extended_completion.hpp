// SPDX-License-Identifier: MIT
// Completions of an extended queue: views of its current entry, whose fields are read when they are
// asked for.
#pragma once

#include <cstdint>
#include <optional>

#include <infiniband/verbs.h>

#include <adverb/completion/completion.hpp>
#include <adverb/completion/completion_field.hpp>
#include <adverb/completion/completion_opcode.hpp>
#include <adverb/completion/detail/check_completion.hpp>
#include <adverb/completion/status.hpp>
#include <adverb/core/detail/byte_order.hpp>
#include <adverb/core/error.hpp>
#include <adverb/core/ids.hpp>

namespace adverb::inline ADVERB_ABI {

/// What only the completion of a receive has. Valid as long as the completion it came from.
template <completion_fields Fields>
class extended_received_message {
 public:
  extended_received_message(ibv_cq_ex* queue, ibv_wc_opcode opcode) noexcept
      : queue_{queue}, opcode_{opcode} {}
  [[nodiscard]] explicit operator bool() const noexcept {
    return detail::completes_receive(opcode_);
  }

  /// In bytes. For datagrams (UD) this counts the 40 bytes of the GRH area at the start of the
  /// buffer, whether a GRH is there or not. Wraps: ibv_wc_read_byte_len(3).
  [[nodiscard]] std::uint32_t length() const noexcept {
    static_assert(Fields.contains(completion_field::byte_length),
                  "the queue was made without completion_field::byte_length");
    return ibv_wc_read_byte_len(field());
  }
  /// The immediate data, in host byte order, when the sender sent any.
  /// Wraps: ibv_wc_read_imm_data(3), ibv_wc_read_wc_flags(3).
  [[nodiscard]] std::optional<adverb::immediate> immediate() const noexcept {
    static_assert(Fields.contains(completion_field::immediate),
                  "the queue was made without completion_field::immediate");
    if (!has(IBV_WC_WITH_IMM)) return std::nullopt;
    return static_cast<adverb::immediate>(
        detail::swap_network_order(ibv_wc_read_imm_data(field())));
  }
  /// The key that the sender invalidated here, when it did (send with invalidate).
  /// Wraps: ibv_wc_read_invalidated_rkey(3), ibv_wc_read_wc_flags(3).
  [[nodiscard]] std::optional<rkey> invalidated_key() const noexcept {
    static_assert(Fields.contains(completion_field::immediate),
                  "the queue was made without completion_field::immediate, which tells the "
                  "invalidated key too");
    if (!has(IBV_WC_WITH_INV)) return std::nullopt;
    return static_cast<rkey>(ibv_wc_read_invalidated_rkey(field()));
  }
  /// True when no data came but a peer's write with immediate was announced: `length` is then that
  /// of the written memory.
  [[nodiscard]] bool announces_write() const noexcept {
    return opcode_ == IBV_WC_RECV_RDMA_WITH_IMM;
  }
  /// True when the device verified the checksums of IP and of TCP or UDP (IPv4 packets, and only
  /// where the device has this): nothing is known otherwise. Wraps: ibv_wc_read_wc_flags(3).
  [[nodiscard]] bool ip_checksum_ok() const noexcept { return has(IBV_WC_IP_CSUM_OK); }
  /// The VLAN tag of the packet. Wraps: ibv_wc_read_cvlan(3).
  [[nodiscard]] vlan_tag vlan() const noexcept {
    static_assert(Fields.contains(completion_field::vlan),
                  "the queue was made without completion_field::vlan");
    return static_cast<vlan_tag>(ibv_wc_read_cvlan(field()));
  }
  /// The tag of the flow rule that steered the packet here. Wraps: ibv_wc_read_flow_tag(3).
  [[nodiscard]] adverb::flow_tag flow_tag() const noexcept {
    static_assert(Fields.contains(completion_field::flow_tag),
                  "the queue was made without completion_field::flow_tag");
    return static_cast<adverb::flow_tag>(ibv_wc_read_flow_tag(field()));
  }

  // Datagrams (UD) only:
  /// The queue pair that sent it. Wraps: ibv_wc_read_src_qp(3).
  [[nodiscard]] qp_number source_queue_pair() const noexcept {
    static_assert(Fields.contains(completion_field::source_queue_pair),
                  "the queue was made without completion_field::source_queue_pair");
    return static_cast<qp_number>(ibv_wc_read_src_qp(field()));
  }
  /// True when the first 40 bytes of the buffer hold the GRH that it came with.
  /// Wraps: ibv_wc_read_wc_flags(3).
  [[nodiscard]] bool has_grh() const noexcept { return has(IBV_WC_GRH); }
  /// Wraps: ibv_wc_read_slid(3).
  [[nodiscard]] lid source_lid() const noexcept {
    static_assert(Fields.contains(completion_field::source_lid),
                  "the queue was made without completion_field::source_lid");
    return static_cast<lid>(ibv_wc_read_slid(field()));
  }
  /// Wraps: ibv_wc_read_sl(3).
  [[nodiscard]] adverb::service_level service_level() const noexcept {
    static_assert(Fields.contains(completion_field::service_level),
                  "the queue was made without completion_field::service_level");
    return static_cast<adverb::service_level>(ibv_wc_read_sl(field()));
  }
  /// Wraps: ibv_wc_read_dlid_path_bits(3).
  [[nodiscard]] std::uint8_t path_bits() const noexcept {
    static_assert(Fields.contains(completion_field::path_bits),
                  "the queue was made without completion_field::path_bits");
    return ibv_wc_read_dlid_path_bits(field());
  }

 protected:
  [[nodiscard]] bool has(unsigned flag) const noexcept {
    return (ibv_wc_read_wc_flags(field()) & flag) != 0;
  }

  /// The queue, of which a field is read that only a message has.
  [[nodiscard]] ibv_cq_ex* field() const noexcept {
    const bool there =
        detail::completes_receive(opcode_) || detail::completes_tagged_receive(opcode_);
    detail::require_view(*queue_, there, "completion::success().receive()");
    return queue_;
  }

  // What tells whether there is a message, beside the queue: a view that is null where there is
  // none would have the queue tested again each time that it is read.
  ibv_cq_ex* queue_;
  ibv_wc_opcode opcode_;
};

/// What a message has besides that came to a tag matching queue.
template <completion_fields Fields>
class extended_tagged_message : public extended_received_message<Fields> {
 public:
  using extended_received_message<Fields>::extended_received_message;
  [[nodiscard]] explicit operator bool() const noexcept {
    return detail::completes_tagged_receive(this->opcode_);
  }

  /// The tag that the message carried. Wraps: ibv_wc_read_tm_info(3).
  [[nodiscard]] matched_tag tag() const noexcept {
    static_assert(Fields.contains(completion_field::tag_matching),
                  "the queue was made without completion_field::tag_matching");
    ibv_wc_tm_info info{};
    ibv_wc_read_tm_info(this->field(), &info);
    return {info.tag, info.priv};
  }
  /// True when a posted tag matched. Wraps: ibv_wc_read_wc_flags(3).
  [[nodiscard]] bool tag_matched() const noexcept { return this->has(IBV_WC_TM_MATCH); }
  /// True when all data of the message is there. Wraps: ibv_wc_read_wc_flags(3).
  [[nodiscard]] bool tag_data_valid() const noexcept { return this->has(IBV_WC_TM_DATA_VALID); }
};

/// What only a successful completion has. Valid as long as the completion it came from.
template <completion_fields Fields>
class extended_successful_completion {
 public:
  extended_successful_completion(ibv_cq_ex* queue, bool there) noexcept
      : queue_{queue}, there_{there} {}
  [[nodiscard]] explicit operator bool() const noexcept { return there_; }

  /// Wraps: ibv_wc_read_opcode(3).
  [[nodiscard]] completion_opcode opcode() const noexcept {
    return static_cast<completion_opcode>(ibv_wc_read_opcode(field()));
  }
  /// The bytes that a read or atomic brought. Wraps: ibv_wc_read_byte_len(3).
  [[nodiscard]] std::uint32_t length() const noexcept {
    return extended_received_message<Fields>{field(), IBV_WC_RECV}.length();
  }
  /// When it completed, in ticks of the device's clock. Wraps: ibv_wc_read_completion_ts(3).
  [[nodiscard]] device_ticks timestamp() const noexcept {
    static_assert(Fields.contains(completion_field::timestamp),
                  "the queue was made without completion_field::timestamp");
    return static_cast<device_ticks>(ibv_wc_read_completion_ts(field()));
  }
  /// When it completed, in nanoseconds since 1970.
  /// Wraps: ibv_wc_read_completion_wallclock_ns(3).
  [[nodiscard]] wall_clock_nanoseconds wall_clock() const noexcept {
    static_assert(Fields.contains(completion_field::wall_clock),
                  "the queue was made without completion_field::wall_clock");
    return static_cast<wall_clock_nanoseconds>(ibv_wc_read_completion_wallclock_ns(field()));
  }
  /// True when the list of a tag matching queue has to be synchronised before more can be added.
  /// Wraps: ibv_wc_read_wc_flags(3).
  [[nodiscard]] bool tag_synchronization_requested() const noexcept {
    return (ibv_wc_read_wc_flags(field()) & IBV_WC_TM_SYNC_REQ) != 0;
  }
  /// The message, when it was a receive that completed; of a tag matching queue: `receive_tagged`.
  /// Empty for a completion that failed.
  /// Wraps: ibv_wc_read_opcode(3).
  [[nodiscard]] extended_received_message<Fields> receive() const noexcept {
    return {queue_, there_ ? ibv_wc_read_opcode(queue_) : IBV_WC_SEND};
  }
  /// The message that came to a tag matching queue, with a tag or without.
  /// Wraps: ibv_wc_read_opcode(3).
  [[nodiscard]] extended_tagged_message<Fields> receive_tagged() const noexcept {
    return {queue_, there_ ? ibv_wc_read_opcode(queue_) : IBV_WC_SEND};
  }

 private:
  [[nodiscard]] ibv_cq_ex* field() const noexcept {
    detail::require_view(*queue_, there_, "completion::success()");
    return queue_;
  }

  ibv_cq_ex* queue_;
  bool there_;
};

/// The current entry of an extended completion queue: what `completion` is to a classic one, with
/// the same views, so that generic code takes either. It is valid in its turn of the loop over
/// `poll()`, and reads the queue each time it is asked. A field of which the queue was not made
/// does not compile.
template <completion_fields Fields = standard_completion_fields>
class extended_completion {
 public:
  explicit extended_completion(ibv_cq_ex* queue) noexcept : queue_{queue} {}

  /// The id that the request was given.
  [[nodiscard]] std::uint64_t id() const noexcept { return queue_->wr_id; }
  /// The same as the pointer it was given as.
  template <class T>
  [[nodiscard]] T* pointer() const noexcept {
    return reinterpret_cast<T*>(static_cast<std::uintptr_t>(queue_->wr_id));
  }
  [[nodiscard]] completion_status status() const noexcept {
    return static_cast<completion_status>(queue_->status);
  }
  /// The queue pair of the request. Wraps: ibv_wc_read_qp_num(3).
  [[nodiscard]] qp_number queue_pair() const noexcept {
    static_assert(Fields.contains(completion_field::queue_pair),
                  "the queue was made without completion_field::queue_pair");
    return static_cast<qp_number>(ibv_wc_read_qp_num(queue_));
  }
  /// The provider's own code for what went wrong. Wraps: ibv_wc_read_vendor_err(3).
  [[nodiscard]] std::uint32_t vendor_error() const noexcept {
    return ibv_wc_read_vendor_err(queue_);
  }

  /// The view of a success; false when it was none.
  [[nodiscard]] extended_successful_completion<Fields> success() const noexcept {
    return {queue_, queue_->status == IBV_WC_SUCCESS};
  }

  /// Reports a completion that is no success, with its status as the error code.
  void check(on_failure policy = throwing{}) const {
    detail::check_completion(policy, *this, [&](text_writer& writer) {
      if constexpr (Fields.contains(completion_field::queue_pair))
        writer.put("qp ").put(queue_pair()).put(" ");
    });
  }

 private:
  ibv_cq_ex* queue_;
};

}  // namespace adverb::inline ADVERB_ABI
