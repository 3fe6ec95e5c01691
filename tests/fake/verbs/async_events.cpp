// SPDX-License-Identifier: MIT
// Asynchronous events: a pipe, so that waiting for them and the non-blocking mode are real.
#include <cstdlib>

#include <unistd.h>

#include "state.hpp"

using fake::current;
using fake::record;
using fake::refused;
namespace called = fake::called;

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  if (refused(called::get_async_event{context})) return -1;
  return ::read(context->async_fd, event, sizeof *event) == sizeof *event ? 0 : -1;
}

void ibv_ack_async_event(ibv_async_event* event) { record(called::ack_async_event{*event}); }

namespace fake {

void open_async_events(open_context& context) {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  context.native.context.async_fd = ends[0];
  context.async_writing_end = ends[1];
}

void close_async_events(open_context& context) {
  ::close(context.native.context.async_fd);
  ::close(context.async_writing_end);
}

void machine::raise(ibv_context* context, const ibv_async_event& event) {
  const int end = state_->contexts.at(context).async_writing_end;
  if (::write(end, &event, sizeof event) != sizeof event) std::abort();
}

}  // namespace fake
