/* SPDX-License-Identifier: MIT */
/* What the C and the C++ program have in common: the job, the memory, the report. */
#pragma once

#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "../support/measuring.h"

enum {
  message_size = 8,
  /* Messages on their way at once, over all queue pairs. */
  window = 16,
};

struct job_size {
  size_t queue_pairs;
  size_t messages;
};

/* The queue pair that another one is connected to: its neighbour, or itself when it has none. */
static inline size_t peer_of(size_t index, size_t count) {
  const size_t neighbour = index ^ 1;
  return neighbour < count ? neighbour : index;
}

/* Bytes that malloc gave out. */
static inline double heap_bytes(void) {
  const struct mallinfo2 heap = mallinfo2();
  return (double)(heap.uordblks + heap.hblkhd);
}

/* Bytes of memory that the process really has. (/proc/self/statm lags behind by many pages.) */
static inline double resident_bytes(void) {
  unsigned long kibibytes = 0;
  char line[256];
  FILE* const file = fopen("/proc/self/smaps_rollup", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "Rss: %lu kB", &kibibytes) == 1) break;
  if (kibibytes == 0) {
    fputs("/proc/self/smaps_rollup does not say how much memory this process has\n", stderr);
    exit(1);
  }
  fclose(file);
  return (double)kibibytes * 1024;
}

struct marks {
  double time;
  double heap;
  double resident;
};

/* Before what is measured. The clock is read last: it takes long to ask how much memory there is. */
static inline struct marks mark_start(void) {
  struct marks now;
  now.resident = resident_bytes();
  now.heap = heap_bytes();
  now.time = microseconds();
  return now;
}

/* After it: the clock is read first. */
static inline struct marks mark_end(void) {
  struct marks now;
  now.time = microseconds();
  now.heap = heap_bytes();
  now.resident = resident_bytes();
  return now;
}

/* Prints what the queue pairs cost from `before` to `ready`, and the messages after that. */
static inline void report(struct job_size size, const struct marks* before,
                          const struct marks* ready, double start, double end) {
  const double pairs = (double)size.queue_pairs;
  printf(
      "{\"pairs_per_second\": %.2f, \"messages_per_second\": %.2f, "
      "\"heap_bytes_per_pair\": %.1f, \"resident_bytes_per_pair\": %.1f}\n",
      pairs * 1e6 / (ready->time - before->time), (double)size.messages * 1e6 / (end - start),
      (ready->heap - before->heap) / pairs, (ready->resident - before->resident) / pairs);
}

struct arguments {
  const char* device;
  int gid_index;
  struct job_size size;
};

static inline struct arguments arguments_of(int argc, char** argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: %s DEVICE GID-INDEX QUEUE-PAIRS MESSAGES\n", argv[0]);
    exit(2);
  }
  struct arguments found;
  found.device = argv[1];
  found.gid_index = atoi(argv[2]);
  found.size.queue_pairs = number_of(argv[3]);
  found.size.messages = number_of(argv[4]);
  return found;
}
