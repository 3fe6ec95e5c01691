// SPDX-License-Identifier: MIT
// Memory windows.
#include "state.hpp"

namespace fake {
namespace {

ibv_mw* alloc_mw(ibv_pd* domain, ibv_mw_type type) {
  if (refused<called::alloc_mw>(about(domain).add("type", static_cast<int>(type)))) return nullptr;
  auto& state = current().internals();
  auto made = std::make_unique<ibv_mw>();
  made->context = domain->context;
  made->pd = domain;
  made->handle = ++state.last_handle;
  made->rkey = 0x300000 + made->handle * 0x100 + 0xfe;
  made->type = type;
  ibv_mw* const native = made.get();
  state.windows.add(std::move(made), native);
  return native;
}

int dealloc_mw(ibv_mw* window) {
  if (const int error = errno_of<called::dealloc_mw>(about(window))) return error;
  current().internals().windows.remove(window);
  return 0;
}

int bind_mw(ibv_qp* pair, ibv_mw* window, ibv_mw_bind* bind) {
  if (const int error =
          errno_of<called::bind_mw>(about(pair)
                                        .object(window)
                                        .add_unless_zero("wr_id", id(bind->wr_id))
                                        .add_unless_zero("send_flags", send_flags(bind->send_flags))
                                        .add("bind_info", fake::show(bind->bind_info))))
    return error;
  window->rkey = ibv_inc_rkey(window->rkey);
  return 0;
}

}  // namespace

void install_window_operations(verbs_context& context) {
  context.context.ops.alloc_mw = alloc_mw;
  context.context.ops.dealloc_mw = dealloc_mw;
  context.context.ops.bind_mw = bind_mw;
}

}  // namespace fake
