#include "sink.h"

#include <errno.h>

/*
 * The descriptor is shared with whoever started the runner, so it is not made non-blocking; a pipe
 * that is writable takes this much without blocking.
 */
enum { piece = 4096, pending_limit = 256 * 1024 };

bool sink_has_room(const struct sink* sink) { return bytes_size(&sink->pending) < pending_limit; }

void sink_write(struct sink* sink) {
  if (bytes_write(&sink->pending, sink->fd, piece) < 0 && errno != EINTR && errno != EAGAIN)
    sink->closed = true;
  if (sink->closed) bytes_consume(&sink->pending, bytes_size(&sink->pending));
}
