// SPDX-License-Identifier: MIT
// Flows, flow actions and counters.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "state.hpp"

namespace fake {
namespace {

template <class Native>
Native read(const void* bytes) {
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
/// The specifications of a rule, whose bytes begin with its attributes.
std::string specifications(const std::vector<std::byte>& bytes, unsigned count) {
  std::string text;
  std::size_t position = sizeof(ibv_flow_attr);
  for (unsigned index = 0; index < count; ++index) {
    decltype(ibv_flow_spec::hdr) header{};
    if (position + sizeof header > bytes.size()) return text + " (beyond the size)";
    std::memcpy(&header, bytes.data() + position, sizeof header);
    if (header.size < 6 || position + header.size > bytes.size())
      return text + " (beyond the size)";
    text += (text.empty() ? "" : "; ") +
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
shown key_of(const ibv_flow_action_esp_attr& given) {
  using native = ibv_flow_action_esp_keymat_aes_gcm;
  if (given.keymat_proto != IBV_FLOW_ACTION_ESP_KEYMAT_AES_GCM ||
      given.keymat_len != sizeof(native))
    return {"{not AES_GCM}", false};
  const auto key = read<native>(given.keymat_ptr);
  const std::size_t length = std::min<std::size_t>(key.key_len, sizeof key.aes_key);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&key.aes_key);
  const bool is_filled_with_zero = std::all_of(bytes + length, bytes + sizeof key.aes_key,
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

shown replay_of(const ibv_flow_action_esp_attr& given) {
  using native = ibv_flow_action_esp_replay_bmp;
  if (given.replay_proto != IBV_FLOW_ACTION_ESP_REPLAY_BMP || given.replay_len != sizeof(native))
    return {"{not BMP}", false};
  return fields{"BMP"}.add("size", read<native>(given.replay_ptr).size).in_braces();
}

/// The object, and what an ESP action is given.
fields about_esp(const void* object, const ibv_flow_action_esp_attr& given) {
  fields text = about(object);
  if (given.esp_attr != nullptr) text.add("esp_attr", show(*given.esp_attr));
  if (given.keymat_ptr != nullptr && given.keymat_len != 0) text.add("keymat", key_of(given));
  if ((given.replay_ptr != nullptr && given.replay_len != 0) ||
      given.replay_proto != IBV_FLOW_ACTION_ESP_REPLAY_NONE)
    text.add("replay", replay_of(given));
  for (const auto* each = given.esp_encap; each != nullptr; each = each->next_ptr)
    text.add("encap",
             {type_name(each->type) + "(" + hex_bytes(each->val_ptr, each->len) + ")", false});
  return text
      .add_or_stray((given.comp_mask & IBV_FLOW_ACTION_ESP_MASK_ESN) != 0, "esn", hex(given.esn))
      .unknown_bits(given.comp_mask, IBV_FLOW_ACTION_ESP_MASK_ESN);
}

ibv_flow* create_flow(ibv_qp* pair, ibv_flow_attr* rule) {
  const auto* const first = reinterpret_cast<const std::byte*>(rule);
  std::vector<std::byte> bytes{first, first + rule->size};
  // Between the port and the flags the C struct has padding, in which anything may stand.
  constexpr std::size_t padding = offsetof(ibv_flow_attr, port) + sizeof rule->port;
  for (std::size_t index = padding; index < offsetof(ibv_flow_attr, flags); ++index)
    bytes[index] = std::byte{0};
  if (refused<called::create_flow>(
          about(pair)
              .add("type", enumerator(rule->type, {{IBV_FLOW_ATTR_NORMAL, "NORMAL"},
                                                   {IBV_FLOW_ATTR_ALL_DEFAULT, "ALL_DEFAULT"},
                                                   {IBV_FLOW_ATTR_MC_DEFAULT, "MC_DEFAULT"},
                                                   {IBV_FLOW_ATTR_SNIFFER, "SNIFFER"}}))
              .add_unless_zero("priority", rule->priority)
              .add("port", rule->port)
              .add_unless_zero("flags",
                               bits(rule->flags, {{IBV_FLOW_ATTR_FLAGS_DONT_TRAP, "DONT_TRAP"},
                                                  {IBV_FLOW_ATTR_FLAGS_EGRESS, "EGRESS"}}))
              .add_unless_zero("comp_mask", hex(rule->comp_mask))
              .list(specifications(bytes, rule->num_of_specs))))
    return nullptr;
  machine::state& state = current().internals();
  auto made = std::make_unique<ibv_flow>(ibv_flow{0, pair->context, ++state.last_handle});
  ibv_flow* const native = made.get();
  state.flows.add(std::move(made), native);
  return native;
}

int destroy_flow(ibv_flow* flow) {
  if (const int error = errno_of<called::destroy_flow>(about(flow))) return error;
  current().internals().flows.remove(flow);
  return 0;
}

ibv_flow_action* create_flow_action_esp(ibv_context* context, ibv_flow_action_esp_attr* given) {
  if (refused<called::create_flow_action_esp>(about_esp(context, *given))) return nullptr;
  auto made = std::make_unique<ibv_flow_action>(ibv_flow_action{context});
  ibv_flow_action* const native = made.get();
  current().internals().flow_actions.add(std::move(made), native);
  return native;
}

int modify_flow_action_esp(ibv_flow_action* action, ibv_flow_action_esp_attr* given) {
  return errno_of<called::modify_flow_action_esp>(about_esp(action, *given));
}

int destroy_flow_action(ibv_flow_action* action) {
  if (const int error = errno_of<called::destroy_flow_action>(about(action))) return error;
  current().internals().flow_actions.remove(action);
  return 0;
}

ibv_counters* create_counters(ibv_context* context, ibv_counters_init_attr* attributes) {
  if (refused<called::create_counters>(
          about(context).add_unless_zero("comp_mask", hex(attributes->comp_mask))))
    return nullptr;
  auto made = std::make_unique<counter_set>(counter_set{{context}, {}});
  ibv_counters* const native = &made->native;
  current().internals().counters.add(std::move(made), native);
  return native;
}

int attach_counters_point_flow(ibv_counters* counters, ibv_counter_attach_attr* attributes,
                               ibv_flow* flow) {
  return errno_of<called::attach_counters_point_flow>(
      about(counters)
          .add("counter_desc",
               enumerator(attributes->counter_desc,
                          {{IBV_COUNTER_PACKETS, "PACKETS"}, {IBV_COUNTER_BYTES, "BYTES"}}))
          .add("index", attributes->index)
          .add_unless_zero("comp_mask", hex(attributes->comp_mask))
          .object(flow));
}

int read_counters(ibv_counters* counters, std::uint64_t* values, std::uint32_t count,
                  std::uint32_t flags) {
  if (const int error = errno_of<called::read_counters>(
          about(counters)
              .add("ncounters", count)
              .add_unless_zero(
                  "flags", bits(flags, {{IBV_READ_COUNTERS_ATTR_PREFER_CACHED, "PREFER_CACHED"}}))))
    return error;
  const std::vector<std::uint64_t>& known = current().internals().counters.at(counters).values;
  if (count < known.size()) return EINVAL;
  std::copy(known.begin(), known.end(), values);
  return 0;
}

int destroy_counters(ibv_counters* counters) {
  if (const int error = errno_of<called::destroy_counters>(about(counters))) return error;
  current().internals().counters.remove(counters);
  return 0;
}

}  // namespace

void machine::count(ibv_counters* counters, std::vector<std::uint64_t> values) {
  state_->counters.at(counters).values = std::move(values);
}

void install_steering_operations(verbs_context& context) {
  context.ibv_create_flow = create_flow;
  context.ibv_destroy_flow = destroy_flow;
  context.create_flow_action_esp = create_flow_action_esp;
  context.modify_flow_action_esp = modify_flow_action_esp;
  context.destroy_flow_action = destroy_flow_action;
  context.create_counters = create_counters;
  context.attach_counters_point_flow = attach_counters_point_flow;
  context.read_counters = read_counters;
  context.destroy_counters = destroy_counters;
}

}  // namespace fake
