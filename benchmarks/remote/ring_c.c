/* SPDX-License-Identifier: MIT */
#include "ring_c.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { polled_at_once = 16, frame_size = 256, frame_front = 4, most_freed = 63, type_freed = 1 };
static const uint32_t slot_mask = (1U << 24) - 1;

/* A queue of numbers with room for each slot once. */
struct queue {
  uint32_t* numbers;
  uint32_t mask;
  uint32_t head;
  uint32_t tail;
};

struct block {
  struct operation received;
  struct ring_connection* owner;
  const char* bytes;
  struct ibv_sge element;
  struct ibv_recv_wr request;
};

struct ring_connection {
  struct operation sent;
  struct ibv_qp* pair;
  struct ibv_cq* completions;
  struct ibv_pd* domain;
  struct ring_sizes sizes;
  struct ibv_mr* region;
  struct block* blocks;
  /* The send queue: requests in progress as far as completions show, and those behind the last that
     is signaled. */
  uint32_t in_progress;
  uint32_t unsignaled;
  uint32_t signal_every;
  /* The memory of frames, one more than fit into the send queue. */
  char* frames;
  uint32_t next_frame;
  struct ring_reader* reader;
  struct ring_writer* writer;
  int error;
};

struct reader_slot {
  uint8_t generation;
  bool is_here;
};

struct ring_reader {
  struct ring_connection* connection;
  struct ibv_mr* region;
  char* bytes;
  struct reader_slot* states;
  struct queue arrived;
  uint32_t* lengths; /* by slot */
  struct queue freed;
  uint32_t at_once;
  uint32_t with_writer;
  uint32_t held;
};

struct writer_slot {
  uint8_t generation;
  bool is_in_flight;
};

struct ring_writer {
  struct ring_connection* connection;
  struct ibv_mr* region;
  char* bytes;
  uint64_t remote_address;
  struct writer_slot* states;
  struct queue free;
  /* The requests of claims, linked to a circle. */
  struct ibv_send_wr* requests;
  struct ibv_sge* elements;
  uint32_t* claims; /* the slot of each request */
  uint32_t request_mask;
  /* Numbers of entries, modulo 2^32. */
  uint32_t claimed;
  uint32_t published;
  uint32_t posted;
};

static uint32_t power_of_two_from(uint32_t least) {
  uint32_t size = 1;
  while (size < least) size *= 2;
  return size;
}

static int queue_init(struct queue* of, uint32_t slots) {
  of->mask = power_of_two_from(slots) - 1;
  of->numbers = calloc(of->mask + 1, sizeof *of->numbers);
  return of->numbers == NULL ? ENOMEM : 0;
}
static void queue_push(struct queue* of, uint32_t number) {
  of->numbers[of->tail++ & of->mask] = number;
}
static uint32_t queue_pop(struct queue* of) { return of->numbers[of->head++ & of->mask]; }
static uint32_t queue_size(const struct queue* of) { return of->tail - of->head; }

static uint32_t encode_place(uint32_t slot, uint8_t generation) {
  return slot | (uint32_t)generation << 24;
}

/* The send queue. */

static uint32_t room_of_sends(const struct ring_connection* of) {
  return of->sizes.max_sends - of->in_progress;
}

/* Decides on the signal of the next request, and counts it. */
static unsigned flags_of_next_send(struct ring_connection* of) {
  ++of->in_progress;
  if (++of->unsignaled != of->signal_every) return 0;
  of->unsignaled = 0;
  return IBV_SEND_SIGNALED;
}

static int post_frame(struct ring_connection* of, char* frame, uint32_t size) {
  struct ibv_sge element = {(uintptr_t)frame, size, of->region->lkey};
  struct ibv_send_wr request;
  struct ibv_send_wr* bad;
  request.wr_id = (uintptr_t)&of->sent;
  request.next = NULL;
  request.sg_list = &element;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = flags_of_next_send(of);
  return ibv_post_send(of->pair, &request, &bad);
}

/* The reader. */

static bool owes_acknowledgement(const struct ring_reader* of) {
  const uint32_t freed = queue_size(&of->freed);
  return freed >= of->at_once ||
         (queue_size(&of->arrived) == 0 && freed != 0 && of->with_writer == 0);
}

/* Acknowledges what is due, as far as the send queue has room. */
static int acknowledge(struct ring_reader* of) {
  struct ring_connection* const connection = of->connection;
  while (owes_acknowledgement(of)) {
    if (room_of_sends(connection) == 0) return 0;
    char* const frame = connection->frames + (size_t)connection->next_frame * frame_size;
    uint32_t count = queue_size(&of->freed);
    if (count > of->at_once) count = of->at_once;
    frame[0] = type_freed;
    frame[1] = (char)count;
    frame[2] = frame[3] = 0;
    for (uint32_t each = 0; each < count; ++each) {
      const uint32_t slot = queue_pop(&of->freed);
      struct reader_slot* const state = &of->states[slot];
      const uint32_t place = htole32(encode_place(slot, state->generation));
      memcpy(frame + frame_front + 4 * each, &place, 4);
      ++state->generation;
      state->is_here = false;
    }
    of->with_writer += count;
    const int error = post_frame(connection, frame, frame_front + 4 * count);
    if (error != 0) return error;
    if (++connection->next_frame > connection->sizes.max_sends) connection->next_frame = 0;
  }
  return 0;
}

static int entry_arrived(struct ring_reader* of, uint32_t place, uint32_t length) {
  const uint32_t slot = place & slot_mask;
  if (slot >= of->connection->sizes.slots) return EPROTO;
  if (length > of->connection->sizes.slot_size) return EPROTO;
  struct reader_slot* const state = &of->states[slot];
  if (state->is_here || state->generation != place >> 24) return EPROTO;
  state->is_here = true;
  --of->with_writer;
  of->lengths[slot] = length;
  queue_push(&of->arrived, slot);
  return 0;
}

bool ring_next(struct ring_reader* of, struct ring_entry* next) {
  if (queue_size(&of->arrived) == 0) return false;
  const uint32_t slot = queue_pop(&of->arrived);
  ++of->held;
  next->bytes = of->bytes + (size_t)slot * of->connection->sizes.distance;
  next->length = of->lengths[slot];
  next->slot = slot;
  return true;
}

int ring_free(struct ring_reader* of, uint32_t slot) {
  --of->held;
  queue_push(&of->freed, slot);
  return owes_acknowledgement(of) ? acknowledge(of) : 0;
}

/* The writer. */

uint32_t ring_room(const struct ring_writer* of) { return queue_size(&of->free); }

/* Posts what was published, as far as the send queue has room. */
static int post_writes(struct ring_writer* of) {
  struct ring_connection* const connection = of->connection;
  uint32_t count = of->published - of->posted;
  if (count > room_of_sends(connection)) count = room_of_sends(connection);
  if (count == 0) return 0;
  struct ibv_send_wr* const first = &of->requests[of->posted & of->request_mask];
  struct ibv_send_wr* last = first;
  struct ibv_send_wr* bad;
  for (uint32_t each = 0; each < count; ++each) {
    const uint32_t index = of->posted++ & of->request_mask;
    last = &of->requests[index];
    last->send_flags = flags_of_next_send(connection);
    of->states[of->claims[index]].is_in_flight = true;
  }
  struct ibv_send_wr* const next = last->next;
  last->next = NULL;
  const int error = ibv_post_send(connection->pair, first, &bad);
  last->next = next;
  return error;
}

void* ring_claim(struct ring_writer* of, uint32_t size) {
  const struct ring_sizes* const sizes = &of->connection->sizes;
  if (size > sizes->slot_size) {
    errno = EMSGSIZE;
    return NULL;
  }
  if (queue_size(&of->free) == 0 || of->claimed - of->posted > of->request_mask) {
    errno = ENOBUFS;
    return NULL;
  }
  const uint32_t slot = queue_pop(&of->free);
  const size_t offset = (size_t)slot * sizes->distance;
  const uint32_t index = of->claimed++ & of->request_mask;
  struct ibv_send_wr* const request = &of->requests[index];
  struct ibv_sge* const element = &of->elements[index];
  request->wr.rdma.remote_addr = of->remote_address + offset;
  request->imm_data = htonl(encode_place(slot, of->states[slot].generation));
  element->addr = (uintptr_t)(of->bytes + offset);
  element->length = size;
  of->claims[index] = slot;
  return of->bytes + offset;
}

int ring_publish(struct ring_writer* of) {
  of->published = of->claimed;
  return post_writes(of);
}

static int slots_freed(struct ring_writer* of, const char* frame, uint32_t size) {
  if (size < frame_front || frame[0] != type_freed) return EPROTO;
  const uint32_t count = (uint8_t)frame[1];
  if (count == 0 || size != frame_front + 4 * count) return EPROTO;
  for (uint32_t each = 0; each < count; ++each) {
    uint32_t place;
    memcpy(&place, frame + frame_front + 4 * each, 4);
    place = le32toh(place);
    const uint32_t slot = place & slot_mask;
    if (slot >= of->connection->sizes.slots) return EPROTO;
    struct writer_slot* const state = &of->states[slot];
    if (!state->is_in_flight || state->generation != place >> 24) return EPROTO;
    state->is_in_flight = false;
    ++state->generation;
    queue_push(&of->free, slot);
  }
  return 0;
}

/* The connection. */

static void note(struct ring_connection* of, int error) {
  if (error != 0 && of->error == 0) of->error = error;
}

static int post_receive(struct block* which) {
  struct ibv_recv_wr* bad;
  return ibv_post_recv(which->owner->pair, &which->request, &bad);
}

static void complete_receive(struct operation* self, const struct ibv_wc* done) {
  struct block* const which = (struct block*)self;
  struct ring_connection* const of = which->owner;
  if (done->status != IBV_WC_SUCCESS) {
    note(of, EIO);
    return;
  }
  if (done->opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
    /* The receive is posted before the writer gets the slot again. */
    note(of, post_receive(which));
    note(of, of->reader == NULL
                 ? EPROTO
                 : entry_arrived(of->reader, ntohl(done->imm_data), done->byte_len));
  } else {
    note(of, of->writer == NULL ? EPROTO : slots_freed(of->writer, which->bytes, done->byte_len));
    note(of, post_receive(which));
  }
}

static void complete_send(struct operation* self, const struct ibv_wc* done) {
  struct ring_connection* const of = (struct ring_connection*)self;
  of->in_progress -= of->signal_every;
  if (done->status != IBV_WC_SUCCESS) {
    note(of, EIO);
    return;
  }
  if (of->writer != NULL) note(of, post_writes(of->writer));
  if (of->reader != NULL) note(of, acknowledge(of->reader));
}

int ring_connection_poll(struct ring_connection* of) {
  struct ibv_wc done[polled_at_once];
  const int count = ibv_poll_cq(of->completions, polled_at_once, done);
  if (count < 0) return EIO;
  for (int each = 0; each < count; ++each) {
    struct operation* const completed = (struct operation*)(uintptr_t)done[each].wr_id;
    completed->complete(completed, &done[each]);
  }
  return of->error;
}

/* Creation. The benchmark ends without freeing. */

static struct ibv_mr* register_memory(struct ibv_pd* domain, size_t size, unsigned access) {
  char* const bytes = calloc(1, size);
  return bytes == NULL ? NULL : ibv_reg_mr(domain, bytes, size, access);
}

struct ring_connection* ring_connection_create(struct ibv_qp* pair, struct ibv_cq* queue,
                                               struct ibv_pd* domain,
                                               const struct ring_sizes* sizes) {
  struct ring_connection* const made = calloc(1, sizeof *made);
  const size_t bytes_of_blocks = (size_t)sizes->receives * sizes->block_size;
  const size_t size = bytes_of_blocks + (size_t)(sizes->max_sends + 1) * frame_size;
  struct block* const blocks = calloc(sizes->receives, sizeof *blocks);
  if (made == NULL || blocks == NULL) return NULL;
  made->region = register_memory(domain, size, IBV_ACCESS_LOCAL_WRITE);
  if (made->region == NULL) return NULL;
  char* const bytes = made->region->addr;
  made->sent.complete = complete_send;
  made->pair = pair;
  made->completions = queue;
  made->domain = domain;
  made->sizes = *sizes;
  made->signal_every = sizes->max_sends < 4 ? 1 : sizes->max_sends / 4;
  made->blocks = blocks;
  made->frames = bytes + bytes_of_blocks;
  for (uint32_t each = 0; each < sizes->receives; ++each) {
    struct block* const which = &blocks[each];
    which->received.complete = complete_receive;
    which->owner = made;
    which->bytes = bytes + (size_t)each * sizes->block_size;
    which->element = (struct ibv_sge){(uintptr_t)which->bytes, sizes->block_size, made->region->lkey};
    which->request.wr_id = (uintptr_t)&which->received;
    which->request.sg_list = &which->element;
    which->request.num_sge = 1;
    if (post_receive(which) != 0) return NULL;
  }
  return made;
}

/* Allocates and registers the memory of all slots. */
static struct ibv_mr* register_slots(const struct ring_connection* of, unsigned access) {
  return register_memory(of->domain, (size_t)of->sizes.slots * of->sizes.distance, access);
}

struct ring_reader* ring_reader_create(struct ring_connection* of) {
  struct ring_reader* const made = calloc(1, sizeof *made);
  if (made == NULL) return NULL;
  const uint32_t slots = of->sizes.slots;
  made->connection = of;
  made->region = register_slots(of, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  made->states = calloc(slots, sizeof *made->states);
  made->lengths = calloc(slots, sizeof *made->lengths);
  if (made->region == NULL || made->states == NULL || made->lengths == NULL) return NULL;
  if (queue_init(&made->arrived, slots) != 0 || queue_init(&made->freed, slots) != 0) return NULL;
  made->bytes = made->region->addr;
  made->at_once = slots < 4 ? 1 : slots / 4;
  if (made->at_once > most_freed) made->at_once = most_freed;
  made->with_writer = slots;
  of->reader = made;
  return made;
}

struct ring_writer* ring_writer_create(struct ring_connection* of,
                                       const struct ring_reader* reader) {
  struct ring_writer* const made = calloc(1, sizeof *made);
  if (made == NULL) return NULL;
  const uint32_t slots = of->sizes.slots;
  const uint32_t count = power_of_two_from(slots);
  made->connection = of;
  made->region = register_slots(of, IBV_ACCESS_LOCAL_WRITE);
  made->states = calloc(slots, sizeof *made->states);
  made->requests = calloc(count, sizeof *made->requests);
  made->elements = calloc(count, sizeof *made->elements);
  made->claims = calloc(count, sizeof *made->claims);
  if (made->region == NULL || made->states == NULL || made->requests == NULL ||
      made->elements == NULL || made->claims == NULL || queue_init(&made->free, slots) != 0)
    return NULL;
  made->bytes = made->region->addr;
  made->remote_address = (uintptr_t)reader->region->addr;
  made->request_mask = count - 1;
  for (uint32_t each = 0; each < slots; ++each) queue_push(&made->free, each);
  for (uint32_t each = 0; each < count; ++each) {
    struct ibv_send_wr* const request = &made->requests[each];
    made->elements[each].lkey = made->region->lkey;
    request->wr_id = (uintptr_t)&of->sent;
    request->next = &made->requests[(each + 1) & made->request_mask];
    request->sg_list = &made->elements[each];
    request->num_sge = 1;
    request->opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    request->wr.rdma.rkey = reader->region->rkey;
  }
  of->writer = made;
  return made;
}
