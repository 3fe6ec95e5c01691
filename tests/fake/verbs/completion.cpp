// SPDX-License-Identifier: MIT
// Completion channels and queues. A channel is a pipe, so that waiting on it and its non-blocking
// mode are real.
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

#include "rules.hpp"

using namespace fake;

namespace fake {
namespace {

/// Providers round up.
int rounded_up(std::int64_t entries) {
  int capacity = 1;
  while (capacity < entries) capacity *= 2;
  return capacity;
}

}  // namespace

completion_queue* make_completion_queue(ibv_context* context, std::int64_t entries,
                                        void* user_context, ibv_comp_channel* channel,
                                        std::int64_t vector) {
  if (entries < 1 || entries > device_of(context).attributes.max_cqe || vector < 0 ||
      vector >= context->num_comp_vectors) {
    errno = EINVAL;
    return nullptr;
  }
  machine::state& state = current().internals();
  auto made = std::make_unique<completion_queue>();
  made->native.context = context;
  made->native.channel = channel;
  made->native.cq_context = user_context;
  made->native.handle = ++state.last_handle;
  made->native.cqe = rounded_up(entries);
  ibv_cq* const native = ibv_cq_ex_to_cq(&made->native);
  return &state.queues.add(std::move(made), native);
}

}  // namespace fake

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  if (refused<called::create_comp_channel>(about(context))) return nullptr;
  int ends[2];
  if (::pipe(ends) != 0) return nullptr;
  auto made = std::make_unique<fake::channel>();
  made->native = {context, ends[0], 0};
  made->writing_end = ends[1];
  ibv_comp_channel* const native = &made->native;
  current().internals().channels.add(std::move(made), native);
  return native;
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  if (const int error = errno_of<called::destroy_comp_channel>(about(channel))) return error;
  if (fake::is_in_use(channel)) return EBUSY;
  auto& channels = current().internals().channels;
  ::close(channel->fd);
  ::close(channels.at(channel).writing_end);
  channels.remove(channel);
  return 0;
}

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** user_context) {
  if (refused<called::get_cq_event>(about(channel))) return -1;
  ibv_cq* named = nullptr;
  if (::read(channel->fd, &named, sizeof named) != sizeof named) return -1;
  ++current().internals().queues.at(named).taken_events;
  *queue = named;
  *user_context = named->cq_context;
  return 0;
}

void ibv_ack_cq_events(ibv_cq* queue, unsigned count) {
  record<called::ack_cq_events>(about(queue).add("nevents", count));
  current().internals().queues.at(queue).acknowledged_events += count;
}

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* user_context,
                      ibv_comp_channel* channel, int vector) {
  if (refused<called::create_cq>(about(context)
                                     .add("cqe", entries)
                                     .add_unless_zero("cq_context", name_of(user_context))
                                     .add_unless_zero("channel", name_of(channel))
                                     .add_unless_zero("comp_vector", vector)))
    return nullptr;
  fake::completion_queue* const made =
      fake::make_completion_queue(context, entries, user_context, channel, vector);
  return made == nullptr ? nullptr : ibv_cq_ex_to_cq(&made->native);
}

int ibv_resize_cq(ibv_cq* queue, int entries) {
  if (const int error = errno_of<called::resize_cq>(about(queue).add("cqe", entries))) return error;
  if (entries < 1 || entries > fake::device_of(queue->context).attributes.max_cqe ||
      current().entries(queue) > static_cast<std::size_t>(entries))
    return EINVAL;
  queue->cqe = fake::rounded_up(entries);
  return 0;
}

int ibv_destroy_cq(ibv_cq* queue) {
  if (const int error = errno_of<called::destroy_cq>(about(queue))) return error;
  if (fake::is_in_use(queue)) return EBUSY;
  if (current().unacknowledged(queue) != 0) {
    std::fputs("fake: ibv_destroy_cq would wait for ever for an event to be acknowledged\n",
               stderr);
    std::abort();
  }
  current().internals().queues.remove(queue);
  return 0;
}

namespace fake {
namespace {

int poll_cq(ibv_cq* queue, int count, ibv_wc* out) {
  if (const int error = errno_of<called::poll_cq>(about(queue).add("num_entries", count)))
    return -error;
  auto& entries = current().internals().queues.at(queue).entries;
  int taken = 0;
  for (; taken < count && !entries.empty(); ++taken) {
    out[taken] = entries.front().completion;
    entries.pop_front();
  }
  return taken;
}

int req_notify_cq(ibv_cq* queue, int solicited_only) {
  if (const int error =
          errno_of<called::req_notify_cq>(about(queue).add("solicited_only", solicited_only != 0)))
    return error;
  using arming = completion_queue::arming;
  current().internals().queues.at(queue).armed =
      solicited_only != 0 ? arming::solicited : arming::any;
  return 0;
}

int modify_cq(ibv_cq* queue, ibv_modify_cq_attr* attributes) {
  const bool moderates = (attributes->attr_mask & IBV_CQ_ATTR_MODERATE) != 0;
  if (const int error = errno_of<called::modify_cq>(
          about(queue)
              .add_or_stray(moderates, "cq_count", attributes->moderate.cq_count)
              .add_or_stray(moderates, "cq_period", attributes->moderate.cq_period)
              .unknown_bits(attributes->attr_mask, IBV_CQ_ATTR_MODERATE)))
    return error;
  const ibv_cq_moderation_caps& limits = device_of(queue->context).extended.cq_mod_caps;
  if (limits.max_cq_count == 0) return EOPNOTSUPP;
  return attributes->moderate.cq_count > limits.max_cq_count ||
                 attributes->moderate.cq_period > limits.max_cq_period
             ? EINVAL
             : 0;
}

}  // namespace

void install_completion_operations(verbs_context& context) {
  context.modify_cq = modify_cq;
  context.context.ops.poll_cq = poll_cq;
  context.context.ops.req_notify_cq = req_notify_cq;
}

void machine::complete(ibv_cq* queue, const ibv_wc& completion, bool solicited) {
  using arming = completion_queue::arming;
  completion_queue& found = state_->queues.at(queue);
  found.entries.push_back({completion, {}});
  finish_requests(queue, completion);
  const bool wanted =
      found.armed == arming::any ||
      (found.armed == arming::solicited && (solicited || completion.status != IBV_WC_SUCCESS));
  if (!wanted) return;
  found.armed = arming::none;
  if (queue->channel != nullptr) announce(queue);
}

void machine::complete(ibv_cq_ex* queue, const ibv_wc& completion, const extended_fields& fields) {
  complete(ibv_cq_ex_to_cq(queue), completion);
  state_->queues.at(ibv_cq_ex_to_cq(queue)).entries.back().fields = fields;
}

std::size_t machine::entries(const ibv_cq* queue) const {
  return state_->queues.at(queue).entries.size();
}

void machine::announce(ibv_cq* queue) {
  const int end = state_->channels.at(queue->channel).writing_end;
  if (::write(end, &queue, sizeof queue) != sizeof queue) std::abort();
}

}  // namespace fake
