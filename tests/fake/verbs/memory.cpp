// SPDX-License-Identifier: MIT
// Protection domains and memory regions.
#include "rules.hpp"

// These are macros that choose among the functions below.
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

using namespace fake;

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  if (refused<called::alloc_pd>(about(context))) return nullptr;
  auto& state = current().internals();
  auto made = std::make_unique<ibv_pd>(ibv_pd{context, ++state.last_handle});
  ibv_pd* const native = made.get();
  state.domains.add(std::move(made), native);
  return native;
}

int ibv_dealloc_pd(ibv_pd* domain) {
  if (const int error = errno_of<called::dealloc_pd>(about(domain))) return error;
  if (fake::is_in_use(domain)) return EBUSY;
  current().internals().domains.remove(domain);
  return 0;
}

namespace fake {

ibv_mr* add_region(ibv_pd* domain, void* memory, std::size_t length) {
  auto& state = current().internals();
  auto made = std::make_unique<ibv_mr>();
  made->context = domain->context;
  made->pd = domain;
  made->addr = memory;
  made->length = length;
  made->handle = ++state.last_handle;
  made->lkey = 0x1000 + made->handle;
  made->rkey = 0x2000 + made->handle;
  ibv_mr* const native = made.get();
  state.regions.add(std::move(made), native);
  name_region(*native, reinterpret_cast<std::uintptr_t>(memory));
  return native;
}

}  // namespace fake

ibv_mr* ibv_reg_mr_iova2(ibv_pd* domain, void* memory, std::size_t length,
                         std::uint64_t device_address, unsigned access) {
  fields arguments = about(domain).add("addr", name_of(memory)).add("length", length);
  if (device_address != reinterpret_cast<std::uintptr_t>(memory))
    arguments.add("iova", hex(device_address));
  if (refused<called::reg_mr>(arguments.add("access", fake::access(access)))) return nullptr;
  if (const int error = fake::refusal_of_memory(memory, length, access)) {
    errno = error;
    return nullptr;
  }
  ibv_mr* const made = fake::add_region(domain, memory, length);
  fake::name_region(*made, device_address);
  return made;
}

ibv_mr* ibv_reg_mr_iova(ibv_pd* domain, void* memory, std::size_t length,
                        std::uint64_t device_address, int access) {
  return ibv_reg_mr_iova2(domain, memory, length, device_address, static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr(ibv_pd* domain, void* memory, std::size_t length, int access) {
  return ibv_reg_mr_iova(domain, memory, length, reinterpret_cast<std::uintptr_t>(memory), access);
}

int ibv_dereg_mr(ibv_mr* region) {
  if (const int error = errno_of<called::dereg_mr>(about(region))) return error;
  current().internals().regions.remove(region);
  return 0;
}
