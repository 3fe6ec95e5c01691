// SPDX-License-Identifier: MIT
// Further queries of devices and the library: import, indices, keys, clocks, neighbours, fork.
#include <algorithm>

#include <endian.h>

#include "state.hpp"

using namespace fake;

namespace {

std::size_t number_of(const ibv_device* device) {
  const auto& natives = current().internals().natives;
  std::size_t number = 0;
  while (natives.at(number).get() != device) ++number;
  return number;
}

}  // namespace

// Imports the first device, whatever the descriptor is of.
ibv_context* ibv_import_device(int command_file_descriptor) {
  if (refused<called::import_device>(fields{}.add("cmd_fd", command_file_descriptor),
                                     {command_file_descriptor}))
    return nullptr;
  // The devices have to be known.
  ibv_free_device_list(ibv_get_device_list(nullptr));
  ibv_context* const context = fake::open_context_on(0);
  context->cmd_fd = command_file_descriptor;
  return context;
}

int ibv_get_device_index(ibv_device* device) {
  record<called::get_device_index>(fields{}.word(device->name));
  return current().devices.at(number_of(device)).index;
}

__be64 ibv_get_device_guid(ibv_device* device) {
  record<called::get_device_guid>(fields{}.word(device->name));
  return current().devices.at(number_of(device)).attributes.node_guid;
}

int ibv_get_pkey_index(ibv_context* context, std::uint8_t number, __be16 key) {
  if (refused<called::get_pkey_index>(
          fields{}.add("port_num", number).add("pkey", hex(be16toh(key)))))
    return -1;
  const fake::port* const port = fake::port_of(context, number);
  if (port == nullptr) return -1;
  const auto found = std::find(port->pkeys.begin(), port->pkeys.end(), be16toh(key));
  return found == port->pkeys.end() ? -1 : static_cast<int>(found - port->pkeys.begin());
}

int ibv_resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr* attributes, std::uint8_t* mac,
                                std::uint16_t* vlan) {
  if (const int error =
          errno_of<called::resolve_eth_l2_from_gid>(about(context).add("attr", show(*attributes))))
    return -error;
  std::copy_n(current().resolved_mac.begin(), 6, mac);
  *vlan = current().resolved_vlan;
  return 0;
}

int ibv_fork_init() {
  if (const int error = errno_of<called::fork_init>()) return error;
  current().fork_support = IBV_FORK_ENABLED;
  return 0;
}

ibv_fork_status ibv_is_fork_initialized() {
  record<called::is_fork_initialized>();
  return current().fork_support;
}

namespace fake {
namespace {

int query_rt_values(ibv_context* context, ibv_values_ex* values) {
  if (const int error = errno_of<called::query_rt_values>(fields{"ibv_query_rt_values_ex"}.add(
          "comp_mask", bits(values->comp_mask, {{IBV_VALUES_MASK_RAW_CLOCK, "RAW_CLOCK"}}))))
    return error;
  const std::optional<std::uint64_t> clock = device_of(context).clock;
  values->comp_mask = clock ? IBV_VALUES_MASK_RAW_CLOCK : 0;
  values->raw_clock = {0, static_cast<long>(clock.value_or(0))};
  return 0;
}

}  // namespace

void install_clock_operations(verbs_context& context) { context.query_rt_values = query_rt_values; }

}  // namespace fake
