// SPDX-License-Identifier: MIT
// The arguments that a provider refuses by itself: sizes, ports, rights, and objects in use.
#include "rules.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace fake {
namespace {

constexpr std::uint32_t max_inline_data = 512;
constexpr std::uintptr_t page = 4096;

bool has_gid(const port& found, std::uint32_t index) {
  return std::any_of(found.gids.begin(), found.gids.end(),
                     [&](const ibv_gid_entry& entry) { return entry.gid_index == index; });
}

template <class Objects, class Uses>
bool any_of(Objects& all, const Uses& uses) {
  return std::any_of(all.begin(), all.end(), [&](auto& each) { return uses(each.first); });
}

bool is_known(ibv_qp_type type) {
  constexpr std::array known{IBV_QPT_RC,       IBV_QPT_UC,       IBV_QPT_UD,    IBV_QPT_RAW_PACKET,
                             IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV, IBV_QPT_DRIVER};
  return std::find(known.begin(), known.end(), type) != known.end();
}

}  // namespace

int refusal_of(const ibv_context* context, const ibv_qp_init_attr& attributes) {
  const ibv_device_attr& limits = device_of(context).attributes;
  const ibv_qp_cap& asked = attributes.cap;
  const auto over = [](std::uint32_t count, int limit) {
    return count > static_cast<std::uint32_t>(limit);
  };
  const bool refused =
      !is_known(attributes.qp_type) || over(asked.max_send_wr, limits.max_qp_wr) ||
      over(asked.max_recv_wr, limits.max_qp_wr) || over(asked.max_send_sge, limits.max_sge) ||
      over(asked.max_recv_sge, limits.max_sge) || asked.max_inline_data > max_inline_data;
  return refused ? EINVAL : 0;
}

int refusal_of(const ibv_context* context, const ibv_ah_attr& way) {
  const port* const found = port_of(context, way.port_num);
  if (found == nullptr) return EINVAL;
  if (way.is_global == 0)
    return found->attributes.link_layer == IBV_LINK_LAYER_ETHERNET ? EINVAL : 0;
  // Linux returns ENODATA for the empty GID.
  return has_gid(*found, way.grh.sgid_index) ? 0 : ENODATA;
}

int refusal_of_memory(const void* memory, std::size_t length, unsigned access) {
  constexpr unsigned changing = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  if ((access & changing) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0) return EINVAL;
  // Linux counts the pages that the bytes touch.
  const auto first = reinterpret_cast<std::uintptr_t>(memory);
  const bool wraps = first + length < first;
  const bool touches_nothing = length == 0 && first % page == 0;
  return wraps || touches_nothing ? EINVAL : 0;
}

bool is_in_use(const ibv_pd* domain) {
  auto& state = current().internals();
  const auto in_it = [&](const auto* object) { return object->pd == domain; };
  return any_of(state.regions, in_it) || any_of(state.windows, in_it) ||
         any_of(state.address_handles, in_it) || any_of(state.pairs, in_it) ||
         any_of(state.shared_receive_queues, in_it);
}

bool is_in_use(const ibv_cq* queue) {
  return any_of(current().internals().pairs, [&](const ibv_qp* pair) {
    return pair->send_cq == queue || pair->recv_cq == queue;
  });
}

bool is_in_use(const ibv_comp_channel* channel) {
  return any_of(current().internals().queues,
                [&](const ibv_cq* queue) { return queue->channel == channel; });
}

}  // namespace fake
