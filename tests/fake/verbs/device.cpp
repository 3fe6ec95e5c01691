// SPDX-License-Identifier: MIT
// Device lists, contexts, and their queries.
#include <algorithm>
#include <array>
#include <cstring>

#include <endian.h>
#include <unistd.h>

#include "state.hpp"

#undef ibv_query_port

using namespace fake;

namespace fake {
namespace {

// The inline functions of verbs.h go through the operations of the context: each part of the fake
// puts in its own.
constexpr std::array every_part{
    install_device_operations,
    install_clock_operations,
    install_completion_operations,
    install_extended_completion_operations,
    install_window_operations,
    install_queue_operations,
    install_shared_receive_queue_operations,
    install_work_queue_operations,
    install_steering_operations,
    install_domain_operations,
    install_registration_operations,
};

}  // namespace

ibv_context* open_context_on(std::size_t device) {
  auto& state = current().internals();
  auto opened = std::make_unique<open_context>();
  opened->device = device;
  opened->native.sz = sizeof opened->native;
  ibv_context& context = opened->native.context;
  context.device = state.natives.at(device).get();
  context.cmd_fd = -1;
  open_async_events(*opened);
  context.num_comp_vectors = current().devices.at(device).completion_vectors;
  // The value of __VERBS_ABI_IS_EXTENDED, in a form that -Wold-style-cast accepts too.
  if (current().devices.at(device).extended_queries)
    context.abi_compat = reinterpret_cast<void*>(UINTPTR_MAX);
  for (const auto install : every_part) install(opened->native);
  state.contexts.add(std::move(opened), &context);
  return &context;
}

}  // namespace fake

ibv_device** ibv_get_device_list(int* count) {
  if (count != nullptr) *count = 0;
  if (refused<called::get_device_list>()) return nullptr;
  auto& state = current().internals();
  const auto& devices = current().devices;
  auto list = std::make_unique<std::vector<ibv_device*>>();
  for (std::size_t index = 0; index < devices.size(); ++index) {
    if (index == state.natives.size()) state.natives.push_back(std::make_unique<ibv_device>());
    ibv_device& native = *state.natives[index];
    native.node_type = IBV_NODE_CA;
    native.transport_type = IBV_TRANSPORT_IB;
    std::strncpy(native.name, devices[index].name.c_str(), sizeof native.name - 1);
    std::strncpy(native.dev_name, ("uverbs" + std::to_string(index)).c_str(),
                 sizeof native.dev_name - 1);
    std::strcpy(native.dev_path, "/");
    list->push_back(&native);
  }
  list->push_back(nullptr);
  if (count != nullptr) *count = static_cast<int>(devices.size());
  ibv_device** const first = list->data();
  state.lists.add(std::move(list), first);
  return first;
}

void ibv_free_device_list(ibv_device** list) {
  record<called::free_device_list>();
  current().internals().lists.remove(list);
}

const char* ibv_get_device_name(ibv_device* device) { return device->name; }

ibv_context* ibv_open_device(ibv_device* device) {
  if (refused<called::open_device>(fields{}.word(device->name))) return nullptr;
  auto& state = current().internals();
  std::size_t index = 0;
  while (state.natives.at(index).get() != device) ++index;

  return fake::open_context_on(index);
}

int ibv_close_device(ibv_context* context) {
  record<called::close_device>(about(context));
  auto& contexts = current().internals().contexts;
  fake::close_async_events(contexts.at(context));
  if (context->cmd_fd != -1) ::close(context->cmd_fd);
  contexts.remove(context);
  return 0;
}

int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  if (const int error = errno_of<called::query_device>()) return error;
  *attributes = fake::device_of(context).attributes;
  return 0;
}

int ibv_query_port(ibv_context* context, std::uint8_t number, _compat_ibv_port_attr* attributes) {
  if (const int error =
          errno_of<called::query_port>(fields{}.word("(the old function)").add("port_num", number)))
    return error;
  const fake::port* const port = fake::port_of(context, number);
  if (port == nullptr) return EINVAL;
  // The old layout ends before `flags`.
  std::memcpy(attributes, &port->attributes, offsetof(ibv_port_attr, flags));
  return 0;
}

int ibv_query_gid(ibv_context* context, std::uint8_t number, int index, ibv_gid* gid) {
  if (refused<called::query_gid>(fields{}.add("port_num", number).add("index", index))) return -1;
  const fake::port* const port = fake::port_of(context, number);
  if (port == nullptr || index < 0 || index >= port->attributes.gid_tbl_len) {
    errno = EINVAL;
    return -1;
  }
  *gid = {};
  for (const ibv_gid_entry& entry : port->gids)
    if (entry.gid_index == static_cast<std::uint32_t>(index)) *gid = entry.gid;
  return 0;
}

int _ibv_query_gid_ex(ibv_context* context, std::uint32_t number, std::uint32_t index,
                      ibv_gid_entry* entry, std::uint32_t, std::size_t) {
  if (const int error =
          errno_of<called::query_gid_ex>(fields{}.add("port_num", number).add("gid_index", index)))
    return error;
  const fake::port* const port = fake::port_of(context, number);
  if (port == nullptr || index >= static_cast<std::uint32_t>(port->attributes.gid_tbl_len))
    return EINVAL;
  for (const ibv_gid_entry& candidate : port->gids) {
    if (candidate.gid_index != index) continue;
    *entry = candidate;
    return 0;
  }
  return ENODATA;
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t max_entries,
                             std::uint32_t, std::size_t) {
  if (const int error = errno_of<called::query_gid_table>(fields{}.add("max_entries", max_entries)))
    return -error;
  std::size_t count = 0;
  for (const fake::port& port : fake::device_of(context).ports)
    for (const ibv_gid_entry& entry : port.gids) {
      if (count == max_entries) return -EINVAL;
      entries[count++] = entry;
    }
  return static_cast<ssize_t>(count);
}

int ibv_query_pkey(ibv_context* context, std::uint8_t number, int index, __be16* pkey) {
  if (refused<called::query_pkey>(fields{}.add("port_num", number).add("index", index))) return -1;
  const fake::port* const port = fake::port_of(context, number);
  if (port == nullptr || index < 0 || static_cast<std::size_t>(index) >= port->pkeys.size()) {
    errno = EINVAL;
    return -1;
  }
  *pkey = htobe16(port->pkeys[static_cast<std::size_t>(index)]);
  return 0;
}

namespace fake {
namespace {

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input*,
                    ibv_device_attr_ex* attributes, std::size_t size) {
  if (const int error = errno_of<called::query_device>(fields{"ibv_query_device_ex"})) return error;
  std::memcpy(attributes, &device_of(context).extended, size);
  attributes->orig_attr = device_of(context).attributes;
  return 0;
}

int query_port(ibv_context* context, std::uint8_t number, ibv_port_attr* attributes, std::size_t) {
  if (const int error = errno_of<called::query_port>(fields{}.add("port_num", number)))
    return error;
  const port* const found = port_of(context, number);
  if (found == nullptr) return EINVAL;
  *attributes = found->attributes;
  return 0;
}

}  // namespace

void install_device_operations(verbs_context& context) {
  context.query_device_ex = query_device_ex;
  context.query_port = query_port;
}

}  // namespace fake
