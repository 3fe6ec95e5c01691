/* SPDX-License-Identifier: MIT */
/* What the programs that are written in C and in C++ share: the clock, and the numbers of their
   command lines. */
#pragma once

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Ends the program when it is none, from 1 to ten million. */
static inline size_t number_of(const char* text) {
  char* end = NULL;
  const unsigned long number = strtoul(text, &end, 10);
  if (*end != '\0' || number == 0 || number > 10000000) {
    fprintf(stderr, "'%s' is no number from 1 to 10,000,000\n", text);
    exit(2);
  }
  return number;
}
