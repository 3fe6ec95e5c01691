// SPDX-License-Identifier: MIT
// Flows, flow actions and counters.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "state.hpp"

namespace fake {
namespace {

std::vector<std::byte> bytes_at(const void* first, std::size_t size) {
  const auto* const bytes = static_cast<const std::byte*>(first);
  return bytes == nullptr ? std::vector<std::byte>{} : std::vector<std::byte>{bytes, bytes + size};
}

ibv_flow* create_flow(ibv_qp* pair, ibv_flow_attr* rule) {
  std::vector<std::byte> bytes = bytes_at(rule, rule->size);
  // Between the port and the flags the C struct has padding, in which anything may stand.
  constexpr std::size_t padding = offsetof(ibv_flow_attr, port) + sizeof rule->port;
  for (std::size_t index = padding; index < offsetof(ibv_flow_attr, flags); ++index)
    bytes[index] = std::byte{0};
  if (refused(called::create_flow{pair, *rule, std::move(bytes)})) return nullptr;
  machine::state& state = current().internals();
  auto made = std::make_unique<ibv_flow>(ibv_flow{0, pair->context, ++state.last_handle});
  ibv_flow* const native = made.get();
  state.flows.add(std::move(made), native);
  return native;
}

int destroy_flow(ibv_flow* flow) {
  if (const int error = errno_of(called::destroy_flow{flow})) return error;
  current().internals().flows.remove(flow);
  return 0;
}

esp copy_of(const ibv_flow_action_esp_attr& from) {
  esp copy{};
  if (from.esp_attr != nullptr) copy.attributes = *from.esp_attr;
  copy.key_protocol = from.keymat_proto;
  copy.key = bytes_at(from.keymat_ptr, from.keymat_len);
  copy.replay_protocol = from.replay_proto;
  copy.replay = bytes_at(from.replay_ptr, from.replay_len);
  for (const ibv_flow_action_esp_encap* each = from.esp_encap; each != nullptr;
       each = each->next_ptr)
    copy.headers.push_back({each->type, bytes_at(each->val_ptr, each->len)});
  copy.comp_mask = from.comp_mask;
  copy.extended_sequence_number = from.esn;
  return copy;
}

ibv_flow_action* create_flow_action_esp(ibv_context* context, ibv_flow_action_esp_attr* given) {
  if (refused(called::create_flow_action_esp{context, copy_of(*given)})) return nullptr;
  auto made = std::make_unique<ibv_flow_action>(ibv_flow_action{context});
  ibv_flow_action* const native = made.get();
  current().internals().flow_actions.add(std::move(made), native);
  return native;
}

int modify_flow_action_esp(ibv_flow_action* action, ibv_flow_action_esp_attr* given) {
  return errno_of(called::modify_flow_action_esp{action, copy_of(*given)});
}

int destroy_flow_action(ibv_flow_action* action) {
  if (const int error = errno_of(called::destroy_flow_action{action})) return error;
  current().internals().flow_actions.remove(action);
  return 0;
}

ibv_counters* create_counters(ibv_context* context, ibv_counters_init_attr* attributes) {
  if (refused(called::create_counters{context, attributes->comp_mask})) return nullptr;
  auto made = std::make_unique<counter_set>(counter_set{{context}, {}});
  ibv_counters* const native = &made->native;
  current().internals().counters.add(std::move(made), native);
  return native;
}

int attach_counters_point_flow(ibv_counters* counters, ibv_counter_attach_attr* attributes,
                               ibv_flow* flow) {
  return errno_of(called::attach_counters_point_flow{counters, *attributes, flow});
}

int read_counters(ibv_counters* counters, std::uint64_t* values, std::uint32_t count,
                  std::uint32_t flags) {
  if (const int error = errno_of(called::read_counters{counters, count, flags})) return error;
  const std::vector<std::uint64_t>& known = current().internals().counters.at(counters).values;
  if (count < known.size()) return EINVAL;
  std::copy(known.begin(), known.end(), values);
  return 0;
}

int destroy_counters(ibv_counters* counters) {
  if (const int error = errno_of(called::destroy_counters{counters})) return error;
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
