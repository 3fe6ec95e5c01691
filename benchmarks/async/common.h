/* SPDX-License-Identifier: MIT */
/* What the programs in C, with tasks and with Asio share: the job, the report. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../support/measuring.h"

enum {
  message_size = 64,
  block_size = 64,
  /* Posted receives of a connection, and its requests in progress at most. */
  depth = 8,
  /* Messages of each connection before the clock runs. */
  unmeasured = 20,
};

/* A client sends `messages` to a server through each of its connections, one after another, and
   waits for the echo of each. */
struct job {
  bool is_server;
  const char* address;
  uint16_t port;
  size_t connections;
  size_t messages;
  bool is_busy;
};

static inline struct job job_of(int argc, char** argv) {
  if (argc != 7 || (strcmp(argv[1], "server") != 0 && strcmp(argv[1], "client") != 0)) {
    fprintf(stderr, "Usage: %s server|client ADDRESS PORT CONNECTIONS MESSAGES events|busy\n",
            argv[0]);
    exit(2);
  }
  struct job found;
  found.is_server = strcmp(argv[1], "server") == 0;
  found.address = argv[2];
  found.port = (uint16_t)number_of(argv[3]);
  found.connections = number_of(argv[4]);
  found.messages = number_of(argv[5]);
  found.is_busy = strcmp(argv[6], "busy") == 0;
  return found;
}

/* The time that this process has used the processor. */
static inline double processor_microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Counts the messages of all connections of a server. Its clock runs from when each may have had
   its first ones. */
struct server_clock {
  size_t unmeasured_messages;
  size_t all_messages;
  size_t count;
  double begin;
  double end;
};

static inline struct server_clock server_clock_of(const struct job* job) {
  struct server_clock made;
  made.unmeasured_messages = job->connections * unmeasured;
  made.all_messages = made.unmeasured_messages + job->connections * job->messages;
  made.count = 0;
  made.begin = made.end = 0;
  return made;
}

static inline void count_message(struct server_clock* clock) {
  const size_t count = ++clock->count;
  if (count == clock->unmeasured_messages) clock->begin = processor_microseconds();
  if (count == clock->all_messages) clock->end = processor_microseconds();
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
  printf("{\"round_trip\": %.4f}\n", (end - begin) / (double)job->messages);
}
