// SPDX-License-Identifier: MIT
// The registrations besides ibv_reg_mr, and what is done with a region afterwards.
#include <limits>

#include "state.hpp"

using namespace fake;

namespace fake {
namespace {

ibv_mr* reg_dm_mr(ibv_pd* domain, ibv_dm* memory, std::uint64_t offset, std::size_t length,
                  unsigned access) {
  if (refused<called::reg_dm_mr>(about(domain)
                                     .object(memory)
                                     .add("dm_offset", offset)
                                     .add("length", length)
                                     .add("access", fake::access(access))))
    return nullptr;
  return add_region(domain, nullptr, length);
}

ibv_mr* alloc_null_mr(ibv_pd* domain) {
  if (refused<called::alloc_null_mr>(about(domain))) return nullptr;
  return add_region(domain, nullptr, std::numeric_limits<std::size_t>::max());
}

int advise_mr(ibv_pd* domain, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* elements,
              std::uint32_t count) {
  const shown what = enumerator(advice, {{IBV_ADVISE_MR_ADVICE_PREFETCH, "PREFETCH"},
                                         {IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, "PREFETCH_WRITE"},
                                         {2, "PREFETCH_NO_FAULT"}});
  return errno_of<called::advise_mr>(
      about(domain)
          .word(what.text)
          .add("flags", bits(flags, {{IBV_ADVISE_MR_FLAG_FLUSH, "FLUSH"}}))
          .word(elements_text({elements, elements + count})));
}

}  // namespace

void install_registration_operations(verbs_context& context) {
  context.reg_dm_mr = reg_dm_mr;
  context.alloc_null_mr = alloc_null_mr;
  context.advise_mr = advise_mr;
}

}  // namespace fake

ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* domain, std::uint64_t offset, std::size_t length,
                          std::uint64_t device_address, int file_descriptor, int access) {
  if (refused<called::reg_dmabuf_mr>(
          about(domain)
              .add("offset", offset)
              .add("length", length)
              .add("iova", hex(device_address))
              .add("fd", file_descriptor)
              .add("access", fake::access(static_cast<unsigned>(access)))))
    return nullptr;
  ibv_mr* const made = fake::add_region(domain, nullptr, length);
  fake::name_region(*made, device_address);
  return made;
}

int ibv_rereg_mr(ibv_mr* region, int flags, ibv_pd* domain, void* memory, std::size_t length,
                 int access) {
  const auto has = [&](int flag) { return (flags & flag) != 0; };
  const bool moves = has(IBV_REREG_MR_CHANGE_TRANSLATION);
  const bool fails = refused<called::rereg_mr>(
      about(region)
          .add_or_stray(has(IBV_REREG_MR_CHANGE_PD), "pd", name_of(domain))
          .add_or_stray(moves, "addr", name_of(memory))
          .add_or_stray(moves, "length", length)
          .add_or_stray(has(IBV_REREG_MR_CHANGE_ACCESS), "access",
                        fake::access(static_cast<unsigned>(access)))
          .unknown_bits(static_cast<unsigned>(flags), 7));
  const int result = fails ? current().reregistration_failure : 0;
  if (result != 0 && result != IBV_REREG_MR_ERR_DO_FORK_OLD) return result;
  if ((flags & IBV_REREG_MR_CHANGE_PD) != 0) region->pd = domain;
  if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0) {
    region->addr = memory;
    region->length = length;
    region->lkey += 0x10000;  // The key changes, as with mlx5.
    region->rkey += 0x10000;
    fake::name_region(*region, reinterpret_cast<std::uintptr_t>(memory));
  }
  return result;
}
