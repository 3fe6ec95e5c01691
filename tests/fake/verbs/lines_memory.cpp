// SPDX-License-Identifier: MIT
// The lines of domains, memory, registrations and windows.
#include "../calls.hpp"
#include "../render.hpp"

namespace fake::called {

std::string alloc_pd::line() const { return fields{"ibv_alloc_pd"}.object(context).text(); }
std::string dealloc_pd::line() const { return fields{"ibv_dealloc_pd"}.object(domain).text(); }
std::string reg_mr::line() const {
  fields text{"ibv_reg_mr"};
  text.object(domain).add("addr", name_of(memory)).add("length", length);
  if (device_address != reinterpret_cast<std::uintptr_t>(memory))
    text.add("iova", hex(device_address));
  return text.add("access", fake::access(access)).text();
}
std::string dereg_mr::line() const { return fields{"ibv_dereg_mr"}.object(region).text(); }

std::string alloc_td::line() const { return fields{"ibv_alloc_td"}.object(context).text(); }
std::string dealloc_td::line() const { return fields{"ibv_dealloc_td"}.object(domain).text(); }
std::string alloc_parent_domain::line() const {
  const auto has = [&](unsigned bit) { return (attributes.comp_mask & bit) != 0; };
  const bool allocates = has(IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS);
  const auto function = [](bool given) {
    return given ? shown{"given", false} : shown{"null", true};
  };
  return fields{"ibv_alloc_parent_domain"}
      .object(context)
      .add("pd", name_of(attributes.pd))
      .add_unless_zero("td", name_of(attributes.td))
      .add_or_stray(allocates, "alloc", function(attributes.alloc != nullptr))
      .add_or_stray(allocates, "free", function(attributes.free != nullptr))
      .add_or_stray(has(IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT), "pd_context",
                    name_of(attributes.pd_context))
      .unknown_bits(attributes.comp_mask,
                    IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
      .text();
}

std::string alloc_dm::line() const {
  return fields{"ibv_alloc_dm"}
      .object(context)
      .add("length", attributes.length)
      .add("log_align_req", attributes.log_align_req)
      .add_unless_zero("comp_mask", hex(attributes.comp_mask))
      .text();
}
std::string free_dm::line() const { return fields{"ibv_free_dm"}.object(memory).text(); }
std::string memcpy_to_dm::line() const {
  return fields{"ibv_memcpy_to_dm"}
      .object(memory)
      .add("dm_offset", offset)
      .add("host_addr", name_of(from))
      .add("length", length)
      .text();
}
std::string memcpy_from_dm::line() const {
  return fields{"ibv_memcpy_from_dm"}
      .add("host_addr", name_of(to))
      .object(memory)
      .add("dm_offset", offset)
      .add("length", length)
      .text();
}

std::string import_pd::line() const {
  return fields{"ibv_import_pd"}.object(context).add("pd_handle", handle).text();
}
std::string unimport_pd::line() const { return fields{"ibv_unimport_pd"}.object(domain).text(); }
std::string import_mr::line() const {
  return fields{"ibv_import_mr"}.object(domain).add("mr_handle", handle).text();
}
std::string unimport_mr::line() const { return fields{"ibv_unimport_mr"}.object(region).text(); }
std::string import_dm::line() const {
  return fields{"ibv_import_dm"}.object(context).add("dm_handle", handle).text();
}
std::string unimport_dm::line() const { return fields{"ibv_unimport_dm"}.object(memory).text(); }

std::string reg_dmabuf_mr::line() const {
  return fields{"ibv_reg_dmabuf_mr"}
      .object(domain)
      .add("offset", offset)
      .add("length", length)
      .add("iova", hex(device_address))
      .add("fd", file_descriptor)
      .add("access", fake::access(static_cast<unsigned>(access)))
      .text();
}
std::string reg_dm_mr::line() const {
  return fields{"ibv_reg_dm_mr"}
      .object(domain)
      .object(memory)
      .add("dm_offset", offset)
      .add("length", length)
      .add("access", fake::access(access))
      .text();
}
std::string alloc_null_mr::line() const {
  return fields{"ibv_alloc_null_mr"}.object(domain).text();
}
std::string rereg_mr::line() const {
  const auto has = [&](int flag) { return (flags & flag) != 0; };
  const bool moves = has(IBV_REREG_MR_CHANGE_TRANSLATION);
  return fields{"ibv_rereg_mr"}
      .object(region)
      .add_or_stray(has(IBV_REREG_MR_CHANGE_PD), "pd", name_of(domain))
      .add_or_stray(moves, "addr", name_of(memory))
      .add_or_stray(moves, "length", length)
      .add_or_stray(has(IBV_REREG_MR_CHANGE_ACCESS), "access",
                    fake::access(static_cast<unsigned>(access)))
      .unknown_bits(static_cast<unsigned>(flags), 7)
      .text();
}
std::string advise_mr::line() const {
  const shown what = enumerator(advice, {{IBV_ADVISE_MR_ADVICE_PREFETCH, "PREFETCH"},
                                         {IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, "PREFETCH_WRITE"},
                                         {2, "PREFETCH_NO_FAULT"}});
  return fields{"ibv_advise_mr"}
      .object(domain)
      .word(what.text)
      .add("flags", bits(flags, {{IBV_ADVISE_MR_FLAG_FLUSH, "FLUSH"}}))
      .word(elements_text(elements))
      .text();
}

std::string alloc_mw::line() const {
  return fields{"ibv_alloc_mw"}.object(domain).add("type", static_cast<int>(type)).text();
}
std::string dealloc_mw::line() const { return fields{"ibv_dealloc_mw"}.object(window).text(); }
std::string bind_mw::line() const {
  return fields{"ibv_bind_mw"}
      .object(pair)
      .object(window)
      .add_unless_zero("wr_id", id(bind.wr_id))
      .add_unless_zero("send_flags", send_flags(bind.send_flags))
      .add("bind_info", show(bind.bind_info))
      .text();
}

}  // namespace fake::called
