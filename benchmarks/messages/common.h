/* SPDX-License-Identifier: MIT */
/* Shared by the programs in C, with tasks and with Asio: the job, the counts, the report. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <valgrind/callgrind.h>

#include "../support/measuring.h"

enum {
  /* Messages of each channel before anything is measured. */
  unmeasured = 40,
  /* Offers of a channel at a time, if messages go one way. */
  offers_at_once = 4,
  /* Callgrind makes the programs slow. */
  patience_milliseconds = 600000,
  /* The size of the message that ends a phase of messages one way. */
  end_size = 8,
};

/* A client sends `messages` through each of its channels, and waits for the echo of each, or sends
   them one after another and waits for one answer to all. */
struct job {
  bool is_server;
  const char* address;
  uint16_t port;
  size_t channels;
  size_t messages;
  size_t size;
  uint32_t block_size;
  uint32_t receives;
  bool is_one_way;
  bool is_busy;
};

static inline bool is_second(const char* given, const char* first, const char* second,
                             const char* program) {
  if (strcmp(given, second) == 0) return true;
  if (strcmp(given, first) == 0) return false;
  fprintf(stderr, "%s: '%s' is neither %s nor %s\n", program, given, first, second);
  exit(2);
}

static inline struct job job_of(int argc, char** argv) {
  if (argc != 11) {
    fprintf(stderr,
            "Usage: %s client|server ADDRESS PORT CHANNELS MESSAGES SIZE BLOCK_SIZE RECEIVES "
            "echo|one-way events|busy\n",
            argv[0]);
    exit(2);
  }
  struct job found;
  found.is_server = is_second(argv[1], "client", "server", argv[0]);
  found.address = argv[2];
  found.port = (uint16_t)number_of(argv[3]);
  found.channels = number_of(argv[4]);
  found.messages = number_of(argv[5]);
  found.size = number_of(argv[6]);
  found.block_size = (uint32_t)number_of(argv[7]);
  found.receives = (uint32_t)number_of(argv[8]);
  found.is_one_way = is_second(argv[9], "echo", "one-way", argv[0]);
  found.is_busy = is_second(argv[10], "events", "busy", argv[0]);
  return found;
}

/* A message that does not fit into a block is offered. */
static inline bool is_offered(const struct job* job) { return job->size + 16 > job->block_size; }

/* The transfers of a channel at a time. */
static inline size_t at_once(const struct job* job) {
  return job->is_one_way && is_offered(job) ? offers_at_once : 1;
}

/* The requests of a channel: a write and the frame behind it take two. */
static inline size_t requests_of(const struct job* job) { return 3 * job->receives + 4; }

/* The time that this process has used the processor. */
static inline double processor_microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Callgrind counts what is between these. */
static inline void begin_count(void) { CALLGRIND_ZERO_STATS; }

static inline void end_count(const struct job* job) {
  char label[96];
  snprintf(label, sizeof label, "messages\t%s\t%zu", job->is_server ? "server" : "client",
           job->channels * job->messages);
  CALLGRIND_DUMP_STATS_AT(label);
}

/* Counts the messages of all channels of a server. Its clock runs from when each may have had its
   first ones. */
struct server_clock {
  const struct job* job;
  size_t unmeasured_messages;
  size_t all_messages;
  size_t count;
  double begin;
  double end;
};

static inline struct server_clock server_clock_of(const struct job* job) {
  struct server_clock made;
  made.job = job;
  made.unmeasured_messages = job->channels * unmeasured;
  made.all_messages = made.unmeasured_messages + job->channels * job->messages;
  made.count = 0;
  made.begin = made.end = 0;
  return made;
}

static inline void count_message(struct server_clock* clock) {
  const size_t count = ++clock->count;
  if (count == clock->unmeasured_messages) {
    clock->begin = processor_microseconds();
    begin_count();
  }
  if (count == clock->all_messages) {
    end_count(clock->job);
    clock->end = processor_microseconds();
  }
}

/* Returns true after the last message of a channel in a phase. */
static inline bool ends_phase(const struct job* job, size_t count) {
  return job->is_one_way && (count == unmeasured || count == unmeasured + job->messages);
}

static inline void report_server(const struct server_clock* clock) {
  if (clock->count != clock->all_messages) {
    fprintf(stderr, "%zu messages came, not %zu\n", clock->count, clock->all_messages);
    exit(1);
  }
  const size_t measured = clock->all_messages - clock->unmeasured_messages;
  printf("{\"processor\": %.4f}\n", (clock->end - clock->begin) / (double)measured);
}

static inline void report_client(const struct job* job, double begin, double end) {
  printf("{\"elapsed\": %.4f}\n", (end - begin) / (double)job->messages);
}
