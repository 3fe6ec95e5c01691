/* SPDX-License-Identifier: MIT */
/* Loaded before a program (LD_PRELOAD) that polls, and shares its only processor with the one that it
   waits for: after a poll that found nothing, and after one that tells of something sent, it is the
   other one's turn. Without, each would poll until the kernel ends its time slice. */
#include <dlfcn.h>
#include <sched.h>

#include <infiniband/verbs.h>

typedef struct ibv_context* open_function(struct ibv_device*);

static int (*provider_poll)(struct ibv_cq*, int, struct ibv_wc*);

static int poll_in_turns(struct ibv_cq* queue, int limit, struct ibv_wc* found) {
  const int count = provider_poll(queue, limit, found);
  if (count == 0 || (count > 0 && (found[0].opcode & IBV_WC_RECV) == 0)) sched_yield();
  return count;
}

/* Stands before that of libibverbs. */
__attribute__((visibility("default"))) struct ibv_context* ibv_open_device(
    struct ibv_device* device) {
  open_function* open_next = NULL;
  *(void**)&open_next = dlsym(RTLD_NEXT, "ibv_open_device");
  struct ibv_context* const context = open_next == NULL ? NULL : open_next(device);
  if (context == NULL || context->ops.poll_cq == poll_in_turns) return context;
  provider_poll = context->ops.poll_cq;
  context->ops.poll_cq = poll_in_turns;
  return context;
}
