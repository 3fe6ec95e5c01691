// SPDX-License-Identifier: MIT
// Shared receive queues, XRC and tag matching.
#include "posting.hpp"

using namespace fake;

namespace fake {

// Not local, so that `show_all` finds it.
[[nodiscard]] std::string show(const posted<ibv_ops_wr>& operation) {
  const ibv_ops_wr& wr = operation.wr;
  const shown opcode = enumerator(
      wr.opcode,
      {{IBV_WR_TAG_ADD, "TAG_ADD"}, {IBV_WR_TAG_DEL, "TAG_DEL"}, {IBV_WR_TAG_SYNC, "TAG_SYNC"}});
  fields text{opcode.text};
  text.add_unless_zero("wr_id", id(wr.wr_id))
      .add_unless_zero("flags",
                       bits(static_cast<unsigned>(wr.flags),
                            {{IBV_OPS_SIGNALED, "SIGNALED"}, {IBV_OPS_TM_SYNC, "TM_SYNC"}}))
      .add_unless_zero("unexpected_cnt", wr.tm.unexpected_cnt);
  if (wr.opcode == IBV_WR_TAG_DEL) text.add("handle", wr.tm.handle);
  if (wr.opcode == IBV_WR_TAG_ADD) {
    text.add_unless_zero("recv_wr_id", id(wr.tm.add.recv_wr_id))
        .add("tag", hex(wr.tm.add.tag))
        .add("mask", hex(wr.tm.add.mask));
    if (!operation.elements.empty()) text.word(elements_text(operation.elements));
  }
  return text.text();
}

namespace {

ibv_srq* add_queue(ibv_pd* domain, void* user_context, const ibv_srq_attr& attributes) {
  auto& state = current().internals();
  auto made = std::make_unique<shared_receive_queue>();
  ibv_srq& native = made->native;
  native.context = domain->context;
  native.srq_context = user_context;
  native.pd = domain;
  native.handle = ++state.last_handle;
  made->attributes = attributes;
  made->number = 0x500 + native.handle;
  state.shared_receive_queues.add(std::move(made), &native);
  return &native;
}

bool fits(const ibv_srq_attr& asked, const ibv_device_attr& limits) {
  return asked.max_wr > 0 && asked.max_wr <= static_cast<std::uint32_t>(limits.max_srq_wr) &&
         asked.max_sge <= static_cast<std::uint32_t>(limits.max_srq_sge);
}

ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attributes) {
  if (refused<called::create_srq_ex>(about(context).members(fake::show(*attributes))))
    return nullptr;
  const device& device = device_of(context);
  const bool tags = attributes->srq_type == IBV_SRQT_TM;
  if (tags && device.extended.tm_caps.max_num_tags == 0) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  if (!fits(attributes->attr, device.attributes) ||
      (tags && (attributes->tm_cap.max_num_tags > device.extended.tm_caps.max_num_tags ||
                attributes->tm_cap.max_ops > device.extended.tm_caps.max_ops))) {
    errno = EINVAL;
    return nullptr;
  }
  return add_queue(attributes->pd, attributes->srq_context, attributes->attr);
}

int get_srq_num(ibv_srq* queue, std::uint32_t* number) {
  if (const int error = errno_of<called::get_srq_num>(about(queue))) return error;
  *number = current().internals().shared_receive_queues.at(queue).number;
  return 0;
}

int post_srq_recv(ibv_srq* queue, ibv_recv_wr* first, ibv_recv_wr** bad) {
  return answer<called::post_srq_recv>(queue, copy_of(first), first, bad);
}

std::vector<posted<ibv_ops_wr>> copy_of_operations(const ibv_ops_wr* first) {
  std::vector<posted<ibv_ops_wr>> operations;
  for (const ibv_ops_wr* each = first; each != nullptr; each = each->next) {
    posted<ibv_ops_wr> copy{*each, {}, {}};
    if (each->opcode == IBV_WR_TAG_ADD)  // The others leave these fields as they are.
      copy.elements = {each->tm.add.sg_list, each->tm.add.sg_list + each->tm.add.num_sge};
    copy.wr.next = nullptr;
    copy.wr.tm.add.sg_list = nullptr;
    operations.push_back(std::move(copy));
  }
  return operations;
}

int post_srq_ops(ibv_srq* queue, ibv_ops_wr* first, ibv_ops_wr** bad) {
  const int result = answer<called::post_srq_ops>(queue, copy_of_operations(first), first, bad);
  std::uint32_t& last = current().internals().shared_receive_queues.at(queue).last_tag_handle;
  if (result != 0 && *bad == nullptr) return result;
  for (ibv_ops_wr* each = first; each != *bad; each = each->next)
    if (each->opcode == IBV_WR_TAG_ADD) each->tm.handle = ++last;
  return result;
}

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attributes) {
  const auto has = [&](unsigned bit) { return (attributes->comp_mask & bit) != 0; };
  if (refused<called::open_xrcd>(
          about(context)
              .add_or_stray(has(IBV_XRCD_INIT_ATTR_FD), "fd", attributes->fd)
              .add_or_stray(has(IBV_XRCD_INIT_ATTR_OFLAGS), "oflags",
                            hex(static_cast<unsigned>(attributes->oflags)))
              .unknown_bits(attributes->comp_mask,
                            IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS)))
    return nullptr;
  auto made = std::make_unique<ibv_xrcd>(ibv_xrcd{context});
  ibv_xrcd* const native = made.get();
  current().internals().xrc_domains.add(std::move(made), native);
  return native;
}

int close_xrcd(ibv_xrcd* domain) {
  if (const int error = errno_of<called::close_xrcd>(about(domain))) return error;
  current().internals().xrc_domains.remove(domain);
  return 0;
}

}  // namespace

void install_shared_receive_queue_operations(verbs_context& context) {
  context.context.ops.post_srq_recv = post_srq_recv;
  context.create_srq_ex = create_srq_ex;
  context.get_srq_num = get_srq_num;
  context.post_srq_ops = post_srq_ops;
  context.open_xrcd = open_xrcd;
  context.close_xrcd = close_xrcd;
}

}  // namespace fake

ibv_srq* ibv_create_srq(ibv_pd* domain, ibv_srq_init_attr* attributes) {
  if (refused<called::create_srq>(about(domain).members(fake::show(*attributes)))) return nullptr;
  if (!fake::fits(attributes->attr, fake::device_of(domain->context).attributes)) {
    errno = EINVAL;
    return nullptr;
  }
  return fake::add_queue(domain, attributes->srq_context, attributes->attr);
}

int ibv_destroy_srq(ibv_srq* queue) {
  if (const int error = errno_of<called::destroy_srq>(about(queue))) return error;
  current().internals().shared_receive_queues.remove(queue);
  return 0;
}

int ibv_modify_srq(ibv_srq* queue, ibv_srq_attr* given, int mask) {
  if (const int error = errno_of<called::modify_srq>(
          about(queue)
              .add_or_stray((mask & IBV_SRQ_MAX_WR) != 0, "max_wr", given->max_wr)
              .add_or_stray((mask & IBV_SRQ_LIMIT) != 0, "srq_limit", given->srq_limit)
              .add_or_stray(false, "max_sge", given->max_sge)
              .unknown_bits(static_cast<unsigned>(mask), IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)))
    return error;
  ibv_srq_attr& known = current().internals().shared_receive_queues.at(queue).attributes;
  const ibv_device_attr& limits = fake::device_of(queue->context).attributes;
  if ((mask & IBV_SRQ_MAX_WR) != 0) {
    if ((limits.device_cap_flags & IBV_DEVICE_SRQ_RESIZE) == 0) return ENOSYS;
    if (given->max_wr < known.srq_limit ||
        given->max_wr > static_cast<std::uint32_t>(limits.max_srq_wr))
      return EINVAL;
    known.max_wr = given->max_wr;
  }
  if ((mask & IBV_SRQ_LIMIT) != 0) {
    if (given->srq_limit > known.max_wr) return EINVAL;
    known.srq_limit = given->srq_limit;
  }
  return 0;
}

int ibv_query_srq(ibv_srq* queue, ibv_srq_attr* attributes) {
  if (const int error = errno_of<called::query_srq>(about(queue))) return error;
  *attributes = current().internals().shared_receive_queues.at(queue).attributes;
  return 0;
}
