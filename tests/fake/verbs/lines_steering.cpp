// SPDX-License-Identifier: MIT
// The lines of flows, flow actions and counters.
#include <algorithm>
#include <cstring>

#include "../calls.hpp"
#include "../render.hpp"

namespace fake::called {

namespace {

/// A C struct at the start of these bytes.
template <class Native>
Native read(const std::byte* bytes) {
  Native native;
  std::memcpy(&native, bytes, sizeof native);
  return native;
}

std::string type_name(unsigned type) {
  const std::string name = enumerator(type & ~unsigned{IBV_FLOW_SPEC_INNER},
                                      {{IBV_FLOW_SPEC_ETH, "ETH"},
                                       {IBV_FLOW_SPEC_IPV4, "IPV4"},
                                       {IBV_FLOW_SPEC_IPV6, "IPV6"},
                                       {IBV_FLOW_SPEC_IPV4_EXT, "IPV4_EXT"},
                                       {IBV_FLOW_SPEC_ESP, "ESP"},
                                       {IBV_FLOW_SPEC_TCP, "TCP"},
                                       {IBV_FLOW_SPEC_UDP, "UDP"},
                                       {IBV_FLOW_SPEC_VXLAN_TUNNEL, "VXLAN_TUNNEL"},
                                       {IBV_FLOW_SPEC_GRE, "GRE"},
                                       {IBV_FLOW_SPEC_MPLS, "MPLS"},
                                       {IBV_FLOW_SPEC_ACTION_TAG, "ACTION_TAG"},
                                       {IBV_FLOW_SPEC_ACTION_DROP, "ACTION_DROP"},
                                       {IBV_FLOW_SPEC_ACTION_HANDLE, "ACTION_HANDLE"},
                                       {IBV_FLOW_SPEC_ACTION_COUNT, "ACTION_COUNT"}})
                               .text;
  return ((type & IBV_FLOW_SPEC_INNER) != 0 ? "INNER|" : "") + name;
}

/// "TYPE(size)" and what it holds: the bytes, or the name of an object, or the number of a tag.
std::string specification(const std::byte* bytes, unsigned type, std::size_t size) {
  fields text{type_name(type) + "(" + std::to_string(size) + ")"};
  switch (type) {
    case IBV_FLOW_SPEC_ACTION_TAG:
      text.add("tag_id", hex(read<ibv_flow_spec_action_tag>(bytes).tag_id));
      break;
    case IBV_FLOW_SPEC_ACTION_HANDLE:
      text.object(read<ibv_flow_spec_action_handle>(bytes).action);
      break;
    case IBV_FLOW_SPEC_ACTION_COUNT:
      text.object(read<ibv_flow_spec_counter_action>(bytes).counters);
      break;
    default: text.word(hex_bytes(bytes + 6, size - 6)); return text.text();
  }
  // Between the size and what is at the next address that is aligned.
  text.add_or_stray(false, "padding", {{}, bytes[6] == std::byte{0} && bytes[7] == std::byte{0}});
  return text.text();
}

/// All specifications, as libibverbs walks them: each begins where the one before ends by its size.
std::string specifications(const std::vector<std::byte>& bytes, unsigned count) {
  std::string text;
  std::size_t position = sizeof(ibv_flow_attr);
  for (unsigned index = 0; index < count; ++index) {
    decltype(ibv_flow_spec::hdr) header{};
    if (position + sizeof header > bytes.size()) return text + " (beyond the size)";
    std::memcpy(&header, bytes.data() + position, sizeof header);
    if (header.size < 6 || position + header.size > bytes.size())
      return text + " (beyond the size)";
    text += (index == 0 ? ": " : "; ") +
            specification(bytes.data() + position, header.type, header.size);
    position += header.size;
  }
  return position == bytes.size() ? text : text + " (and more bytes)";
}

shown show(const ibv_flow_action_esp& attributes) {
  const shown flags =
      bits(attributes.flags, {{IBV_FLOW_ACTION_ESP_FLAGS_FULL_OFFLOAD, "FULL_OFFLOAD"},
                              {IBV_FLOW_ACTION_ESP_FLAGS_TRANSPORT, "TRANSPORT"},
                              {IBV_FLOW_ACTION_ESP_FLAGS_ENCRYPT, "ENCRYPT"},
                              {IBV_FLOW_ACTION_ESP_FLAGS_ESN_NEW_WINDOW, "ESN_NEW_WINDOW"}});
  return fields{}
      .add("spi", hex(attributes.spi))
      .add_unless_zero("seq", attributes.seq)
      .add_unless_zero("tfc_pad", attributes.tfc_pad)
      .add_unless_zero("flags", flags)
      .add_unless_zero("hard_limit_pkts", attributes.hard_limit_pkts)
      .in_braces();
}

/// A key, if it is of the one protocol that there is, and as long as its struct.
shown key_of(const esp& given) {
  using native = ibv_flow_action_esp_keymat_aes_gcm;
  if (given.key_protocol != IBV_FLOW_ACTION_ESP_KEYMAT_AES_GCM ||
      given.key.size() != sizeof(native))
    return {"{not AES_GCM}", false};
  const auto key = read<native>(given.key.data());
  const std::size_t length = std::min<std::size_t>(key.key_len, sizeof key.aes_key);
  const bool is_filled_with_zero =
      std::all_of(reinterpret_cast<const unsigned char*>(&key.aes_key) + length,
                  reinterpret_cast<const unsigned char*>(&key.aes_key) + sizeof key.aes_key,
                  [](unsigned char byte) { return byte == 0; });
  return fields{"AES_GCM"}
      .add("iv", {hex_bytes(&key.iv, sizeof key.iv), false})
      .add("iv_algo", enumerator(key.iv_algo, {{IBV_FLOW_ACTION_IV_ALGO_SEQ, "SEQ"}}))
      .add("salt", {hex_bytes(&key.salt, sizeof key.salt), false})
      .add("icv_len", key.icv_len)
      .add("key", {hex_bytes(&key.aes_key, length), false})
      .add_or_stray(false, "key", {{}, is_filled_with_zero})
      .in_braces();
}

shown replay_of(const esp& given) {
  using native = ibv_flow_action_esp_replay_bmp;
  if (given.replay_protocol != IBV_FLOW_ACTION_ESP_REPLAY_BMP ||
      given.replay.size() != sizeof(native))
    return {"{not BMP}", false};
  return fields{"BMP"}.add("size", read<native>(given.replay.data()).size).in_braces();
}

void add(fields& text, const esp& given) {
  if (given.attributes) text.add("esp_attr", show(*given.attributes));
  if (!given.key.empty()) text.add("keymat", key_of(given));
  if (!given.replay.empty() || given.replay_protocol != IBV_FLOW_ACTION_ESP_REPLAY_NONE)
    text.add("replay", replay_of(given));
  for (const esp::header& each : given.headers)
    text.add("encap",
             {type_name(each.type) + "(" + hex_bytes(each.values.data(), each.values.size()) + ")",
              false});
  text.add_or_stray((given.comp_mask & IBV_FLOW_ACTION_ESP_MASK_ESN) != 0, "esn",
                    hex(given.extended_sequence_number))
      .unknown_bits(given.comp_mask, IBV_FLOW_ACTION_ESP_MASK_ESN);
}

}  // namespace

std::string create_flow::line() const {
  return fields{"ibv_create_flow"}
             .object(pair)
             .add("type", enumerator(attributes.type, {{IBV_FLOW_ATTR_NORMAL, "NORMAL"},
                                                       {IBV_FLOW_ATTR_ALL_DEFAULT, "ALL_DEFAULT"},
                                                       {IBV_FLOW_ATTR_MC_DEFAULT, "MC_DEFAULT"},
                                                       {IBV_FLOW_ATTR_SNIFFER, "SNIFFER"}}))
             .add_unless_zero("priority", attributes.priority)
             .add("port", attributes.port)
             .add_unless_zero("flags",
                              bits(attributes.flags, {{IBV_FLOW_ATTR_FLAGS_DONT_TRAP, "DONT_TRAP"},
                                                      {IBV_FLOW_ATTR_FLAGS_EGRESS, "EGRESS"}}))
             .add_unless_zero("comp_mask", hex(attributes.comp_mask))
             .text() +
         specifications(bytes, attributes.num_of_specs);
}
std::string destroy_flow::line() const { return fields{"ibv_destroy_flow"}.object(flow).text(); }
std::string create_flow_action_esp::line() const {
  fields text{"ibv_create_flow_action_esp"};
  add(text.object(context), given);
  return text.text();
}
std::string modify_flow_action_esp::line() const {
  fields text{"ibv_modify_flow_action_esp"};
  add(text.object(action), given);
  return text.text();
}
std::string destroy_flow_action::line() const {
  return fields{"ibv_destroy_flow_action"}.object(action).text();
}
std::string create_counters::line() const {
  return fields{"ibv_create_counters"}
      .object(context)
      .add_unless_zero("comp_mask", hex(comp_mask))
      .text();
}
std::string attach_counters_point_flow::line() const {
  return fields{"ibv_attach_counters_point_flow"}
      .object(counters)
      .add("counter_desc", enumerator(attributes.counter_desc, {{IBV_COUNTER_PACKETS, "PACKETS"},
                                                                {IBV_COUNTER_BYTES, "BYTES"}}))
      .add("index", attributes.index)
      .add_unless_zero("comp_mask", hex(attributes.comp_mask))
      .object(flow)
      .text();
}
std::string read_counters::line() const {
  return fields{"ibv_read_counters"}
      .object(counters)
      .add("ncounters", count)
      .add_unless_zero("flags",
                       bits(flags, {{IBV_READ_COUNTERS_ATTR_PREFER_CACHED, "PREFER_CACHED"}}))
      .text();
}
std::string destroy_counters::line() const {
  return fields{"ibv_destroy_counters"}.object(counters).text();
}

}  // namespace fake::called
