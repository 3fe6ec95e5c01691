/* SPDX-License-Identifier: MIT */
/* A ring of entries in C, with the protocol of docs/wire.md over RC: the reader has the slots, and
   the writer writes to free ones with immediate data. Sizes are known at run time. Functions return
   0 or an errno unless they say otherwise. One thread runs a connection. */
#pragma once

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ring_sizes {
  uint32_t slots;
  uint32_t slot_size;
  uint32_t distance;
  uint32_t receives;
  uint32_t block_size;
  uint32_t max_sends;
};

/* A request in progress. */
struct operation {
  void (*complete)(struct operation* self, const struct ibv_wc* done);
};

/* An entry that has arrived. */
struct ring_entry {
  const char* bytes;
  uint32_t length;
  uint32_t slot;
};

struct ring_connection;
struct ring_reader;
struct ring_writer;

/* Posts the receives of a connected pair, all of whose memory is in `region`. Null on failure. */
struct ring_connection* ring_connection_create(struct ibv_qp* pair, struct ibv_cq* queue,
                                               struct ibv_pd* domain,
                                               const struct ring_sizes* sizes);
/* Takes the completions that are there. Fails with EPROTO if the peer violates the protocol. */
int ring_connection_poll(struct ring_connection* of);

struct ring_reader* ring_reader_create(struct ring_connection* of);
/* Returns false if no entry is there. */
bool ring_next(struct ring_reader* of, struct ring_entry* next);
/* The slot of an entry goes back to the writer. */
int ring_free(struct ring_reader* of, uint32_t slot);

/* Makes the writer for the ring of this reader. */
struct ring_writer* ring_writer_create(struct ring_connection* of,
                                       const struct ring_reader* reader);
/* Returns the number of slots that can be claimed. */
uint32_t ring_room(const struct ring_writer* of);
/* Returns the memory of an entry to fill. Null with errno ENOBUFS or EMSGSIZE. */
void* ring_claim(struct ring_writer* of, uint32_t size);
/* Writes what was claimed with one doorbell, as soon as the send queue has room. */
int ring_publish(struct ring_writer* of);

#ifdef __cplusplus
}
#endif
