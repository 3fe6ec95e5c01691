/* SPDX-License-Identifier: MIT */
/* The protocol of docs/wire.md in C, on an epoll loop: one channel of events for the connection
   manager and one for completions, both without blocking; one completion queue, of which it polls
   16 completions at a time; the id of a request is the address of what completes it. Every frame is
   checked against what was agreed and against its size. */
#include "channel_c.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
  batch_size = 16,
  most_events = 16,
  most_at_once = 256,
  polls_a_turn = 64,

  header_size = 16,
  tag_size = 8,
  take_size = 24,
  handshake_size = 44,
  handshake_mark = 0x314d6461,
  version = 1,
  reserve = 2,
  spare_receives = 2,
  most_offers = 16,
  /* Slots that messages leave to other frames. */
  reserved_slots = 2,
  ticks_to_probe = 2,
  ticks_to_death = 4,
  least_receives = 4,
  most_receives = 65536,
  least_block_size = 64,
  remote_write_right = IBV_ACCESS_REMOTE_WRITE,
  flag_may_be_silent = 1,
};

enum frame_type {
  frame_data = 1,
  frame_offer,
  frame_take,
  frame_taken,
  frame_refused,
  frame_credit,
  frame_probe,
  frame_close,
  frame_failed,
};

enum { flag_withdrawn = 1, flag_confirms = 2, flag_tagged = 4 };

/* The header of a frame, in the order of the machine. */
struct header {
  uint8_t type;
  uint8_t flags;
  uint8_t lane;
  uint8_t credit_frames;
  uint32_t length;
  uint32_t sequence;
  uint32_t granted;
};

struct handshake {
  uint8_t lowest_version;
  uint8_t highest_version;
  /* Its program blocks, so it is silent while it lives. */
  bool may_be_silent;
  uint32_t receives;
  uint32_t block_size;
  uint32_t longest;
  uint32_t dead_after;
};

enum phase { unused, offered, must_answer, must_refuse, answered };

/* An offer of this side. */
struct outgoing_offer {
  enum phase at;
  uint32_t sequence;
  uint32_t length;
  struct sending* owner;
};

/* An offer of the peer. */
struct incoming_offer {
  enum phase at;
  uint32_t sequence;
  uint32_t length;
  struct message* owner;
};

/* A frame in progress, and its memory. */
struct slot {
  struct operation sent;
  struct channel* owner;
  struct sending* waiting;
  struct slot* next_free;
  char* bytes;
};

struct channel {
  struct loop* loop;
  struct rdma_cm_id* id;
  const struct channel_events* events;
  void* context;
  struct channel_options options;
  struct ibv_mr* region;
  char* memory;
  struct message* messages;
  struct slot* slots;
  struct slot* free;
  uint32_t free_count;
  uint32_t frame_size;
  uint32_t longest;
  uint32_t longest_eager;
  struct sending* first_sending;
  struct sending* last_sending;

  /* Credits. */
  uint32_t granted;
  uint32_t of_peer;
  uint32_t sent;
  uint32_t posted;
  uint32_t announced;
  uint32_t received;
  uint32_t quarter;
  uint8_t credit_frames_sent;
  uint8_t credit_frames_confirmed;
  uint8_t credit_frames_received;
  bool is_credit_unconfirmed;

  uint32_t next_out;
  uint32_t confirmed;
  uint32_t next_in;
  /* The number of messages up to each frame with a credit whose receipt is not known. */
  uint32_t* messages_before;
  uint32_t messages_before_mask;
  uint32_t due;
  uint32_t offers_out;
  uint32_t offers_in;
  struct outgoing_offer outgoing[most_offers];
  struct incoming_offer incoming[most_offers];

  bool peer_may_be_silent;
  uint32_t silent_ticks;
  bool has_heard;
  bool may_send;
  bool must_greet;
  bool must_probe;
  bool must_confirm;
  bool must_confirm_close;
  bool wants_close;
  bool is_closing;
  bool is_close_sent;
  bool is_closed_by_peer;
  bool is_open;
  bool has_ended;
  struct channel* next;
  struct channel** to_this;
};

struct listener {
  struct rdma_cm_id* id;
  struct channel_options options;
  const struct channel_events* events;
  void* (*accepted)(void*);
  void* context;
};

struct loop {
  struct loop_options options;
  int epoll;
  int timer;
  uint32_t tick_milliseconds;
  struct rdma_event_channel* manager;
  struct listener* listener;
  struct ibv_pd* domain;
  struct ibv_comp_channel* channel;
  struct ibv_cq* queue;
  unsigned unacknowledged;
  /* The queue may have more completions, and is not armed. */
  bool left_some;
  struct channel* channels;
};

static void die(const char* what, int error) {
  fprintf(stderr, "%s: %s\n", what, strerror(error));
  exit(1);
}

/* Numbers of the wire. */

static void put32(char* to, uint32_t value) {
  const uint32_t encoded = htole32(value);
  memcpy(to, &encoded, sizeof encoded);
}

static uint32_t get32(const char* from) {
  uint32_t encoded;
  memcpy(&encoded, from, sizeof encoded);
  return le32toh(encoded);
}

static void put64(char* to, uint64_t value) {
  const uint64_t encoded = htole64(value);
  memcpy(to, &encoded, sizeof encoded);
}

static uint64_t get64(const char* from) {
  uint64_t encoded;
  memcpy(&encoded, from, sizeof encoded);
  return le64toh(encoded);
}

static uint32_t smaller(uint32_t one, uint32_t other) { return one < other ? one : other; }

static struct header decode_header(const char* from) {
  return (struct header){.type = (uint8_t)from[0],
                         .flags = (uint8_t)from[1],
                         .lane = (uint8_t)from[2],
                         .credit_frames = (uint8_t)from[3],
                         .length = get32(from + 4),
                         .sequence = get32(from + 8),
                         .granted = get32(from + 12)};
}

static void encode_header(char* to, const struct header* header) {
  to[0] = (char)header->type;
  to[1] = (char)header->flags;
  to[2] = (char)header->lane;
  to[3] = (char)header->credit_frames;
  put32(to + 4, header->length);
  put32(to + 8, header->sequence);
  put32(to + 12, header->granted);
}

static bool is_credit(uint8_t type) { return type == frame_credit || type == frame_probe; }

static uint32_t front_size(uint8_t flags) {
  return header_size + ((flags & flag_tagged) != 0 ? tag_size : 0);
}

static void encode_handshake(char* to, const struct channel_options* options) {
  memset(to, 0, handshake_size);
  put32(to, handshake_mark);
  to[4] = to[5] = version;
  put32(to + 8, options->receives);
  put32(to + 12, options->block_size);
  put32(to + 16, options->longest);
  put32(to + 20, options->dead_after_milliseconds);
}

static bool decode_handshake(const void* data, size_t size, struct handshake* into) {
  const char* const from = data;
  if (from == NULL || size < handshake_size || get32(from) != handshake_mark) return false;
  *into = (struct handshake){.lowest_version = (uint8_t)from[4],
                             .highest_version = (uint8_t)from[5],
                             .may_be_silent = (from[6] & flag_may_be_silent) != 0,
                             .receives = get32(from + 8),
                             .block_size = get32(from + 12),
                             .longest = get32(from + 16),
                             .dead_after = get32(from + 20)};
  return into->lowest_version <= version && into->highest_version >= version &&
         into->receives >= least_receives && into->receives <= most_receives &&
         into->block_size >= least_block_size;
}

/* Credits: the rules of docs/wire.md. */

static uint32_t available(const struct channel* of) { return of->granted - of->sent; }

static bool may_send_credit(const struct channel* of) {
  return of->credit_frames_sent == of->credit_frames_confirmed;
}

static bool owes_credit(const struct channel* of) {
  const uint32_t unannounced = of->posted - of->announced;
  const uint32_t left = of->announced - of->received;
  if (unannounced == 0 || !may_send_credit(of)) return false;
  return left == 0 ||
         (left + unannounced > reserve && (left <= reserve || unannounced >= of->quarter));
}

/* Puts the counts into a frame that is sent. */
static void stamp(struct channel* of, struct header* sent) {
  sent->granted = of->announced = of->posted;
  sent->credit_frames = of->credit_frames_received;
  of->is_credit_unconfirmed = false;
  if (!is_credit(sent->type)) {
    ++of->sent;
    of->messages_before[of->sent & of->messages_before_mask] = of->next_out;
  } else if ((sent->flags & flag_confirms) == 0) {
    ++of->credit_frames_sent;
  }
}

/* Returns false if the frame exceeds what was agreed. */
static bool count_frame(struct channel* of, const struct header* got) {
  const uint8_t confirmed = (uint8_t)(got->credit_frames - of->credit_frames_confirmed);
  if (confirmed > (uint8_t)(of->credit_frames_sent - of->credit_frames_confirmed)) return false;
  if (!is_credit(got->type)) {
    if (of->received == of->announced) return false;
    ++of->received;
  } else if ((got->flags & flag_confirms) != 0) {
    if (confirmed == 0) return false;
  } else {
    if (of->is_credit_unconfirmed) return false;
    ++of->credit_frames_received;
    of->is_credit_unconfirmed = true;
  }
  const uint32_t more = got->granted - of->granted;
  if (more > of->of_peer - available(of)) return false;
  of->granted = got->granted;
  of->credit_frames_confirmed = got->credit_frames;
  return true;
}

/* The peer has received so many messages. Returns false if so many were never sent. */
static bool confirm(struct channel* of, uint32_t messages) {
  if (messages - of->confirmed > of->next_out - of->confirmed) return false;
  of->confirmed = messages;
  return true;
}

static bool is_finished(const struct channel* which) {
  return which->is_close_sent && which->is_closed_by_peer && which->next_out == which->confirmed &&
         !which->must_confirm_close;
}

static bool may_post(const struct channel* which) { return which->is_open && !which->has_ended; }

/* The end. */

static void finish(struct sending* which, int error) {
  if (which->done != NULL) which->done(which, error);
}

static void complete_receipt(struct message* which, int error) {
  which->offer = NULL;
  if (which->target == NULL) return;
  ibv_dereg_mr(which->target);
  which->target = NULL;
  which->written(which, error);
}

static void end(struct channel* which, int error) {
  if (which->has_ended) return;
  which->has_ended = true;
  *which->to_this = which->next;
  if (which->next != NULL) which->next->to_this = which->to_this;
  while (which->first_sending != NULL) {
    struct sending* const first = which->first_sending;
    which->first_sending = first->next;
    finish(first, error);
  }
  for (int index = 0; index < most_offers; ++index) {
    struct outgoing_offer* const out = &which->outgoing[index];
    if (out->at != unused && out->owner != NULL) finish(out->owner, error);
    struct incoming_offer* const in = &which->incoming[index];
    if (in->at != unused && in->owner != NULL) complete_receipt(in->owner, error);
  }
  which->events->ended(which, error);
}

static void fail(struct channel* which, int error) {
  end(which, is_finished(which) ? 0 : error);
  if (rdma_disconnect(which->id) != 0 && errno != EINVAL) die("rdma_disconnect", errno);
}

/* Frames of this side. */

static void advance(struct channel* which);

static void complete_slot(struct operation* self, const struct ibv_wc* done) {
  struct slot* const slot = (struct slot*)self;
  struct channel* const owner = slot->owner;
  struct sending* const waiting = slot->waiting;
  slot->waiting = NULL;
  slot->next_free = owner->free;
  owner->free = slot;
  ++owner->free_count;
  if (done->status != IBV_WC_SUCCESS) {
    if (waiting != NULL) finish(waiting, ECONNRESET);
    return; /* The connection manager reports the end. */
  }
  if (waiting != NULL) finish(waiting, 0);
  advance(owner);
}

static struct slot* take_slot(struct channel* of, const struct header* header) {
  struct slot* const slot = of->free;
  of->free = slot->next_free;
  --of->free_count;
  encode_header(slot->bytes, header);
  return slot;
}

static void post_requests(struct slot* slot, struct ibv_send_wr* first) {
  struct channel* const owner = slot->owner;
  struct ibv_send_wr* bad = NULL;
  const int error = ibv_post_send(owner->id->qp, first, &bad);
  if (error != 0) fail(owner, error);
}

static void fill_send(struct ibv_send_wr* request, struct slot* slot, struct ibv_sge* list,
                      int count) {
  /* An initialiser would zero the fields that a send does not have. */
  request->wr_id = (uintptr_t)&slot->sent;
  request->next = NULL;
  request->sg_list = list;
  request->num_sge = count;
  request->opcode = IBV_WR_SEND;
  request->send_flags = IBV_SEND_SIGNALED;
}

static void post_frame(struct slot* slot, uint32_t size, const struct ibv_sge* memory) {
  struct ibv_sge list[2];
  list[0].addr = (uintptr_t)slot->bytes;
  list[0].length = size;
  list[0].lkey = slot->owner->region->lkey;
  int count = 1;
  if (memory != NULL) list[count++] = *memory;
  struct ibv_send_wr request;
  fill_send(&request, slot, list, count);
  post_requests(slot, &request);
}

static void send_control(struct channel* of, struct header* header) {
  of->must_confirm = of->is_closing || of->is_closed_by_peer;
  if (is_credit(header->type)) of->must_greet = false;
  if (is_credit(header->type) || header->type == frame_close) of->must_confirm_close = false;
  stamp(of, header);
  post_frame(take_slot(of, header), header_size, NULL);
}

static void send_credit(struct channel* of, uint8_t type, uint8_t flags) {
  struct header made = {.type = type, .flags = flags, .sequence = of->next_in};
  send_control(of, &made);
}

static void send_take(struct channel* of, struct incoming_offer* offer) {
  struct header made = {.type = frame_take, .length = offer->length, .sequence = offer->sequence};
  offer->at = answered;
  --of->due;
  of->must_confirm = of->is_closing || of->is_closed_by_peer;
  stamp(of, &made);
  struct slot* const slot = take_slot(of, &made);
  const struct ibv_mr* const target = offer->owner->target;
  put64(slot->bytes + header_size, (uintptr_t)target->addr);
  put64(slot->bytes + header_size + 8, target->length);
  put32(slot->bytes + header_size + 16, target->rkey);
  put32(slot->bytes + header_size + 20, remote_write_right);
  post_frame(slot, header_size + take_size, NULL);
}

static void send_refused(struct channel* of, struct incoming_offer* offer) {
  struct header made = {.type = frame_refused, .sequence = offer->sequence};
  offer->at = unused;
  --of->offers_in;
  --of->due;
  send_control(of, &made);
}

/* The write, and the frame behind it. */
static void write_offer(struct channel* of, struct outgoing_offer* offer) {
  struct header made = {.type = frame_taken, .length = offer->length, .sequence = offer->sequence};
  struct sending* const from = offer->owner;
  offer->at = unused;
  --of->offers_out;
  --of->due;
  of->must_confirm = of->is_closing || of->is_closed_by_peer;
  stamp(of, &made);
  struct slot* const slot = take_slot(of, &made);
  struct ibv_sge list[3];
  int count = 0;
  if (from->size != 0) {
    memcpy(slot->bytes + header_size, from->bytes, from->size);
    list[count].addr = (uintptr_t)slot->bytes + header_size;
    list[count].length = from->size;
    list[count++].lkey = of->region->lkey;
  }
  if (from->memory.length != 0) list[count++] = from->memory;
  list[2].addr = (uintptr_t)slot->bytes;
  list[2].length = header_size;
  list[2].lkey = of->region->lkey;
  struct ibv_send_wr behind;
  fill_send(&behind, slot, &list[2], 1);
  struct ibv_send_wr write;
  write.wr_id = (uintptr_t)&slot->sent;
  write.next = &behind;
  write.sg_list = list;
  write.num_sge = count;
  write.opcode = IBV_WR_RDMA_WRITE;
  write.send_flags = 0;
  write.wr.rdma.remote_addr = from->target;
  write.wr.rdma.rkey = from->key;
  slot->waiting = from;
  post_requests(slot, &write);
}

static bool answer_offers(struct channel* of) {
  for (int index = 0; index < most_offers; ++index)
    if (of->outgoing[index].at == must_answer) {
      write_offer(of, &of->outgoing[index]);
      return true;
    }
  for (int index = 0; index < most_offers; ++index) {
    struct incoming_offer* const each = &of->incoming[index];
    if (each->at == must_answer) {
      send_take(of, each);
      return true;
    }
    if (each->at == must_refuse) {
      send_refused(of, each);
      return true;
    }
  }
  return false;
}

/* Sends the next frame that is due, but for messages. Returns false if there is none. */
static bool send_due(struct channel* of) {
  if (!of->may_send) return false;
  if (of->due != 0 && available(of) > 0 && answer_offers(of)) return true;
  if ((of->is_closing || of->is_closed_by_peer) && !of->is_close_sent && of->offers_out == 0 &&
      available(of) > 0) {
    struct header made = {.type = frame_close, .length = of->next_in, .sequence = of->next_out};
    of->is_close_sent = true;
    send_control(of, &made);
    return true;
  }
  if (may_send_credit(of)) {
    if (of->must_probe) {
      of->must_probe = false;
      send_credit(of, frame_probe, 0);
      return true;
    }
    if (of->must_greet || of->must_confirm_close || owes_credit(of)) {
      send_credit(of, frame_credit, 0);
      return true;
    }
  }
  if (of->is_credit_unconfirmed && (of->must_confirm || available(of) <= reserve)) {
    send_credit(of, frame_credit, flag_confirms);
    return true;
  }
  if (is_finished(of) && of->free_count == of->options.max_frames) {
    end(of, 0);
    if (rdma_disconnect(of->id) != 0 && errno != EINVAL) die("rdma_disconnect", errno);
  }
  return false;
}

static bool is_eager(const struct channel* to, const struct sending* which) {
  return which->size + which->memory.length <= to->longest_eager;
}

static bool may_dispatch(const struct channel* to, const struct sending* which) {
  return may_post(to) && to->may_send && to->free_count > reserved_slots &&
         available(to) > reserve && (is_eager(to, which) || to->offers_out < most_offers);
}

/* Returns true if the memory of the message is the program's again. */
static bool dispatch(struct channel* to, struct sending* which) {
  struct header made;
  made.flags = 0;
  made.lane = which->lane;
  made.length = which->size + which->memory.length;
  made.sequence = to->next_out++;
  if (!is_eager(to, which)) {
    made.type = frame_offer;
    struct outgoing_offer* offer = to->outgoing;
    while (offer->at != unused) ++offer;
    offer->at = offered;
    offer->sequence = made.sequence;
    offer->length = made.length;
    offer->owner = which;
    ++to->offers_out;
    stamp(to, &made);
    post_frame(take_slot(to, &made), header_size, NULL);
    return false;
  }
  made.type = frame_data;
  stamp(to, &made);
  struct slot* const slot = take_slot(to, &made);
  memcpy(slot->bytes + header_size, which->bytes, which->size);
  if (which->memory.length == 0) {
    post_frame(slot, header_size + which->size, NULL);
    return true;
  }
  slot->waiting = which;
  post_frame(slot, header_size + which->size, &which->memory);
  return false;
}

static void refuse(struct channel* of, struct incoming_offer* offer) {
  offer->at = must_refuse;
  ++of->due;
}

/* Sends what is due, and what waits. */
static void advance(struct channel* which) {
  while (may_post(which) && which->free != NULL && send_due(which)) {
  }
  while (which->first_sending != NULL) {
    struct sending* const first = which->first_sending;
    if (!may_dispatch(which, first)) return;
    which->first_sending = first->next;
    if (dispatch(which, first)) finish(first, 0);
  }
  if (!which->wants_close || which->is_closing || !may_post(which)) return;
  which->is_closing = which->must_confirm = true;
  for (int index = 0; index < most_offers; ++index) {
    struct incoming_offer* const each = &which->incoming[index];
    if (each->at != offered) continue;
    if (each->owner != NULL) each->owner->offer = NULL;
    each->owner = NULL;
    refuse(which, each);
  }
  advance(which);
}

/* Frames of the peer. */

static void post_receive(struct message* which) {
  struct channel* const owner = which->owner;
  struct ibv_sge into = {.addr = (uintptr_t)which->frame,
                         .length = owner->options.block_size,
                         .lkey = owner->region->lkey};
  struct ibv_recv_wr request;
  request.wr_id = (uintptr_t)&which->received;
  request.next = NULL;
  request.sg_list = &into;
  request.num_sge = 1;
  struct ibv_recv_wr* bad = NULL;
  const int error = ibv_post_recv(owner->id->qp, &request, &bad);
  if (error != 0) fail(owner, error);
}

static struct outgoing_offer* find_outgoing(struct channel* of, uint32_t sequence) {
  for (int index = 0; index < most_offers; ++index) {
    struct outgoing_offer* const each = &of->outgoing[index];
    if (each->at == offered && each->sequence == sequence) return each;
  }
  return NULL;
}

static struct incoming_offer* find_incoming(struct channel* of, uint32_t sequence) {
  for (int index = 0; index < most_offers; ++index) {
    struct incoming_offer* const each = &of->incoming[index];
    if (each->at != unused && each->sequence == sequence) return each;
  }
  return NULL;
}

static bool has_right_size(const struct header* got, uint32_t size) {
  const bool is_message = got->type == frame_data || got->type == frame_offer;
  const uint32_t front = is_message ? front_size(got->flags) : header_size;
  const uint32_t body = got->type == frame_data   ? got->length
                        : got->type == frame_take ? take_size
                                                  : 0;
  return size >= front && size - front == body;
}

static bool begin_message(struct channel* of, struct message* into, const struct header* got) {
  if (of->is_closed_by_peer || got->length > of->longest || got->sequence != of->next_in)
    return false;
  ++of->next_in;
  const uint32_t front = front_size(got->flags);
  into->bytes = into->frame + front;
  into->length = got->length;
  into->lane = got->lane;
  into->tag = front != header_size ? get64(into->frame + header_size) : 0;
  into->is_offer = got->type == frame_offer;
  if (!into->is_offer) return true;
  if (of->offers_in == most_offers) return false;
  struct incoming_offer* offer = of->incoming;
  while (offer->at != unused) ++offer;
  offer->at = offered;
  offer->sequence = got->sequence;
  offer->length = got->length;
  offer->owner = into;
  ++of->offers_in;
  into->offer = offer;
  return true;
}

static bool receive_take(struct channel* of, const char* frame, const struct header* got) {
  struct outgoing_offer* const offer = find_outgoing(of, got->sequence);
  if (offer == NULL || offer->length != got->length) return false;
  const uint64_t target = get64(frame + header_size);
  const uint64_t size = get64(frame + header_size + 8);
  const uint32_t rights = get32(frame + header_size + 20);
  if (size < offer->length || target + size < target || (rights & remote_write_right) == 0)
    return false;
  offer->owner->target = target;
  offer->owner->key = get32(frame + header_size + 16);
  offer->at = must_answer;
  ++of->due;
  return true;
}

static bool receive_taken(struct channel* of, const struct header* got) {
  struct incoming_offer* const offer = find_incoming(of, got->sequence);
  if (offer == NULL || offer->at != answered || offer->length != got->length) return false;
  struct message* const owner = offer->owner;
  offer->at = unused;
  --of->offers_in;
  if (owner != NULL) complete_receipt(owner, 0);
  return true;
}

static bool receive_refused(struct channel* of, const struct header* got) {
  if ((got->flags & flag_withdrawn) == 0) {
    struct outgoing_offer* const offer = find_outgoing(of, got->sequence);
    if (offer == NULL) return false;
    offer->at = unused;
    --of->offers_out;
    finish(offer->owner, ECONNREFUSED);
    return true;
  }
  /* It may cross the answer. */
  struct incoming_offer* const offer = find_incoming(of, got->sequence);
  if (offer == NULL || offer->at == must_refuse) return true;
  struct message* const owner = offer->owner;
  offer->owner = NULL;
  if (offer->at == offered) {
    refuse(of, offer);
  } else if (offer->at == must_answer) {
    offer->at = must_refuse;
  } else {
    offer->at = unused;
    --of->offers_in;
  }
  if (owner != NULL) complete_receipt(owner, ECANCELED);
  return true;
}

static bool receive_close(struct channel* of, const struct header* got) {
  if (of->is_closed_by_peer || got->sequence != of->next_in || !confirm(of, got->length))
    return false;
  of->is_closed_by_peer = of->must_confirm_close = of->must_confirm = true;
  while (of->first_sending != NULL) {
    struct sending* const first = of->first_sending;
    of->first_sending = first->next;
    finish(first, EPIPE);
  }
  return true;
}

static bool receive_control(struct channel* of, const char* frame, const struct header* got) {
  switch (got->type) {
    case frame_take: return receive_take(of, frame, got);
    case frame_taken: return receive_taken(of, got);
    case frame_refused: return receive_refused(of, got);
    case frame_probe: of->must_confirm = true; return confirm(of, got->sequence);
    case frame_credit: return confirm(of, got->sequence);
    case frame_close: return receive_close(of, got);
    case frame_failed: return true;
    default: return false;
  }
}

/* Returns 0, or EPROTO if the frame violates the protocol. */
static int take_frame(struct message* message, uint32_t size) {
  struct channel* const owner = message->owner;
  if (size < header_size) return EPROTO;
  const struct header got = decode_header(message->frame);
  owner->has_heard = owner->may_send = true;
  if (!has_right_size(&got, size) || !count_frame(owner, &got)) return EPROTO;
  /* A frame may have confirmed more: the program holds messages whose receives are not posted
     again. */
  const uint32_t known_received = owner->granted - owner->of_peer;
  (void)confirm(owner, owner->messages_before[known_received & owner->messages_before_mask]);
  if (got.type == frame_data || got.type == frame_offer) {
    if (!begin_message(owner, message, &got)) return EPROTO;
    owner->events->arrived(owner, message);
    return 0;
  }
  if (!receive_control(owner, message->frame, &got)) return EPROTO;
  if (owner->has_ended) return 0;
  /* The receive is posted again before a frame can grant it. */
  post_receive(message);
  if (!is_credit(got.type)) ++owner->posted;
  return 0;
}

static void complete_receive(struct operation* self, const struct ibv_wc* done) {
  struct message* const message = (struct message*)self;
  struct channel* const owner = message->owner;
  if (owner->has_ended || done->status == IBV_WC_WR_FLUSH_ERR) return;
  const int error = done->status != IBV_WC_SUCCESS ? EIO : take_frame(message, done->byte_len);
  if (error != 0)
    fail(owner, error);
  else
    advance(owner);
}
/* The functions of a channel. */

void* channel_context(const struct channel* which) { return which->context; }

struct ibv_pd* channel_domain(const struct channel* which) { return which->loop->domain; }

int channel_send(struct channel* to, struct sending* which) {
  if (to->has_ended) return ECONNRESET;
  if (to->wants_close || to->is_closed_by_peer) return EPIPE;
  if ((uint64_t)which->size + which->memory.length > to->longest) return EMSGSIZE;
  if (which->size > to->frame_size - header_size) return ENOBUFS;
  if (to->first_sending == NULL && may_dispatch(to, which))
    return dispatch(to, which) ? 0 : EINPROGRESS;
  which->next = NULL;
  if (to->first_sending == NULL)
    to->first_sending = which;
  else
    to->last_sending->next = which;
  to->last_sending = which;
  return EINPROGRESS;
}

int channel_receive_into(struct message* from, void* memory, size_t size,
                         void (*written)(struct message* self, int error)) {
  struct channel* const owner = from->owner;
  if (size < from->length) return EMSGSIZE;
  if (!from->is_offer) {
    memcpy(memory, from->bytes, from->length);
    return 0;
  }
  if (owner->has_ended) return ECONNRESET;
  if (from->offer == NULL) return ECANCELED;
  from->target = ibv_reg_mr(owner->loop->domain, memory, from->length,
                            (int)(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
  if (from->target == NULL) return errno;
  from->written = written;
  from->offer->at = must_answer;
  ++owner->due;
  advance(owner);
  return EINPROGRESS;
}

void channel_give_back(struct message* which) {
  struct channel* const owner = which->owner;
  if (which->offer != NULL) {
    which->offer->owner = NULL;
    if (which->offer->at == offered) refuse(owner, which->offer);
    which->offer = NULL;
  }
  if (owner->has_ended) return;
  post_receive(which);
  ++owner->posted;
  advance(owner);
}

void channel_close(struct channel* which) {
  if (which->has_ended || which->wants_close) return;
  which->wants_close = true;
  advance(which);
}

/* Silent peers. */

static void tick(struct channel* which) {
  which->silent_ticks = which->has_heard ? 0 : which->silent_ticks + 1;
  which->has_heard = false;
  which->must_probe = which->must_probe || which->silent_ticks == ticks_to_probe;
  which->must_confirm = which->must_confirm || which->is_credit_unconfirmed;
  if (which->silent_ticks >= ticks_to_death && !which->peer_may_be_silent)
    fail(which, ETIMEDOUT);
  else
    advance(which);
}

static void take_ticks(struct loop* loop) {
  uint64_t expirations = 0;
  if (read(loop->timer, &expirations, sizeof expirations) != sizeof expirations) return;
  for (struct channel* each = loop->channels; each != NULL;) {
    struct channel* const next = each->next;
    if (each->is_open) tick(each);
    each = next;
  }
}

static void start_ticks(struct loop* loop, uint32_t milliseconds) {
  if (milliseconds == 0 ||
      (loop->tick_milliseconds != 0 && loop->tick_milliseconds <= milliseconds))
    return;
  loop->tick_milliseconds = milliseconds;
  const struct timespec period = {.tv_sec = milliseconds / 1000,
                                  .tv_nsec = (long)(milliseconds % 1000) * 1000000};
  const struct itimerspec wanted = {.it_interval = period, .it_value = period};
  if (timerfd_settime(loop->timer, 0, &wanted, NULL) != 0) die("timerfd_settime", errno);
}

/* Connections. */

static void* allocate(size_t count, size_t size) {
  void* const made = calloc(count, size);
  if (made == NULL) die("calloc", errno);
  return made;
}

static void watch(const struct loop* loop, int descriptor, const void* which) {
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags == -1 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == -1) die("fcntl", errno);
  struct epoll_event wanted = {.events = EPOLLIN, .data = {.ptr = (void*)which}};
  if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, descriptor, &wanted) != 0) die("epoll_ctl", errno);
}

static int poll_once(struct loop* loop);
static bool take_completions(struct loop* loop);

static void create_queue(struct loop* loop, struct ibv_context* context) {
  if (loop->queue != NULL) return;
  loop->domain = ibv_alloc_pd(context);
  if (loop->domain == NULL) die("ibv_alloc_pd", errno);
  loop->channel = ibv_create_comp_channel(context);
  if (loop->channel == NULL) die("ibv_create_comp_channel", errno);
  loop->queue = ibv_create_cq(context, loop->options.completions, NULL, loop->channel, 0);
  if (loop->queue == NULL) die("ibv_create_cq", errno);
  watch(loop, loop->channel->fd, loop->channel);
  if (!loop->options.is_busy) take_completions(loop);
}

static struct channel* create_channel(struct loop* loop, struct rdma_cm_id* id,
                                      const struct channel_options* options,
                                      const struct channel_events* events, void* context) {
  struct channel* const made = allocate(1, sizeof *made);
  made->loop = loop;
  made->id = id;
  made->options = *options;
  made->events = events;
  made->context = context;
  id->context = made;
  made->next = loop->channels;
  made->to_this = &loop->channels;
  if (made->next != NULL) made->next->to_this = &made->next;
  loop->channels = made;
  return made;
}

static void create_pair(struct channel* of) {
  struct loop* const loop = of->loop;
  create_queue(loop, of->id->verbs);
  const struct channel_options* const options = &of->options;
  const uint32_t receives = options->receives + spare_receives;
  struct ibv_qp_init_attr initial = {.send_cq = loop->queue,
                                     .recv_cq = loop->queue,
                                     /* A write and the frame behind it take two. */
                                     .cap = {.max_send_wr = 2 * options->max_frames + 2,
                                             .max_recv_wr = receives,
                                             .max_send_sge = 2,
                                             .max_recv_sge = 1},
                                     .qp_type = IBV_QPT_RC};
  if (rdma_create_qp(of->id, loop->domain, &initial) != 0) die("rdma_create_qp", errno);
  const size_t size = (size_t)(receives + options->max_frames) * options->block_size;
  of->memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
  if (of->memory == NULL) die("aligned_alloc", errno);
  of->region = ibv_reg_mr(loop->domain, of->memory, size, (int)IBV_ACCESS_LOCAL_WRITE);
  if (of->region == NULL) die("ibv_reg_mr", errno);
  of->messages = allocate(receives, sizeof *of->messages);
  for (uint32_t index = 0; index < receives; ++index) {
    struct message* const each = &of->messages[index];
    each->received.complete = complete_receive;
    each->owner = of;
    each->frame = of->memory + (size_t)index * options->block_size;
    post_receive(each);
  }
  of->slots = allocate(options->max_frames, sizeof *of->slots);
  for (uint32_t index = 0; index < options->max_frames; ++index) {
    struct slot* const each = &of->slots[index];
    each->sent.complete = complete_slot;
    each->owner = of;
    each->bytes = of->memory + (size_t)(receives + index) * options->block_size;
    each->next_free = of->free;
    of->free = each;
  }
  of->free_count = options->max_frames;
}

static void agree(struct channel* which, const struct handshake* of_peer, bool is_connecting) {
  const struct channel_options* const mine = &which->options;
  which->frame_size = smaller(mine->block_size, of_peer->block_size);
  which->longest_eager = which->frame_size - header_size;
  which->longest = smaller(mine->longest, of_peer->longest);
  which->peer_may_be_silent = of_peer->may_be_silent;
  which->granted = which->of_peer = of_peer->receives;
  which->posted = which->announced = mine->receives;
  which->quarter = mine->receives / 4;
  uint32_t places = 1;
  while (places < of_peer->receives + 1) places *= 2;
  which->messages_before = allocate(places, sizeof *which->messages_before);
  which->messages_before_mask = places - 1;
  const bool is_iwarp = which->id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
  which->must_greet = is_iwarp && is_connecting;
  which->may_send = !is_iwarp || is_connecting;
  /* 0 is endless, so it is the largest here. */
  const uint32_t dead_after =
      smaller(mine->dead_after_milliseconds - 1, of_peer->dead_after - 1) + 1;
  start_ticks(which->loop, dead_after / ticks_to_death);
}

static struct rdma_conn_param parameters(char* handshake, const struct channel_options* options) {
  encode_handshake(handshake, options);
  return (struct rdma_conn_param){.private_data = handshake,
                                  .private_data_len = handshake_size,
                                  .responder_resources = RDMA_MAX_RESP_RES,
                                  .initiator_depth = RDMA_MAX_INIT_DEPTH,
                                  .flow_control = 1,
                                  .retry_count = 7,
                                  .rnr_retry_count = 7};
}

static void accept_request(struct loop* loop, struct rdma_cm_id* id, const struct handshake* peer,
                           bool is_handshake) {
  struct listener* const listener = loop->listener;
  char mine[handshake_size];
  struct rdma_conn_param wanted = parameters(mine, &listener->options);
  if (!is_handshake) {
    if (rdma_reject(id, mine, sizeof mine) != 0) die("rdma_reject", errno);
    rdma_destroy_id(id);
    return;
  }
  struct channel* const made = create_channel(loop, id, &listener->options, listener->events, NULL);
  create_pair(made);
  agree(made, peer, false);
  made->context = listener->accepted(listener->context);
  if (rdma_accept(id, &wanted) != 0) die("rdma_accept", errno);
}

static void begin(struct channel* which, const struct handshake* of_peer, bool is_handshake) {
  /* The limits of an accepted channel are agreed already. */
  if (which->messages_before == NULL) {
    if (!is_handshake) {
      fail(which, EPROTO);
      return;
    }
    agree(which, of_peer, true);
  }
  which->is_open = true;
  if (which->events->opened != NULL) which->events->opened(which);
  if (!which->has_ended) advance(which);
}

static void handle(struct loop* loop, const struct rdma_cm_event* event,
                   const struct handshake* peer, bool is_handshake) {
  struct channel* const channel = event->id->context;
  char mine[handshake_size];
  switch (event->event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      if (rdma_resolve_route(event->id, 2000) != 0) die("rdma_resolve_route", errno);
      return;
    case RDMA_CM_EVENT_ROUTE_RESOLVED: {
      create_pair(channel);
      struct rdma_conn_param wanted = parameters(mine, &channel->options);
      if (rdma_connect(event->id, &wanted) != 0) die("rdma_connect", errno);
      return;
    }
    case RDMA_CM_EVENT_CONNECT_REQUEST: accept_request(loop, event->id, peer, is_handshake); return;
    case RDMA_CM_EVENT_ESTABLISHED: begin(channel, peer, is_handshake); return;
    case RDMA_CM_EVENT_DISCONNECTED:
      /* The last frames of the peer may be in the queue. */
      while (poll_once(loop) != 0) {
      }
      fail(channel, ECONNRESET);
      return;
    case RDMA_CM_EVENT_REJECTED: end(channel, ECONNREFUSED); return;
    case RDMA_CM_EVENT_TIMEWAIT_EXIT: return;
    default: die(rdma_event_str(event->event), EPROTO);
  }
}

static void take_events(struct loop* loop) {
  struct rdma_cm_event* event = NULL;
  while (rdma_get_cm_event(loop->manager, &event) == 0) {
    const struct rdma_cm_event copy = *event;
    struct handshake peer;
    const bool is_handshake =
        decode_handshake(event->param.conn.private_data, event->param.conn.private_data_len, &peer);
    /* A request keeps its identifier after its event. */
    rdma_ack_cm_event(event);
    handle(loop, &copy, &peer, is_handshake);
  }
  if (errno != EAGAIN) die("rdma_get_cm_event", errno);
}

/* The loop. */

static int poll_once(struct loop* loop) {
  struct ibv_wc done[batch_size];
  const int found = ibv_poll_cq(loop->queue, batch_size, done);
  if (found < 0) die("ibv_poll_cq", -found);
  for (int index = 0; index < found; ++index) {
    struct operation* const each = (struct operation*)(uintptr_t)done[index].wr_id;
    each->complete(each, &done[index]);
  }
  return found;
}

/* The queue was armed once, so there is one event. */
static void take_queue_event(struct loop* loop) {
  struct ibv_cq* queue = NULL;
  void* context = NULL;
  if (ibv_get_cq_event(loop->channel, &queue, &context) != 0) die("ibv_get_cq_event", errno);
  if (++loop->unacknowledged == 256) {
    ibv_ack_cq_events(loop->queue, loop->unacknowledged);
    loop->unacknowledged = 0;
  }
}

/* Takes completions until there are none and the next one raises an event. Returns false if it
   left some, so that others have their turn. */
static bool take_completions(struct loop* loop) {
  int count = 0;
  while (count < most_at_once) {
    int found = poll_once(loop);
    if (found == 0) {
      const int error = ibv_req_notify_cq(loop->queue, 0);
      if (error != 0) die("ibv_req_notify_cq", error);
      found = poll_once(loop);
      if (found == 0) return true;
    }
    count += found;
  }
  return false;
}

static void turn(struct loop* loop) {
  const bool is_busy = loop->options.is_busy && loop->queue != NULL;
  if (is_busy)
    for (int index = 0; index < polls_a_turn; ++index) poll_once(loop);
  struct epoll_event events[most_events];
  const int timeout = is_busy || loop->left_some ? 0 : -1;
  const int found = epoll_wait(loop->epoll, events, most_events, timeout);
  if (found < 0 && errno != EINTR) die("epoll_wait", errno);
  bool are_completions = loop->left_some;
  for (int index = 0; index < found; ++index) {
    if (events[index].data.ptr == loop->manager) {
      take_events(loop);
    } else if (events[index].data.ptr == &loop->timer) {
      take_ticks(loop);
    } else {
      take_queue_event(loop);
      are_completions = true;
    }
  }
  loop->left_some = are_completions && !take_completions(loop);
}

void loop_run_until(struct loop* loop, const size_t* count, size_t wanted) {
  while (*count != wanted) turn(loop);
}

struct loop* loop_create(const struct loop_options* options) {
  struct loop* const made = allocate(1, sizeof *made);
  made->options = *options;
  made->epoll = epoll_create1(EPOLL_CLOEXEC);
  if (made->epoll == -1) die("epoll_create1", errno);
  made->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  if (made->timer == -1) die("timerfd_create", errno);
  made->manager = rdma_create_event_channel();
  if (made->manager == NULL) die("rdma_create_event_channel", errno);
  watch(made, made->manager->fd, made->manager);
  watch(made, made->timer, &made->timer);
  return made;
}

void loop_destroy(struct loop* loop) {
  if (loop->listener != NULL) rdma_destroy_id(loop->listener->id);
  free(loop->listener);
  if (loop->queue != NULL) {
    ibv_ack_cq_events(loop->queue, loop->unacknowledged);
    ibv_destroy_cq(loop->queue);
    ibv_destroy_comp_channel(loop->channel);
    ibv_dealloc_pd(loop->domain);
  }
  rdma_destroy_event_channel(loop->manager);
  close(loop->timer);
  close(loop->epoll);
  free(loop);
}

int channel_listen(struct loop* loop, const struct sockaddr_in* address,
                   const struct channel_options* options, const struct channel_events* events,
                   void* (*accepted)(void*), void* of_listener) {
  struct listener* const made = allocate(1, sizeof *made);
  *made = (struct listener){
      .options = *options, .events = events, .accepted = accepted, .context = of_listener};
  loop->listener = made;
  if (rdma_create_id(loop->manager, &made->id, NULL, RDMA_PS_TCP) != 0) return errno;
  struct sockaddr_in copy = *address;
  if (rdma_bind_addr(made->id, (struct sockaddr*)&copy) != 0) return errno;
  return rdma_listen(made->id, 0) != 0 ? errno : 0;
}

struct channel* channel_connect(struct loop* loop, const struct sockaddr_in* address,
                                const struct channel_options* options,
                                const struct channel_events* events, void* context) {
  struct rdma_cm_id* id = NULL;
  if (rdma_create_id(loop->manager, &id, NULL, RDMA_PS_TCP) != 0) die("rdma_create_id", errno);
  struct channel* const made = create_channel(loop, id, options, events, context);
  struct sockaddr_in copy = *address;
  if (rdma_resolve_addr(id, NULL, (struct sockaddr*)&copy, 2000) != 0)
    die("rdma_resolve_addr", errno);
  return made;
}

void channel_destroy(struct channel* which) {
  if (!which->has_ended) {
    *which->to_this = which->next;
    if (which->next != NULL) which->next->to_this = which->to_this;
  }
  if (which->id->qp != NULL) rdma_destroy_qp(which->id);
  if (which->region != NULL) ibv_dereg_mr(which->region);
  rdma_destroy_id(which->id);
  free(which->memory);
  free(which->messages);
  free(which->slots);
  free(which->messages_before);
  free(which);
}
