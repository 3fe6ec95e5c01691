/* SPDX-License-Identifier: MIT */
/* Messages there and back, or one way, over the channels of channel_c.h. */
#include <arpa/inet.h>
#include <errno.h>

#include "channel_c.h"
#include "common.h"

struct program;
struct side;

/* A message on its way, and its memory. */
struct transfer {
  struct sending sent;
  struct side* owner;
  struct message* got;
  char* memory;
  bool is_under_way;
};

/* One channel of the program. */
struct side {
  struct program* program;
  struct channel* channel;
  struct ibv_mr* region;
  char* memory;
  struct transfer transfers[offers_at_once];
  /* The messages that have come to a server, and those that a client has to send. */
  size_t count;
  size_t left;
  bool was_answered;
  /* A request that came to a server before the completion of the last echo. */
  struct message* waiting;
};

struct program {
  struct job job;
  struct loop* loop;
  struct side* sides;
  size_t known;
  size_t opened;
  size_t ended;
  size_t busy;
  struct server_clock clock;
};

static void fail(const char* what, int error) {
  fprintf(stderr, "%s: %s\n", what, strerror(error));
  exit(1);
}

/* Returns false if the memory is the program's again. */
static bool start(struct transfer* which) {
  const int result = channel_send(which->owner->channel, &which->sent);
  if (result != 0 && result != EINPROGRESS) fail("channel_send", result);
  which->is_under_way = result == EINPROGRESS;
  return which->is_under_way;
}

static struct transfer* transfer_of(struct sending* sent) {
  return (struct transfer*)((char*)sent - offsetof(struct transfer, sent));
}

static struct transfer* free_transfer(struct side* of) {
  const size_t count = at_once(&of->program->job);
  for (size_t index = 0; index < count; ++index)
    if (!of->transfers[index].is_under_way) return &of->transfers[index];
  return NULL;
}

/* The content of a transfer: bytes that are copied, or its registered memory. */
static void fill(struct transfer* which, const void* bytes, size_t size) {
  which->sent.bytes = bytes;
  which->sent.size = (uint32_t)size;
  which->sent.memory.length = 0;
}

static void fill_registered(struct transfer* which, size_t size) {
  which->sent.bytes = NULL;
  which->sent.size = 0;
  which->sent.memory.addr = (uintptr_t)which->memory;
  which->sent.memory.length = (uint32_t)size;
  which->sent.memory.lkey = which->owner->region->lkey;
}

static void prepare(struct side* side, struct channel* channel,
                    void (*done)(struct sending*, int)) {
  const struct job* const job = &side->program->job;
  const size_t size = job->size * at_once(job);
  side->channel = channel;
  side->memory = calloc(1, size);
  if (side->memory == NULL) fail("calloc", errno);
  side->region = ibv_reg_mr(channel_domain(channel), side->memory, size, (int)IBV_ACCESS_LOCAL_WRITE);
  if (side->region == NULL) fail("ibv_reg_mr", errno);
  for (size_t index = 0; index < at_once(job); ++index) {
    struct transfer* const each = &side->transfers[index];
    each->owner = side;
    each->memory = side->memory + index * job->size;
    each->sent.done = done;
    each->sent.lane = 0;
  }
}

static void count_end(struct channel* which, int error) {
  struct side* const side = channel_context(which);
  if (error != 0) fail("channel", error);
  ++side->program->ended;
}

/* The server. */

static void request_arrived(struct channel* channel, struct message* got);

static void echo_sent(struct sending* self, int error) {
  struct transfer* const transfer = transfer_of(self);
  struct side* const side = transfer->owner;
  if (error != 0) fail("send", error);
  transfer->is_under_way = false;
  if (transfer->got != NULL) channel_give_back(transfer->got);
  transfer->got = NULL;
  struct message* const waiting = side->waiting;
  side->waiting = NULL;
  if (waiting != NULL) request_arrived(side->channel, waiting);
}

static void answer(struct side* side, struct message* got, struct transfer* transfer) {
  const struct job* const job = &side->program->job;
  const bool is_answered = !job->is_one_way || ends_phase(job, ++side->count);
  count_message(&side->program->clock);
  if (!is_answered) {
    channel_give_back(got);
    return;
  }
  if (job->is_one_way) {
    fill(transfer, got->bytes, end_size);
  } else if (got->is_offer) {
    fill_registered(transfer, got->length);
    channel_give_back(got);
    got = NULL;
  } else {
    fill(transfer, got->bytes, got->length);
  }
  transfer->got = got;
  if (!start(transfer)) echo_sent(&transfer->sent, 0);
}

static struct transfer* transfer_for(struct side* side, const struct message* got) {
  const size_t count = at_once(&side->program->job);
  for (size_t index = 0; index < count; ++index)
    if (side->transfers[index].got == got) return &side->transfers[index];
  fail("transfer", ENOENT);
  return NULL;
}

static void request_written(struct message* got, int error) {
  if (error != 0) fail("receive", error);
  struct side* const side = channel_context(got->owner);
  struct transfer* const transfer = transfer_for(side, got);
  transfer->is_under_way = false;
  transfer->got = NULL;
  answer(side, got, transfer);
}

static void request_arrived(struct channel* channel, struct message* got) {
  struct side* const side = channel_context(channel);
  if (side->region == NULL) prepare(side, channel, echo_sent);
  struct transfer* const transfer = free_transfer(side);
  if (transfer == NULL) {
    if (side->waiting != NULL) fail("requests", E2BIG);
    side->waiting = got;
    return;
  }
  if (!got->is_offer) {
    answer(side, got, transfer);
    return;
  }
  transfer->is_under_way = true;
  transfer->got = got;
  const int result =
      channel_receive_into(got, transfer->memory, side->program->job.size, request_written);
  if (result != EINPROGRESS) fail("channel_receive_into", result);
}

static void* accept_side(void* of) {
  struct program* const program = of;
  if (program->known == program->job.channels) fail("channels", E2BIG);
  struct side* const made = &program->sides[program->known++];
  made->program = program;
  return made;
}

/* The client. */

static void send_next(struct side* side) {
  struct program* const program = side->program;
  const struct job* const job = &program->job;
  const bool is_long = is_offered(job);
  while (true) {
    if (!job->is_one_way && !side->was_answered) return;
    struct transfer* const transfer = free_transfer(side);
    if (transfer == NULL) return;
    if (side->left == 0) {
      if (!job->is_one_way) --program->busy;
      return;
    }
    --side->left;
    side->was_answered = false;
    if (is_long)
      fill_registered(transfer, job->size);
    else
      fill(transfer, transfer->memory, job->size);
    start(transfer);
  }
}

static void request_sent(struct sending* self, int error) {
  struct transfer* const transfer = transfer_of(self);
  if (error != 0) fail("send", error);
  transfer->is_under_way = false;
  send_next(transfer->owner);
}

static void take_answer(struct side* side, struct message* got) {
  const struct job* const job = &side->program->job;
  if (got->length != (job->is_one_way ? end_size : job->size)) fail("the answer", EPROTO);
  channel_give_back(got);
  side->was_answered = true;
  if (job->is_one_way)
    --side->program->busy;
  else
    send_next(side);
}

static void answer_written(struct message* got, int error) {
  if (error != 0) fail("receive", error);
  take_answer(channel_context(got->owner), got);
}

static void answer_arrived(struct channel* channel, struct message* got) {
  struct side* const side = channel_context(channel);
  if (!got->is_offer) {
    take_answer(side, got);
    return;
  }
  const int result =
      channel_receive_into(got, side->memory, side->program->job.size, answer_written);
  if (result != EINPROGRESS) fail("channel_receive_into", result);
}

static void client_opened(struct channel* channel) {
  struct side* const side = channel_context(channel);
  prepare(side, channel, request_sent);
  side->was_answered = true;
  ++side->program->opened;
}

static void run_phase(struct program* program, size_t messages) {
  program->busy = program->job.channels;
  for (size_t index = 0; index < program->job.channels; ++index) {
    program->sides[index].left = messages;
    send_next(&program->sides[index]);
  }
  loop_run_until(program->loop, &program->busy, 0);
}

static void run_client(struct program* program, const struct sockaddr_in* address,
                       const struct channel_options* options) {
  static const struct channel_events events = {
      .opened = client_opened, .arrived = answer_arrived, .ended = count_end};
  const struct job* const job = &program->job;
  for (size_t index = 0; index < job->channels; ++index) {
    struct side* const each = &program->sides[index];
    each->program = program;
    channel_connect(program->loop, address, options, &events, each);
    loop_run_until(program->loop, &program->opened, index + 1);
  }
  run_phase(program, unmeasured);
  begin_count();
  const double begin = microseconds();
  run_phase(program, job->messages);
  const double end = microseconds();
  end_count(job);
  report_client(job, begin, end);
  for (size_t index = 0; index < job->channels; ++index)
    channel_close(program->sides[index].channel);
  loop_run_until(program->loop, &program->ended, job->channels);
}

static void run_server(struct program* program, const struct sockaddr_in* address,
                       const struct channel_options* options) {
  static const struct channel_events events = {.arrived = request_arrived, .ended = count_end};
  const int error = channel_listen(program->loop, address, options, &events, accept_side, program);
  if (error != 0) fail("channel_listen", error);
  puts("ready");
  fflush(stdout);
  loop_run_until(program->loop, &program->ended, program->job.channels);
  report_server(&program->clock);
}

int main(int argc, char** argv) {
  struct program program = {.job = job_of(argc, argv)};
  const struct job* const job = &program.job;
  program.clock = server_clock_of(job);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(job->port)};
  if (inet_pton(AF_INET, job->address, &address.sin_addr) != 1) fail(job->address, EINVAL);
  program.sides = calloc(job->channels, sizeof *program.sides);
  if (program.sides == NULL) fail("calloc", errno);
  const struct loop_options loop_options = {.is_busy = job->is_busy,
                                            .completions = (int)(job->channels * requests_of(job))};
  const struct channel_options options = {.receives = job->receives,
                                          .block_size = job->block_size,
                                          .max_frames = job->receives,
                                          .longest = 64U << 20U,
                                          .dead_after_milliseconds = patience_milliseconds};
  program.loop = loop_create(&loop_options);
  (job->is_server ? run_server : run_client)(&program, &address, &options);
  for (size_t index = 0; index < job->channels; ++index) {
    struct side* const each = &program.sides[index];
    if (each->region != NULL) ibv_dereg_mr(each->region);
    channel_destroy(each->channel);
    free(each->memory);
  }
  free(program.sides);
  loop_destroy(program.loop);
  return 0;
}
