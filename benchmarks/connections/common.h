/* SPDX-License-Identifier: MIT */
/* What the C and the C++ program have in common: the job, the report. */
#pragma once

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "../support/measuring.h"

enum {
  message_size = 8,
  /* How many connections each worker makes before the clock runs: what the first ones of a process
     cost once is not what a connection costs. */
  unmeasured = 4,
  /* Completions of a worker: of a send and of a receive. */
  completions = 2,
  step_milliseconds = 10000,
};

/* `at_once` workers on each side make `each` connections, one after another. */
struct job_size {
  size_t each;
  size_t at_once;
};

static inline int is_less(const void* left, const void* right) {
  const double difference = *(const double*)left - *(const double*)right;
  return difference < 0 ? -1 : difference > 0;
}

/* Prints what a connection took, all in all, and until it was there: `set_ups` are the times of all
   of them, which are sorted. */
static inline void report(struct job_size size, double* set_ups, double start, double end) {
  const size_t count = size.each * size.at_once;
  qsort(set_ups, count, sizeof *set_ups, is_less);
  printf(
      "{\"microseconds_per_connection\": %.4f, \"set_up_median\": %.4f, \"set_up_p99\": %.4f}\n",
      (end - start) / (double)count, (set_ups[(count - 1) / 2] + set_ups[count / 2]) / 2,
      set_ups[(count * 99 + 99) / 100 - 1]);
}

struct arguments {
  const char* address;
  struct job_size size;
};

static inline struct arguments arguments_of(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s ADDRESS CONNECTIONS AT-ONCE\n", argv[0]);
    exit(2);
  }
  struct arguments found;
  found.address = argv[1];
  const size_t count = number_of(argv[2]);
  found.size.at_once = number_of(argv[3]);
  found.size.each = count / found.size.at_once;
  if (found.size.each * found.size.at_once != count) {
    fprintf(stderr, "%zu connections are not so many for each of %zu\n", count, found.size.at_once);
    exit(2);
  }
  return found;
}
