// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <vector>

#include <adverb/steering/esp.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The C API structs of an ESP action. They point at each other and must not move.
class native_esp {
 public:
  explicit native_esp(const esp_changes& changes);
  native_esp(const native_esp&) = delete;
  native_esp& operator=(const native_esp&) = delete;

  [[nodiscard]] ibv_flow_action_esp_attr* get() noexcept { return &native_; }

 private:
  void take(const aes_gcm_key& key, std::uint32_t integrity_check_length) noexcept;

  void take(const esp_attributes& from) noexcept;

  void take(const esp_full_offload& from) noexcept;

  ibv_flow_action_esp attributes_{};
  ibv_flow_action_esp_keymat_aes_gcm key_{};
  ibv_flow_action_esp_replay_bmp replay_{};
  std::vector<ibv_flow_action_esp_encap> headers_;
  ibv_flow_action_esp_attr native_{};
};

ADVERB_FUNC native_esp::native_esp(const esp_changes& changes)
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

ADVERB_FUNC void native_esp::take(const aes_gcm_key& key,
                                  std::uint32_t integrity_check_length) noexcept {
  key_.iv_algo = IBV_FLOW_ACTION_IV_ALGO_SEQ;
  key_.icv_len = integrity_check_length;
  std::memcpy(&key_.salt, key.salt().data(), sizeof key_.salt);
  key_.key_len = static_cast<std::uint32_t>(key.bytes().size());
  std::memcpy(key_.aes_key, key.bytes().data(), key.bytes().size());
  native_.keymat_proto = IBV_FLOW_ACTION_ESP_KEYMAT_AES_GCM;
  native_.keymat_len = sizeof key_;
  native_.keymat_ptr = &key_;
}

ADVERB_FUNC void native_esp::take(const esp_attributes& from) noexcept {
  attributes_.flags =
      static_cast<std::uint32_t>(from.direction) | static_cast<std::uint32_t>(from.mode);
  if (from.new_sequence_window) attributes_.flags |= IBV_FLOW_ACTION_ESP_FLAGS_ESN_NEW_WINDOW;
  if (from.full_offload) take(*from.full_offload);
  native_.esp_attr = &attributes_;
}

ADVERB_FUNC void native_esp::take(const esp_full_offload& from) noexcept {
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

}  // namespace adverb::inline ADVERB_ABI::detail
