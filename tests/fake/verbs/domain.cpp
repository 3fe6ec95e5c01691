// SPDX-License-Identifier: MIT
// Thread domains, parent domains, device memory, and what is imported.
#include <algorithm>
#include <cstring>

#include "state.hpp"

using namespace fake;

namespace fake {
namespace {

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr*) {
  if (refused<called::alloc_td>(about(context))) return nullptr;
  auto made = std::make_unique<ibv_td>(ibv_td{context});
  ibv_td* const native = made.get();
  current().internals().thread_domains.add(std::move(made), native);
  return native;
}

int dealloc_td(ibv_td* domain) {
  if (const int error = errno_of<called::dealloc_td>(about(domain))) return error;
  current().internals().thread_domains.remove(domain);
  return 0;
}

ibv_pd* add_domain(ibv_context* context, std::uint32_t handle) {
  auto made = std::make_unique<ibv_pd>(ibv_pd{context, handle});
  ibv_pd* const native = made.get();
  current().internals().domains.add(std::move(made), native);
  return native;
}

// A parent domain has the number of the domain that it extends, as with the providers.
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes) {
  const auto has = [&](unsigned bit) { return (attributes->comp_mask & bit) != 0; };
  const bool allocates = has(IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS);
  const auto function = [](bool given) {
    return given ? shown{"given", false} : shown{"null", true};
  };
  if (refused<called::alloc_parent_domain>(
          about(context)
              .add("pd", name_of(attributes->pd))
              .add_unless_zero("td", name_of(attributes->td))
              .add_or_stray(allocates, "alloc", function(attributes->alloc != nullptr))
              .add_or_stray(allocates, "free", function(attributes->free != nullptr))
              .add_or_stray(has(IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT), "pd_context",
                            name_of(attributes->pd_context))
              .unknown_bits(attributes->comp_mask, IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
                                                       IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT),
          {*attributes}))
    return nullptr;
  return add_domain(context, attributes->pd->handle);
}

int memcpy_to_dm(ibv_dm* memory, std::uint64_t offset, const void* from, std::size_t length) {
  if (const int error = errno_of<called::memcpy_to_dm>(about(memory)
                                                           .add("dm_offset", offset)
                                                           .add("host_addr", name_of(from))
                                                           .add("length", length)))
    return error;
  std::memcpy(current().internals().device_memories.at(memory).bytes.data() + offset, from, length);
  return 0;
}

int memcpy_from_dm(void* to, ibv_dm* memory, std::uint64_t offset, std::size_t length) {
  if (const int error = errno_of<called::memcpy_from_dm>(fields{}
                                                             .add("host_addr", name_of(to))
                                                             .object(memory)
                                                             .add("dm_offset", offset)
                                                             .add("length", length)))
    return error;
  std::memcpy(to, current().internals().device_memories.at(memory).bytes.data() + offset, length);
  return 0;
}

ibv_dm* add_device_memory(ibv_context* context, std::uint32_t handle, std::size_t length) {
  auto made = std::make_unique<device_memory>();
  made->native = {context, memcpy_to_dm, memcpy_from_dm, IBV_DM_MASK_HANDLE, handle};
  made->bytes.resize(length);
  ibv_dm* const native = &made->native;
  current().internals().device_memories.add(std::move(made), native);
  return native;
}

ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attributes) {
  if (refused<called::alloc_dm>(about(context)
                                    .add("length", attributes->length)
                                    .add("log_align_req", attributes->log_align_req)
                                    .add_unless_zero("comp_mask", hex(attributes->comp_mask))))
    return nullptr;
  return add_device_memory(context, ++current().internals().last_handle, attributes->length);
}

int free_dm(ibv_dm* memory) {
  if (const int error = errno_of<called::free_dm>(about(memory))) return error;
  current().internals().device_memories.remove(memory);
  return 0;
}

/// The object of that number, or null and errno.
template <class Objects, class NumberOf>
auto* find(Objects& objects, std::uint32_t handle, const NumberOf& number_of) {
  const auto found = std::find_if(objects.begin(), objects.end(), [&](const auto& entry) {
    return number_of(*entry.second) == handle;
  });
  if (found != objects.end()) return found->second.get();
  errno = ENOENT;
  return decltype(found->second.get()){};
}

}  // namespace

void install_domain_operations(verbs_context& context) {
  context.alloc_td = alloc_td;
  context.dealloc_td = dealloc_td;
  context.alloc_parent_domain = alloc_parent_domain;
  context.alloc_dm = alloc_dm;
  context.free_dm = free_dm;
}

}  // namespace fake

// The process that is imported from is this one.

ibv_pd* ibv_import_pd(ibv_context* context, std::uint32_t handle) {
  if (refused<called::import_pd>(about(context).add("pd_handle", handle))) return nullptr;
  const ibv_pd* const found = fake::find(current().internals().domains, handle,
                                         [](const ibv_pd& domain) { return domain.handle; });
  return found == nullptr ? nullptr : fake::add_domain(context, handle);
}

void ibv_unimport_pd(ibv_pd* domain) {
  record<called::unimport_pd>(about(domain));
  current().internals().domains.remove(domain);
}

ibv_mr* ibv_import_mr(ibv_pd* domain, std::uint32_t handle) {
  if (refused<called::import_mr>(about(domain).add("mr_handle", handle))) return nullptr;
  const ibv_mr* const found = fake::find(current().internals().regions, handle,
                                         [](const ibv_mr& region) { return region.handle; });
  if (found == nullptr) return nullptr;
  ibv_mr* const imported = fake::add_region(domain, nullptr, found->length);
  imported->handle = handle;
  imported->lkey = found->lkey;
  imported->rkey = found->rkey;
  return imported;
}

void ibv_unimport_mr(ibv_mr* region) {
  record<called::unimport_mr>(about(region));
  current().internals().regions.remove(region);
}

ibv_dm* ibv_import_dm(ibv_context* context, std::uint32_t handle) {
  if (refused<called::import_dm>(about(context).add("dm_handle", handle))) return nullptr;
  const fake::device_memory* const found =
      fake::find(current().internals().device_memories, handle,
                 [](const fake::device_memory& memory) { return memory.native.handle; });
  return found == nullptr ? nullptr : fake::add_device_memory(context, handle, found->bytes.size());
}

void ibv_unimport_dm(ibv_dm* memory) {
  record<called::unimport_dm>(about(memory));
  current().internals().device_memories.remove(memory);
}
