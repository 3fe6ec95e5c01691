// SPDX-License-Identifier: MIT
// IPsec offload options for the packets of a security association (ESP, RFC 4303).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include <infiniband/verbs.h>

#include <adverb/steering/flow_specification.hpp>

namespace adverb::inline ADVERB_ABI {

/// An AES-GCM key for ESP (RFC 4106): 16, 24 or 32 bytes, with a salt of four.
class aes_gcm_key {
 public:
  template <std::size_t Size>
  constexpr aes_gcm_key(std::span<const std::byte, Size> key,
                        const std::array<std::byte, 4>& salt) noexcept
      : size_{Size}, salt_{salt} {
    static_assert(Size == 16 || Size == 24 || Size == 32,
                  "a key of AES has 16, 24 or 32 bytes, and its span says how many");
    if constexpr (Size <= 32)
      for (std::size_t index = 0; index < Size; ++index) bytes_[index] = key[index];
  }
  template <std::size_t Size>
  constexpr aes_gcm_key(const std::array<std::byte, Size>& key,
                        const std::array<std::byte, 4>& salt) noexcept
      : aes_gcm_key{std::span{key}, salt} {}

  [[nodiscard]] constexpr std::span<const std::byte> bytes() const noexcept {
    return {bytes_.data(), size_};
  }
  [[nodiscard]] constexpr const std::array<std::byte, 4>& salt() const noexcept { return salt_; }

 private:
  std::array<std::byte, 32> bytes_{};
  std::size_t size_;
  std::array<std::byte, 4> salt_;
};

enum class esp_direction : std::uint32_t {
  decrypt = IBV_FLOW_ACTION_ESP_FLAGS_DECRYPT,
  encrypt = IBV_FLOW_ACTION_ESP_FLAGS_ENCRYPT,
};

enum class esp_mode : std::uint32_t {
  /// ESP carries whole IP packets.
  tunnel = IBV_FLOW_ACTION_ESP_FLAGS_TUNNEL,
  /// ESP carries the payload of IP packets.
  transport = IBV_FLOW_ACTION_ESP_FLAGS_TRANSPORT,
};

/// The attributes for adding and removing the ESP header and trailer in the device.
struct esp_full_offload {
  std::uint32_t security_parameters_index = 0;
  /// The low half of the first sequence number.
  std::uint32_t sequence_number = 0;
  /// The initialization vector of the first packet. Must never repeat with the same key. It is set
  /// together with the key; changing only the attributes keeps it.
  std::array<std::byte, 8> initialization_vector{};
  /// Padding against traffic analysis, in bytes.
  std::uint32_t traffic_flow_padding = 0;
  /// The number of packets after which the association expires; 0 for no limit.
  std::uint64_t hard_limit_packets = 0;
  /// The number of sequence numbers by which a packet may be late (bits of the replay bitmap).
  /// Without it there is no replay protection.
  std::optional<std::uint32_t> replay_window{};
  /// The headers around ESP in tunnel mode, in order: matches, of which only the values count. Read
  /// during the call only.
  std::span<const flow_specification> tunnel_headers{};
};

struct esp_attributes {
  esp_direction direction = esp_direction::decrypt;
  esp_mode mode = esp_mode::tunnel;
  /// True if the bottom of the replay window is in the upper half of the sequence numbers. For
  /// extended sequence numbers without full offload.
  bool new_sequence_window = false;
  /// Without it the program writes and reads the ESP header, and the device only encrypts or
  /// decrypts (inline crypto).
  std::optional<esp_full_offload> full_offload{};
};

/// Options for creating an ESP flow action.
struct esp_options {
  aes_gcm_key key;
  /// The length of the integrity check value, in bytes: 8, 12 or 16 (RFC 4106).
  std::uint32_t integrity_check_length = 16;
  esp_attributes attributes{};
  /// The high half of 64-bit sequence numbers. With inline crypto, update it with `modify` every
  /// 2^31 packets.
  std::optional<std::uint32_t> extended_sequence_number{};
};

/// Changes to an ESP flow action. Omitted members keep their values.
struct esp_changes {
  std::optional<aes_gcm_key> key{};
  /// Applies together with the key.
  std::uint32_t integrity_check_length = 16;
  std::optional<esp_attributes> attributes{};
  std::optional<std::uint32_t> extended_sequence_number{};
};

namespace detail {

/// The C API structs of an ESP action. They point at each other and must not move.
class native_esp {
 public:
  explicit native_esp(const esp_changes& changes)
      : headers_(changes.attributes && changes.attributes->full_offload
                     ? changes.attributes->full_offload->tunnel_headers.size()
                     : 0) {
    if (changes.extended_sequence_number) {
      native_.comp_mask = IBV_FLOW_ACTION_ESP_MASK_ESN;
      native_.esn = *changes.extended_sequence_number;
    }
    if (changes.attributes) take(*changes.attributes);
    if (changes.key) take(*changes.key, changes.integrity_check_length);
  }
  native_esp(const native_esp&) = delete;
  native_esp& operator=(const native_esp&) = delete;

  [[nodiscard]] ibv_flow_action_esp_attr* get() noexcept { return &native_; }

 private:
  void take(const aes_gcm_key& key, std::uint32_t integrity_check_length) noexcept {
    key_.iv_algo = IBV_FLOW_ACTION_IV_ALGO_SEQ;
    key_.icv_len = integrity_check_length;
    std::memcpy(&key_.salt, key.salt().data(), sizeof key_.salt);
    key_.key_len = static_cast<std::uint32_t>(key.bytes().size());
    std::memcpy(key_.aes_key, key.bytes().data(), key.bytes().size());
    native_.keymat_proto = IBV_FLOW_ACTION_ESP_KEYMAT_AES_GCM;
    native_.keymat_len = sizeof key_;
    native_.keymat_ptr = &key_;
  }

  void take(const esp_attributes& from) noexcept {
    attributes_.flags =
        static_cast<std::uint32_t>(from.direction) | static_cast<std::uint32_t>(from.mode);
    if (from.new_sequence_window) attributes_.flags |= IBV_FLOW_ACTION_ESP_FLAGS_ESN_NEW_WINDOW;
    if (from.full_offload) take(*from.full_offload);
    native_.esp_attr = &attributes_;
  }

  void take(const esp_full_offload& from) noexcept {
    attributes_.flags |= IBV_FLOW_ACTION_ESP_FLAGS_FULL_OFFLOAD;
    attributes_.spi = from.security_parameters_index;
    attributes_.seq = from.sequence_number;
    attributes_.tfc_pad = from.traffic_flow_padding;
    attributes_.hard_limit_pkts = from.hard_limit_packets;
    std::memcpy(&key_.iv, from.initialization_vector.data(), sizeof key_.iv);
    if (from.replay_window) {
      replay_.size = *from.replay_window;
      native_.replay_proto = IBV_FLOW_ACTION_ESP_REPLAY_BMP;
      native_.replay_len = sizeof replay_;
      native_.replay_ptr = &replay_;
    }
    for (std::size_t index = 0; index < headers_.size(); ++index) {
      const std::span<const std::byte> values = from.tunnel_headers[index].values();
      // The C functions do not modify it.
      headers_[index].val_ptr = const_cast<std::byte*>(values.data());
      headers_[index].len = static_cast<std::uint16_t>(values.size());
      headers_[index].type = static_cast<std::uint16_t>(from.tunnel_headers[index].type());
      headers_[index].next_ptr = index + 1 < headers_.size() ? &headers_[index + 1] : nullptr;
    }
    if (!headers_.empty()) native_.esp_encap = headers_.data();
  }

  ibv_flow_action_esp attributes_{};
  ibv_flow_action_esp_keymat_aes_gcm key_{};
  ibv_flow_action_esp_replay_bmp replay_{};
  std::vector<ibv_flow_action_esp_encap> headers_;
  ibv_flow_action_esp_attr native_{};
};

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI
