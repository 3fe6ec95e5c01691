/* One of the runner's own outputs, to which the commands' outputs go. */
#ifndef SOFTRDMA_HOST_SINK_H
#define SOFTRDMA_HOST_SINK_H

#include "../shared/frame.h"

struct sink {
  int fd;
  bool closed; /* nobody reads it any more */
  struct bytes pending;
};

/* True as long as it should be given more. */
bool sink_has_room(const struct sink* sink);

/* Writes what it takes without waiting; call when poll(2) says that it is writable. */
void sink_write(struct sink* sink);

#endif
