// SPDX-License-Identifier: MIT
// The text of values, objects and places in memory in a line.
#include "../render.hpp"

#include <array>
#include <charconv>
#include <iterator>
#include <ostream>

#include <arpa/inet.h>
#include <endian.h>

#include "state.hpp"

namespace fake {
namespace {

names_in_lines& names() { return current().internals().names; }

/// The memory that the test named and that has this address in it, or the end.
auto memory_at(std::uintptr_t address) {
  auto& memories = names().memories;
  const auto after = memories.upper_bound(address);
  if (after == memories.begin()) return memories.end();
  const auto found = std::prev(after);
  const bool is_inside = address == found->first || address - found->first < found->second.size;
  return is_inside ? found : memories.end();
}

std::string with_offset(const std::string& name, std::uint64_t offset) {
  return name + "+" + std::to_string(offset);
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const log_lines& log) {
  for (const std::string& each : log.lines) out << '\n' << each;
  return out;
}

fields& fields::word(std::string_view words) {
  if (!text_.empty()) text_ += ' ';
  text_ += words;
  return *this;
}
fields& fields::object(const void* object) { return word(name_of(object).text); }
fields& fields::add(std::string_view name, const shown& value) {
  return word(std::string{name} + "=" + value.text);
}
fields& fields::add_unless_zero(std::string_view name, const shown& value) {
  return value.is_zero ? *this : add(name, value);
}
fields& fields::add_if(bool is_valid, std::string_view name, const shown& value) {
  return is_valid ? add(name, value) : *this;
}
fields& fields::add_or_stray(bool is_valid, std::string_view name, const shown& value) {
  if (is_valid) return add(name, value);
  if (!value.is_zero) stray_ += " stray=" + std::string{name};
  return *this;
}
fields& fields::unknown_bits(std::uint64_t mask, std::uint64_t known) {
  return add_unless_zero("unknown_bits", hex(mask & ~known));
}

fields& fields::members(const shown& braces) {
  return word(std::string_view{braces.text}.substr(1, braces.text.size() - 2));
}
fields& fields::list(const std::string& items) {
  if (!items.empty()) text_ += ": " + items;
  return *this;
}

shown hex(std::uint64_t value) {
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.begin(), digits.end(), value, 16).ptr;
  return {"0x" + std::string{digits.begin(), end}, value == 0};
}

shown enumerator(std::uint64_t value, named_values names) {
  for (const named_value& each : names)
    if (each.value == value) return {std::string{each.name}, value == 0};
  return value;
}

shown bits(std::uint64_t mask, named_values names) {
  std::string text;
  std::uint64_t left = mask;
  for (const named_value& each : names)
    if ((left & each.value) == each.value) {
      text += (text.empty() ? "" : "|") + std::string{each.name};
      left &= ~each.value;
    }
  if (left != 0) text += (text.empty() ? "" : "|") + hex(left).text;
  return {text.empty() ? "0" : text, mask == 0};
}

std::string hex_bytes(const void* first, std::size_t size) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (std::size_t index = 0; index < size; ++index) {
    const unsigned byte = static_cast<const unsigned char*>(first)[index];
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string quoted(std::string_view bytes) {
  std::string text = "\"";
  for (const char each : bytes)
    text += each >= ' ' && each <= '~' ? std::string{each} : "\\x" + hex_bytes(&each, 1);
  return text + "\"";
}

shown big_endian(__be32 value) { return hex(be32toh(value)); }

void name_object(const void* object, std::string_view kind) {
  std::size_t& next = names().created.try_emplace(std::string{kind}).first->second;
  names().in_order.push_back(std::string{kind} + std::to_string(next++));
  names().objects[object] = names().in_order.back();
  // Memory that was here is gone.
  if (const auto found = memory_at(reinterpret_cast<std::uintptr_t>(object));
      found != names().memories.end())
    names().memories.erase(found);
}

void name_region(const ibv_mr& region, std::uint64_t device_address) {
  names().regions[region.lkey] = {name_of(&region).text, device_address, region.length};
  names().regions[region.rkey] = names().regions[region.lkey];
}

void machine::name_memory(std::string text, const void* begin, std::size_t size) {
  names().memories[reinterpret_cast<std::uintptr_t>(begin)] = {std::move(text), size};
  // Objects that were here are gone.
  const auto* const end = static_cast<const std::byte*>(begin) + size;
  auto& objects = names().objects;
  objects.erase(objects.lower_bound(begin), objects.lower_bound(end));
}

shown name_of(const void* object) {
  if (object == nullptr) return {"null", true};
  if (const auto found = names().objects.find(object); found != names().objects.end())
    return {found->second, false};
  const auto address = reinterpret_cast<std::uintptr_t>(object);
  const auto found = memory_at(address);
  if (found == names().memories.end()) return hex(address);
  const auto& [begin, memory] = *found;
  return {address == begin ? memory.name : with_offset(memory.name, address - begin), false};
}

shown place_in(std::uint32_t key, std::uint64_t address) {
  const auto found = names().regions.find(key);
  if (found == names().regions.end()) return hex(address);
  const auto& [name, begin, size] = found->second;
  if (address < begin || address - begin > size) return hex(address);
  return {with_offset(name, address - begin), false};
}

shown id(std::uint64_t number) {
  return number < 0x10000 ? shown{number} : name_of(reinterpret_cast<const void*>(number));
}

std::string elements_text(const std::vector<ibv_sge>& elements) {
  std::string text;
  for (const ibv_sge& each : elements) {
    const shown place = place_in(each.lkey, each.addr);
    text += "[" + place.text + " " + std::to_string(each.length);
    if (place.text.starts_with("0x")) text += " lkey=" + hex(each.lkey).text;
    text += "]";
  }
  return text;
}

// clang-format off
#define NAMED(prefix, name) named_value { prefix##name, #name }
// clang-format on

shown access(std::uint64_t mask) {
  return bits(mask, {NAMED(IBV_ACCESS_, LOCAL_WRITE), NAMED(IBV_ACCESS_, REMOTE_WRITE),
                     NAMED(IBV_ACCESS_, REMOTE_READ), NAMED(IBV_ACCESS_, REMOTE_ATOMIC),
                     NAMED(IBV_ACCESS_, MW_BIND), NAMED(IBV_ACCESS_, ZERO_BASED),
                     NAMED(IBV_ACCESS_, ON_DEMAND), NAMED(IBV_ACCESS_, HUGETLB),
                     NAMED(IBV_ACCESS_, RELAXED_ORDERING)});
}

shown send_flags(std::uint64_t mask) {
  return bits(mask,
              {NAMED(IBV_SEND_, FENCE), NAMED(IBV_SEND_, SIGNALED), NAMED(IBV_SEND_, SOLICITED),
               NAMED(IBV_SEND_, INLINE), NAMED(IBV_SEND_, IP_CSUM)});
}

shown pair_type(ibv_qp_type type) {
  return enumerator(type, {NAMED(IBV_QPT_, RC), NAMED(IBV_QPT_, UC), NAMED(IBV_QPT_, UD),
                           NAMED(IBV_QPT_, RAW_PACKET), NAMED(IBV_QPT_, XRC_SEND),
                           NAMED(IBV_QPT_, XRC_RECV), NAMED(IBV_QPT_, DRIVER)});
}

shown pair_state(ibv_qp_state state) {
  return enumerator(state, {NAMED(IBV_QPS_, RESET), NAMED(IBV_QPS_, INIT), NAMED(IBV_QPS_, RTR),
                            NAMED(IBV_QPS_, RTS), NAMED(IBV_QPS_, SQD), NAMED(IBV_QPS_, SQE),
                            NAMED(IBV_QPS_, ERR), NAMED(IBV_QPS_, UNKNOWN)});
}

shown operation(ibv_wr_opcode opcode) {
  return enumerator(
      opcode, {NAMED(IBV_WR_, RDMA_WRITE), NAMED(IBV_WR_, RDMA_WRITE_WITH_IMM),
               NAMED(IBV_WR_, SEND), NAMED(IBV_WR_, SEND_WITH_IMM), NAMED(IBV_WR_, RDMA_READ),
               NAMED(IBV_WR_, ATOMIC_CMP_AND_SWP), NAMED(IBV_WR_, ATOMIC_FETCH_AND_ADD),
               NAMED(IBV_WR_, LOCAL_INV), NAMED(IBV_WR_, BIND_MW), NAMED(IBV_WR_, SEND_WITH_INV),
               NAMED(IBV_WR_, TSO), NAMED(IBV_WR_, DRIVER1), NAMED(IBV_WR_, ATOMIC_WRITE)});
}

shown show(const ibv_gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET6, gid.raw, text.data(), text.size());
  return {text.data(), gid.global.subnet_prefix == 0 && gid.global.interface_id == 0};
}

shown show(const ibv_ah_attr& attributes) {
  const ibv_global_route& grh = attributes.grh;
  const shown route = fields{}
                          .add("dgid", show(grh.dgid))
                          .add("sgid_index", grh.sgid_index)
                          .add_unless_zero("flow_label", hex(grh.flow_label))
                          .add_unless_zero("hop_limit", grh.hop_limit)
                          .add_unless_zero("traffic_class", grh.traffic_class)
                          .in_braces();
  const bool has_route = !show(grh.dgid).is_zero || grh.sgid_index != 0 || grh.flow_label != 0 ||
                         grh.hop_limit != 0 || grh.traffic_class != 0;
  return fields{}
      .add_unless_zero("port_num", attributes.port_num)
      .add_unless_zero("dlid", hex(attributes.dlid))
      .add_unless_zero("sl", attributes.sl)
      .add_unless_zero("src_path_bits", attributes.src_path_bits)
      .add_unless_zero("static_rate", attributes.static_rate)
      .add_or_stray(attributes.is_global != 0, "grh", {route.text, !has_route})
      .in_braces();
}

shown show(const ibv_qp_cap& capacities) {
  return fields{}
      .add_unless_zero("max_send_wr", capacities.max_send_wr)
      .add_unless_zero("max_recv_wr", capacities.max_recv_wr)
      .add_unless_zero("max_send_sge", capacities.max_send_sge)
      .add_unless_zero("max_recv_sge", capacities.max_recv_sge)
      .add_unless_zero("max_inline_data", capacities.max_inline_data)
      .in_braces();
}

shown show(const ibv_qp_attr& attributes, int mask) {
  const auto has = [&](int bit) { return (mask & bit) != 0; };
  const shown mtu = enumerator(attributes.path_mtu, {{IBV_MTU_256, "256"},
                                                     {IBV_MTU_512, "512"},
                                                     {IBV_MTU_1024, "1024"},
                                                     {IBV_MTU_2048, "2048"},
                                                     {IBV_MTU_4096, "4096"}});
  const shown migration =
      enumerator(attributes.path_mig_state,
                 {NAMED(IBV_MIG_, MIGRATED), NAMED(IBV_MIG_, REARM), NAMED(IBV_MIG_, ARMED)});
  const bool alternate = has(IBV_QP_ALT_PATH);
  // adverb has its defaults in the fields that are not valid.
  fields text;
  text.add_if(has(IBV_QP_STATE), "qp_state", pair_state(attributes.qp_state))
      .add_if(has(IBV_QP_CUR_STATE), "cur_qp_state", pair_state(attributes.cur_qp_state))
      .add_if(has(IBV_QP_EN_SQD_ASYNC_NOTIFY), "en_sqd_async_notify",
              attributes.en_sqd_async_notify)
      .add_if(has(IBV_QP_ACCESS_FLAGS), "qp_access_flags", access(attributes.qp_access_flags))
      .add_if(has(IBV_QP_PKEY_INDEX), "pkey_index", attributes.pkey_index)
      .add_if(has(IBV_QP_PORT), "port_num", attributes.port_num)
      .add_if(has(IBV_QP_QKEY), "qkey", hex(attributes.qkey))
      .add_if(has(IBV_QP_AV), "ah_attr", show(attributes.ah_attr))
      .add_if(has(IBV_QP_PATH_MTU), "path_mtu", mtu)
      .add_if(has(IBV_QP_TIMEOUT), "timeout", attributes.timeout)
      .add_if(has(IBV_QP_RETRY_CNT), "retry_cnt", attributes.retry_cnt)
      .add_if(has(IBV_QP_RNR_RETRY), "rnr_retry", attributes.rnr_retry)
      .add_if(has(IBV_QP_RQ_PSN), "rq_psn", hex(attributes.rq_psn))
      .add_if(has(IBV_QP_MAX_QP_RD_ATOMIC), "max_rd_atomic", attributes.max_rd_atomic)
      .add_if(alternate, "alt_ah_attr", show(attributes.alt_ah_attr))
      .add_if(alternate, "alt_pkey_index", attributes.alt_pkey_index)
      .add_if(alternate, "alt_port_num", attributes.alt_port_num)
      .add_if(alternate, "alt_timeout", attributes.alt_timeout)
      .add_if(has(IBV_QP_MIN_RNR_TIMER), "min_rnr_timer", attributes.min_rnr_timer)
      .add_if(has(IBV_QP_SQ_PSN), "sq_psn", hex(attributes.sq_psn))
      .add_if(has(IBV_QP_MAX_DEST_RD_ATOMIC), "max_dest_rd_atomic", attributes.max_dest_rd_atomic)
      .add_if(has(IBV_QP_PATH_MIG_STATE), "path_mig_state", migration)
      .add_if(has(IBV_QP_CAP), "cap", show(attributes.cap))
      .add_if(has(IBV_QP_DEST_QPN), "dest_qp_num", hex(attributes.dest_qp_num))
      .add_if(has(IBV_QP_RATE_LIMIT), "rate_limit", attributes.rate_limit)
      .unknown_bits(static_cast<unsigned>(mask), 0x1fffff | IBV_QP_RATE_LIMIT);
  return text.in_braces();
}

namespace {

/// The common members of the two structs with which a pair is made.
template <class Attributes>
fields start_of(const Attributes& attributes) {
  return fields{}
      .add("qp_type", pair_type(attributes.qp_type))
      .add_unless_zero("qp_context", name_of(attributes.qp_context))
      .add_unless_zero("send_cq", name_of(attributes.send_cq))
      .add_unless_zero("recv_cq", name_of(attributes.recv_cq))
      .add_unless_zero("srq", name_of(attributes.srq))
      .add("cap", show(attributes.cap))
      .add_unless_zero("sq_sig_all", attributes.sq_sig_all);
}

shown show(const ibv_srq_attr& attributes) {
  return fields{}
      .add("max_wr", attributes.max_wr)
      .add("max_sge", attributes.max_sge)
      .add_unless_zero("srq_limit", attributes.srq_limit)
      .in_braces();
}

shown show(const ibv_rx_hash_conf& hash) {
  return fields{}
      .add("function", bits(hash.rx_hash_function, {{IBV_RX_HASH_FUNC_TOEPLITZ, "TOEPLITZ"}}))
      .add("key", {hex_bytes(hash.rx_hash_key, hash.rx_hash_key_len), false})
      .add("fields", bits(hash.rx_hash_fields_mask,
                          {NAMED(IBV_RX_HASH_, SRC_IPV4), NAMED(IBV_RX_HASH_, DST_IPV4),
                           NAMED(IBV_RX_HASH_, SRC_IPV6), NAMED(IBV_RX_HASH_, DST_IPV6),
                           NAMED(IBV_RX_HASH_, SRC_PORT_TCP), NAMED(IBV_RX_HASH_, DST_PORT_TCP),
                           NAMED(IBV_RX_HASH_, SRC_PORT_UDP), NAMED(IBV_RX_HASH_, DST_PORT_UDP),
                           NAMED(IBV_RX_HASH_, IPSEC_SPI), NAMED(IBV_RX_HASH_, INNER)}))
      .in_braces();
}

}  // namespace

shown show(const ibv_qp_init_attr& attributes) { return start_of(attributes).in_braces(); }

shown show(const ibv_qp_init_attr_ex& attributes) {
  const auto has = [&](unsigned bit) { return (attributes.comp_mask & bit) != 0; };
  const bool flagged = has(IBV_QP_INIT_ATTR_CREATE_FLAGS);
  const auto flags =
      bits(attributes.create_flags,
           {NAMED(IBV_QP_CREATE_, BLOCK_SELF_MCAST_LB), NAMED(IBV_QP_CREATE_, SCATTER_FCS),
            NAMED(IBV_QP_CREATE_, CVLAN_STRIPPING), NAMED(IBV_QP_CREATE_, SOURCE_QPN),
            NAMED(IBV_QP_CREATE_, PCI_WRITE_END_PADDING)});
  const auto operations =
      bits(attributes.send_ops_flags,
           {NAMED(IBV_QP_EX_WITH_, RDMA_WRITE), NAMED(IBV_QP_EX_WITH_, RDMA_WRITE_WITH_IMM),
            NAMED(IBV_QP_EX_WITH_, SEND), NAMED(IBV_QP_EX_WITH_, SEND_WITH_IMM),
            NAMED(IBV_QP_EX_WITH_, RDMA_READ), NAMED(IBV_QP_EX_WITH_, ATOMIC_CMP_AND_SWP),
            NAMED(IBV_QP_EX_WITH_, ATOMIC_FETCH_AND_ADD), NAMED(IBV_QP_EX_WITH_, LOCAL_INV),
            NAMED(IBV_QP_EX_WITH_, BIND_MW), NAMED(IBV_QP_EX_WITH_, SEND_WITH_INV),
            NAMED(IBV_QP_EX_WITH_, TSO), NAMED(IBV_QP_EX_WITH_, ATOMIC_WRITE)});
  const ibv_rx_hash_conf& hash = attributes.rx_hash_conf;
  const bool hashes = hash.rx_hash_function != 0 || hash.rx_hash_key_len != 0 ||
                      hash.rx_hash_key != nullptr || hash.rx_hash_fields_mask != 0;
  return start_of(attributes)
      .add_or_stray(has(IBV_QP_INIT_ATTR_PD), "pd", name_of(attributes.pd))
      .add_or_stray(has(IBV_QP_INIT_ATTR_XRCD), "xrcd", name_of(attributes.xrcd))
      .add_or_stray(flagged, "create_flags", flags)
      .add_or_stray(flagged && (attributes.create_flags & IBV_QP_CREATE_SOURCE_QPN) != 0,
                    "source_qpn", hex(attributes.source_qpn))
      .add_or_stray(has(IBV_QP_INIT_ATTR_MAX_TSO_HEADER), "max_tso_header",
                    attributes.max_tso_header)
      .add_or_stray(has(IBV_QP_INIT_ATTR_IND_TABLE), "rwq_ind_tbl", name_of(attributes.rwq_ind_tbl))
      .add_or_stray(has(IBV_QP_INIT_ATTR_RX_HASH), "rx_hash_conf", {show(hash).text, !hashes})
      .add_or_stray(has(IBV_QP_INIT_ATTR_SEND_OPS_FLAGS), "send_ops_flags", operations)
      .unknown_bits(attributes.comp_mask, 0x7f)
      .in_braces();
}

shown show(const ibv_srq_init_attr& attributes) {
  return fields{}
      .add_unless_zero("srq_context", name_of(attributes.srq_context))
      .add("attr", show(attributes.attr))
      .in_braces();
}

shown show(const ibv_srq_init_attr_ex& attributes) {
  const auto has = [&](unsigned bit) { return (attributes.comp_mask & bit) != 0; };
  const ibv_tm_cap& tags = attributes.tm_cap;
  const shown matching =
      fields{}.add("max_num_tags", tags.max_num_tags).add("max_ops", tags.max_ops).in_braces();
  return fields{}
      .add_unless_zero("srq_context", name_of(attributes.srq_context))
      .add("attr", show(attributes.attr))
      .add_or_stray(has(IBV_SRQ_INIT_ATTR_TYPE), "srq_type",
                    enumerator(attributes.srq_type, {NAMED(IBV_SRQT_, BASIC), NAMED(IBV_SRQT_, XRC),
                                                     NAMED(IBV_SRQT_, TM)}))
      .add_or_stray(has(IBV_SRQ_INIT_ATTR_PD), "pd", name_of(attributes.pd))
      .add_or_stray(has(IBV_SRQ_INIT_ATTR_XRCD), "xrcd", name_of(attributes.xrcd))
      .add_or_stray(has(IBV_SRQ_INIT_ATTR_CQ), "cq", name_of(attributes.cq))
      .add_or_stray(has(IBV_SRQ_INIT_ATTR_TM), "tm_cap",
                    {matching.text, tags.max_num_tags == 0 && tags.max_ops == 0})
      .unknown_bits(attributes.comp_mask, 0x1f)
      .in_braces();
}

shown show(const ibv_ece& options) {
  return fields{}
      .add("vendor_id", hex(options.vendor_id))
      .add("options", hex(options.options))
      .add_unless_zero("comp_mask", hex(options.comp_mask))
      .in_braces();
}

shown show(const ibv_mw_bind_info& binding) {
  fields text;
  if (binding.mr != nullptr)
    text.word(place_in(binding.mr->lkey, binding.addr).text);
  else
    text.word("null").add_unless_zero("addr", hex(binding.addr));
  return text.add("length", binding.length)
      .add("mw_access_flags", access(binding.mw_access_flags))
      .in_braces();
}

namespace {

/// The bytes of each element that was sent inline.
std::string pieces(const posted<ibv_send_wr>& request) {
  std::string text;
  std::size_t begin = 0;
  for (const ibv_sge& each : request.elements) {
    text += (text.empty() ? "" : " ") +
            quoted(std::string_view{request.inline_bytes}.substr(begin, each.length));
    begin += each.length;
  }
  return text;
}

void add_remote(fields& text, std::uint64_t address, std::uint32_t key) {
  const shown place = place_in(key, address);
  text.add("remote_addr", place);
  if (place.text.starts_with("0x")) text.add("rkey", hex(key));
}

}  // namespace

std::string show(const posted<ibv_send_wr>& request, ibv_qp_type type) {
  const ibv_send_wr& wr = request.wr;
  fields text{operation(wr.opcode).text};
  text.add_unless_zero("wr_id", id(wr.wr_id));
  text.add_unless_zero("flags", send_flags(wr.send_flags));
  switch (wr.opcode) {
    case IBV_WR_SEND_WITH_IMM: text.add("imm_data", big_endian(wr.imm_data)); break;
    case IBV_WR_SEND_WITH_INV:
    case IBV_WR_LOCAL_INV: text.add("invalidate_rkey", hex(wr.invalidate_rkey)); break;
    case IBV_WR_RDMA_WRITE_WITH_IMM: text.add("imm_data", big_endian(wr.imm_data)); [[fallthrough]];
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_READ: add_remote(text, wr.wr.rdma.remote_addr, wr.wr.rdma.rkey); break;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      add_remote(text, wr.wr.atomic.remote_addr, wr.wr.atomic.rkey);
      text.add("compare", hex(wr.wr.atomic.compare_add)).add("swap", hex(wr.wr.atomic.swap));
      break;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      add_remote(text, wr.wr.atomic.remote_addr, wr.wr.atomic.rkey);
      text.add("add", hex(wr.wr.atomic.compare_add));
      break;
    case IBV_WR_BIND_MW:
      text.object(wr.bind_mw.mw).add("rkey", hex(wr.bind_mw.rkey));
      text.add("bind_info", show(wr.bind_mw.bind_info))
          .add_or_stray(false, "invalidate_rkey", hex(wr.invalidate_rkey));
      break;
    case IBV_WR_TSO:
      text.add("hdr", {quoted({static_cast<const char*>(wr.tso.hdr), wr.tso.hdr_sz}), false})
          .add("mss", wr.tso.mss);
      break;
    default: break;
  }
  const bool is_local = wr.opcode == IBV_WR_LOCAL_INV || wr.opcode == IBV_WR_BIND_MW;
  if (type == IBV_QPT_UD && !is_local)
    text.object(wr.wr.ud.ah)
        .add("remote_qpn", hex(wr.wr.ud.remote_qpn))
        .add("remote_qkey", hex(wr.wr.ud.remote_qkey));
  if (type == IBV_QPT_XRC_SEND && !is_local)
    text.add("remote_srqn", hex(wr.qp_type.xrc.remote_srqn));
  if (!request.elements.empty())
    text.word((wr.send_flags & IBV_SEND_INLINE) != 0 ? pieces(request)
                                                     : elements_text(request.elements));
  return text.text();
}

std::string show(const posted<ibv_recv_wr>& request) {
  fields text{"RECV"};
  text.add_unless_zero("wr_id", id(request.wr.wr_id));
  if (!request.elements.empty()) text.word(elements_text(request.elements));
  return text.text();
}

std::string show(const extended_request& request) {
  fields text{operation(request.opcode).text};
  text.add_unless_zero("wr_id", id(request.id));
  text.add_unless_zero("flags", send_flags(request.flags));
  const bool has_immediate =
      request.opcode == IBV_WR_SEND_WITH_IMM || request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  text.add_or_stray(has_immediate, "imm_data", big_endian(request.immediate));
  text.add_or_stray(request.opcode == IBV_WR_SEND_WITH_INV || request.opcode == IBV_WR_LOCAL_INV,
                    "invalidate_rkey", hex(request.invalidated_key));
  switch (request.opcode) {
    case IBV_WR_RDMA_WRITE_WITH_IMM:
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_READ: add_remote(text, request.remote_address, request.remote_key); break;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      add_remote(text, request.remote_address, request.remote_key);
      text.add("compare", hex(request.compare_or_add)).add("swap", hex(request.swap));
      break;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      add_remote(text, request.remote_address, request.remote_key);
      text.add("add", hex(request.compare_or_add));
      break;
    case IBV_WR_ATOMIC_WRITE:
      add_remote(text, request.remote_address, request.remote_key);
      text.add("value", hex(request.written));
      break;
    case IBV_WR_BIND_MW:
      text.object(request.window).add("rkey", hex(request.remote_key));
      text.add("bind_info", show(request.binding));
      break;
    case IBV_WR_TSO:
      text.add("hdr", {quoted(request.header), false}).add("mss", request.segment_size);
      break;
    default: break;
  }
  if (request.address != nullptr || request.remote_queue_pair != 0 || request.remote_queue_key != 0)
    text.object(request.address)
        .add("remote_qpn", hex(request.remote_queue_pair))
        .add("remote_qkey", hex(request.remote_queue_key));
  text.add_unless_zero("remote_srqn", hex(request.shared_receive_queue));
  if (!request.data_call.empty()) text.word(request.data_call);
  if (!request.elements.empty()) text.word(elements_text(request.elements));
  if (request.data_call.starts_with("inline")) text.word(quoted(request.inline_bytes));
  return text.text();
}

}  // namespace fake
