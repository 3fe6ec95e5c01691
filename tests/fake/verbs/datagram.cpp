// SPDX-License-Identifier: MIT
// Multicast attachments, and addresses made from what was received.
#include <algorithm>
#include <cstring>

#include "state.hpp"

using namespace fake;

namespace {

bool same(const ibv_gid& left, const ibv_gid& right) {
  return std::memcmp(left.raw, right.raw, sizeof left.raw) == 0;
}

shown show(const ibv_wc& completion) {
  return fields{}
      .add_unless_zero("wr_id", completion.wr_id)
      .add_unless_zero("wc_flags", bits(completion.wc_flags, {{IBV_WC_GRH, "GRH"},
                                                              {IBV_WC_WITH_IMM, "WITH_IMM"},
                                                              {IBV_WC_WITH_INV, "WITH_INV"}}))
      .add_unless_zero("src_qp", hex(completion.src_qp))
      .add_unless_zero("slid", hex(completion.slid))
      .add_unless_zero("sl", completion.sl)
      .add_unless_zero("dlid_path_bits", completion.dlid_path_bits)
      .in_braces();
}

/// The address of whoever sent the header, as libibverbs finds it. False and errno when the header
/// was sent to none of the port's GIDs.
bool answer_to(ibv_context* context, std::uint8_t port, const ibv_wc& completion,
               const ibv_grh& header, ibv_ah_attr& attributes) {
  attributes = {};
  attributes.dlid = completion.slid;
  attributes.sl = completion.sl;
  attributes.src_path_bits = completion.dlid_path_bits;
  attributes.port_num = port;
  if ((completion.wc_flags & IBV_WC_GRH) == 0) return true;
  ibv_gid source = header.sgid;
  ibv_gid destination = header.dgid;
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&header);
  if (bytes[0] >> 4 != 6) {
    source = fake::ipv4_gid(bytes[32], bytes[33], bytes[34], bytes[35]);
    destination = fake::ipv4_gid(bytes[36], bytes[37], bytes[38], bytes[39]);
  }
  for (const ibv_gid_entry& entry : fake::port_of(context, port)->gids)
    if (same(entry.gid, destination)) {
      attributes.is_global = 1;
      attributes.grh.dgid = source;
      attributes.grh.sgid_index = static_cast<std::uint8_t>(entry.gid_index);
      attributes.grh.hop_limit = 0xff;
      return true;
    }
  errno = ENOENT;
  return false;
}

}  // namespace

int ibv_init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc* completion,
                        ibv_grh* header, ibv_ah_attr* attributes) {
  if (refused<called::init_ah_from_wc>(about(context)
                                           .add("port_num", port)
                                           .add("wc", show(*completion))
                                           .add("grh", {hex_bytes(header, sizeof *header), false}),
                                       {*header}))
    return -1;
  return answer_to(context, port, *completion, *header, *attributes) ? 0 : -1;
}

ibv_ah* ibv_create_ah_from_wc(ibv_pd* domain, ibv_wc* completion, ibv_grh* header,
                              std::uint8_t port) {
  if (refused<called::create_ah_from_wc>(about(domain)
                                             .add("wc", show(*completion))
                                             .add("grh", {hex_bytes(header, sizeof *header), false})
                                             .add("port_num", port)))
    return nullptr;
  ibv_ah_attr attributes;
  if (!answer_to(domain->context, port, *completion, *header, attributes)) return nullptr;
  return ibv_create_ah(domain, &attributes);
}

int ibv_attach_mcast(ibv_qp* pair, const ibv_gid* group, std::uint16_t lid) {
  if (const int error = errno_of<called::attach_mcast>(
          about(pair).add("gid", fake::show(*group)).add("lid", hex(lid))))
    return error;
  current().internals().pairs.at(pair).groups.push_back(*group);
  return 0;
}

int ibv_detach_mcast(ibv_qp* pair, const ibv_gid* group, std::uint16_t lid) {
  if (const int error = errno_of<called::detach_mcast>(
          about(pair).add("gid", fake::show(*group)).add("lid", hex(lid))))
    return error;
  auto& groups = current().internals().pairs.at(pair).groups;
  const auto found = std::find_if(groups.begin(), groups.end(),
                                  [&](const ibv_gid& each) { return same(each, *group); });
  if (found == groups.end()) return EINVAL;
  groups.erase(found);
  return 0;
}
