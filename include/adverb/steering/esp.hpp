// SPDX-License-Identifier: MIT
// IPsec offload options for the packets of a security association (ESP, RFC 4303).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <infiniband/verbs.h>

#include <adverb/steering/flow_specification.hpp>

namespace adverb::inline ADVERB_ABI {

/// An AES-GCM key for ESP (RFC 4106): 16, 24 or 32 bytes, with a salt of four.
class aes_gcm_key {
 public:
  /// Copies a key and its salt.
  template <std::size_t Size>
  constexpr aes_gcm_key(std::span<const std::byte, Size> key,
                        const std::array<std::byte, 4>& salt) noexcept
      : size_{Size}, salt_{salt} {
    static_assert(
        Size == 16 || Size == 24 || Size == 32,
        "an AES key has 16, 24 or 32 bytes: pass a std::array or a std::span of fixed size");
    if constexpr (Size <= 32)
      for (std::size_t index = 0; index < Size; ++index) bytes_[index] = key[index];
  }
  template <std::size_t Size>
  constexpr aes_gcm_key(const std::array<std::byte, Size>& key,
                        const std::array<std::byte, 4>& salt) noexcept
      : aes_gcm_key{std::span{key}, salt} {}

  /// Returns the bytes of the key.
  [[nodiscard]] constexpr std::span<const std::byte> bytes() const noexcept {
    return {bytes_.data(), size_};
  }
  /// Returns the salt.
  [[nodiscard]] constexpr const std::array<std::byte, 4>& salt() const noexcept { return salt_; }

 private:
  std::array<std::byte, 32> bytes_{};
  std::size_t size_;
  std::array<std::byte, 4> salt_;
};

/// The directions of ESP: packets are decrypted or encrypted.
enum class esp_direction : std::uint32_t {
  decrypt = IBV_FLOW_ACTION_ESP_FLAGS_DECRYPT,
  encrypt = IBV_FLOW_ACTION_ESP_FLAGS_ENCRYPT,
};

/// The part of a packet that ESP carries.
enum class esp_mode : std::uint32_t {
  /// ESP carries whole IP packets.
  tunnel = IBV_FLOW_ACTION_ESP_FLAGS_TUNNEL,
  /// ESP carries the payload of IP packets.
  transport = IBV_FLOW_ACTION_ESP_FLAGS_TRANSPORT,
};

/// The attributes for adding and removing the ESP header and trailer in the device.
struct esp_full_offload {
  /// The index that identifies the security association.
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

/// The attributes of an ESP flow action.
struct esp_attributes {
  /// Selects whether packets are decrypted or encrypted.
  esp_direction direction = esp_direction::decrypt;
  /// The part of a packet that ESP carries.
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
  /// The key and its salt.
  aes_gcm_key key;
  /// The length of the integrity check value, in bytes: 8, 12 or 16 (RFC 4106).
  std::uint32_t integrity_check_length = 16;
  /// The attributes of the action.
  esp_attributes attributes{};
  /// The high half of 64-bit sequence numbers. Inline crypto needs an update with `modify`
  /// every 2^31 packets.
  std::optional<std::uint32_t> extended_sequence_number{};
};

/// Changes to an ESP flow action. Omitted members keep their values.
struct esp_changes {
  /// The new key and its salt.
  std::optional<aes_gcm_key> key{};
  /// Applies together with the key.
  std::uint32_t integrity_check_length = 16;
  /// The new attributes.
  std::optional<esp_attributes> attributes{};
  /// The new high half of 64-bit sequence numbers.
  std::optional<std::uint32_t> extended_sequence_number{};
};

}  // namespace adverb::inline ADVERB_ABI
