// SPDX-License-Identifier: MIT
// Completions of an extended queue: views of its current entry that read each field on access.
#pragma once

#include <cstdint>
#include <optional>

#include <infiniband/verbs.h>

#include <adverb/completion/completion.hpp>
#include <adverb/completion/completion_field.hpp>
#include <adverb/completion/completion_opcode.hpp>
#include <adverb/completion/status.hpp>
#include <adverb/core/detail/byte_order.hpp>
#include <adverb/core/detail/narrowed.hpp>
#include <adverb/core/error.hpp>
#include <adverb/core/ids.hpp>

namespace adverb::inline ADVERB_ABI {

/// The fields that only the completion of a receive has. Valid as long as its completion.
template <completion_fields Fields>
class extended_received_message {
 public:
  /// Views the current completion of a queue of the C API.
  extended_received_message(ibv_cq_ex* queue, ibv_wc_opcode opcode) noexcept
      : queue_{queue}, opcode_{opcode} {}
  [[nodiscard]] explicit operator bool() const noexcept {
    return detail::completes_receive(opcode_);
  }

  /// Returns the length in bytes. For datagrams (UD) it includes the 40 bytes of the GRH area at
  /// the start of the buffer, with or without a GRH. Wraps: ibv_wc_read_byte_len(3).
  [[nodiscard]] std::uint32_t length() const noexcept {
    static_assert(Fields.contains(completion_field::byte_length),
                  "the queue was created without completion_field::byte_length");
    return ibv_wc_read_byte_len(field());
  }
  /// Returns the immediate data in host byte order, if the sender sent any.
  /// Wraps: ibv_wc_read_imm_data(3), ibv_wc_read_wc_flags(3).
  [[nodiscard]] std::optional<adverb::immediate> immediate() const noexcept {
    static_assert(Fields.contains(completion_field::immediate),
                  "the queue was created without completion_field::immediate");
    if (!has(IBV_WC_WITH_IMM)) return std::nullopt;
    return static_cast<adverb::immediate>(
        detail::swap_network_order(ibv_wc_read_imm_data(field())));
  }
  /// Returns the local key that the sender invalidated (send with invalidate), if any.
  /// Wraps: ibv_wc_read_invalidated_rkey(3), ibv_wc_read_wc_flags(3).
  [[nodiscard]] std::optional<rkey> invalidated_key() const noexcept {
    static_assert(Fields.contains(completion_field::immediate),
                  "the queue was created without completion_field::immediate, which includes the "
                  "invalidated key");
    if (!has(IBV_WC_WITH_INV)) return std::nullopt;
    return static_cast<rkey>(ibv_wc_read_invalidated_rkey(field()));
  }
  /// Returns true for a peer's write with immediate, which brings no data to this receive. `length`
  /// is then the length of the written memory.
  [[nodiscard]] bool announces_write() const noexcept {
    return opcode_ == IBV_WC_RECV_RDMA_WITH_IMM;
  }
  /// Returns true if the device verified the checksums of IP and of TCP or UDP (IPv4 packets, and
  /// only on devices that support this). False does not mean that a checksum is wrong.
  /// Wraps: ibv_wc_read_wc_flags(3).
  [[nodiscard]] bool ip_checksum_ok() const noexcept { return has(IBV_WC_IP_CSUM_OK); }
  /// Returns the VLAN tag of the packet. Wraps: ibv_wc_read_cvlan(3).
  [[nodiscard]] vlan_tag vlan() const noexcept {
    static_assert(Fields.contains(completion_field::vlan),
                  "the queue was created without completion_field::vlan");
    return static_cast<vlan_tag>(ibv_wc_read_cvlan(field()));
  }
  /// Returns the tag of the flow rule that steered the packet here. Wraps: ibv_wc_read_flow_tag(3).
  [[nodiscard]] adverb::flow_tag flow_tag() const noexcept {
    static_assert(Fields.contains(completion_field::flow_tag),
                  "the queue was created without completion_field::flow_tag");
    return static_cast<adverb::flow_tag>(ibv_wc_read_flow_tag(field()));
  }

  // Datagrams (UD) only:
  /// Returns the queue pair of the sender. Wraps: ibv_wc_read_src_qp(3).
  [[nodiscard]] qp_number source_queue_pair() const noexcept {
    static_assert(Fields.contains(completion_field::source_queue_pair),
                  "the queue was created without completion_field::source_queue_pair");
    return static_cast<qp_number>(ibv_wc_read_src_qp(field()));
  }
  /// Returns true if the first 40 bytes of the buffer hold the GRH of the datagram.
  /// Wraps: ibv_wc_read_wc_flags(3).
  [[nodiscard]] bool has_grh() const noexcept { return has(IBV_WC_GRH); }
  /// Returns the LID of the sender. Wraps: ibv_wc_read_slid(3).
  [[nodiscard]] lid source_lid() const noexcept {
    static_assert(Fields.contains(completion_field::source_lid),
                  "the queue was created without completion_field::source_lid");
    return static_cast<lid>(ibv_wc_read_slid(field()));
  }
  /// Returns the service level of the datagram. Wraps: ibv_wc_read_sl(3).
  [[nodiscard]] adverb::service_level service_level() const noexcept {
    static_assert(Fields.contains(completion_field::service_level),
                  "the queue was created without completion_field::service_level");
    return static_cast<adverb::service_level>(ibv_wc_read_sl(field()));
  }
  /// Returns the path bits of the local LID. Wraps: ibv_wc_read_dlid_path_bits(3).
  [[nodiscard]] std::uint8_t path_bits() const noexcept {
    static_assert(Fields.contains(completion_field::path_bits),
                  "the queue was created without completion_field::path_bits");
    return ibv_wc_read_dlid_path_bits(field());
  }

 protected:
  [[nodiscard]] bool has(unsigned flag) const noexcept {
    return (ibv_wc_read_wc_flags(field()) & flag) != 0;
  }

  /// Returns the queue for reading a field that only a message has.
  [[nodiscard]] ibv_cq_ex* field() const noexcept {
    const bool there =
        detail::completes_receive(opcode_) || detail::completes_tagged_receive(opcode_);
    detail::require_view(*queue_, there, "completion::success().receive()");
    return queue_;
  }

  // The opcode shows whether there is a message. A queue pointer that is null without one would be
  // tested again at each read.
  ibv_cq_ex* queue_;
  ibv_wc_opcode opcode_;
};

/// The additional fields of a message to a tag matching queue.
template <completion_fields Fields>
class extended_tagged_message : public extended_received_message<Fields> {
 public:
  using extended_received_message<Fields>::extended_received_message;
  [[nodiscard]] explicit operator bool() const noexcept {
    return detail::completes_tagged_receive(this->opcode_);
  }

  /// Returns the tag of the message. Wraps: ibv_wc_read_tm_info(3).
  [[nodiscard]] matched_tag tag() const noexcept {
    static_assert(Fields.contains(completion_field::tag_matching),
                  "the queue was created without completion_field::tag_matching");
    ibv_wc_tm_info info{};
    ibv_wc_read_tm_info(this->field(), &info);
    return {info.tag, info.priv};
  }
  /// Returns true if a posted tag matched. Wraps: ibv_wc_read_wc_flags(3).
  [[nodiscard]] bool tag_matched() const noexcept { return this->has(IBV_WC_TM_MATCH); }
  /// Returns true if all data of the message is there. Wraps: ibv_wc_read_wc_flags(3).
  [[nodiscard]] bool tag_data_valid() const noexcept { return this->has(IBV_WC_TM_DATA_VALID); }
};

/// The fields that only a successful completion has. Valid as long as its completion.
template <completion_fields Fields>
class extended_successful_completion {
 public:
  /// Views the current completion of a queue of the C API.
  extended_successful_completion(ibv_cq_ex* queue, bool there) noexcept
      : queue_{queue}, there_{there} {}
  [[nodiscard]] explicit operator bool() const noexcept { return there_; }

  /// Returns the completed operation. Wraps: ibv_wc_read_opcode(3).
  [[nodiscard]] completion_opcode opcode() const noexcept {
    return static_cast<completion_opcode>(ibv_wc_read_opcode(field()));
  }
  /// Returns the number of bytes that a read or atomic returned. Wraps: ibv_wc_read_byte_len(3).
  [[nodiscard]] std::uint32_t length() const noexcept {
    return extended_received_message<Fields>{field(), IBV_WC_RECV}.length();
  }
  /// Returns the completion time in ticks of the device's clock.
  /// Wraps: ibv_wc_read_completion_ts(3).
  [[nodiscard]] device_ticks timestamp() const noexcept {
    static_assert(Fields.contains(completion_field::timestamp),
                  "the queue was created without completion_field::timestamp");
    return static_cast<device_ticks>(ibv_wc_read_completion_ts(field()));
  }
  /// Returns the completion time in nanoseconds since 1970.
  /// Wraps: ibv_wc_read_completion_wallclock_ns(3).
  [[nodiscard]] wall_clock_nanoseconds wall_clock() const noexcept {
    static_assert(Fields.contains(completion_field::wall_clock),
                  "the queue was created without completion_field::wall_clock");
    return static_cast<wall_clock_nanoseconds>(ibv_wc_read_completion_wallclock_ns(field()));
  }
  /// Returns true if the list of a tag matching queue must be synchronised before the next
  /// addition. Wraps: ibv_wc_read_wc_flags(3).
  [[nodiscard]] bool tag_synchronization_requested() const noexcept {
    return (ibv_wc_read_wc_flags(field()) & IBV_WC_TM_SYNC_REQ) != 0;
  }
  /// Returns the received message if a receive completed, otherwise or after a failure an empty
  /// view. For a tag matching queue use `receive_tagged`. Wraps: ibv_wc_read_opcode(3).
  [[nodiscard]] extended_received_message<Fields> receive() const noexcept {
    return {queue_, there_ ? ibv_wc_read_opcode(queue_) : IBV_WC_SEND};
  }
  /// Returns the message to a tag matching queue, with or without a tag.
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

/// The current entry of an extended completion queue. It corresponds to `completion` of a classic
/// queue and has the same views, so that generic code takes either. It is valid in its iteration of
/// the loop over `poll()`, and each access reads the queue. Reading a field that the queue was not
/// created with is a compile error.
template <completion_fields Fields = standard_completion_fields>
class extended_completion {
 public:
  /// Views the current completion of a queue of the C API.
  explicit extended_completion(ibv_cq_ex* queue) noexcept : queue_{queue} {}

  /// Returns the id of the request.
  [[nodiscard]] std::uint64_t id() const noexcept { return queue_->wr_id; }
  /// Returns the id as the pointer that was set.
  template <class T>
  [[nodiscard]] T* pointer() const noexcept {
    return reinterpret_cast<T*>(detail::narrowed<std::uintptr_t>(queue_->wr_id));
  }
  /// Returns the status.
  [[nodiscard]] completion_status status() const noexcept {
    return static_cast<completion_status>(queue_->status);
  }
  /// Returns the queue pair of the request. Wraps: ibv_wc_read_qp_num(3).
  [[nodiscard]] qp_number queue_pair() const noexcept {
    static_assert(Fields.contains(completion_field::queue_pair),
                  "the queue was created without completion_field::queue_pair");
    return static_cast<qp_number>(ibv_wc_read_qp_num(queue_));
  }
  /// Returns the provider's own error code. Wraps: ibv_wc_read_vendor_err(3).
  [[nodiscard]] std::uint32_t vendor_error() const noexcept {
    return ibv_wc_read_vendor_err(queue_);
  }

  /// Returns a view of the fields after success, which is false after a failure.
  [[nodiscard]] extended_successful_completion<Fields> success() const noexcept {
    return {queue_, queue_->status == IBV_WC_SUCCESS};
  }

  /// Fails if the completion is no success, with its status as the error code.
  void check(on_failure policy = throwing{}) const {
    detail::check_completion<extended_completion>(
        policy, *this, [](text_writer& writer, extended_completion failed) {
          if constexpr (Fields.contains(completion_field::queue_pair))
            writer.put("qp ").put(failed.queue_pair()).put(" ");
        });
  }

 private:
  ibv_cq_ex* queue_;
};

}  // namespace adverb::inline ADVERB_ABI
