/* Points in time that something must not go beyond. */
#ifndef SOFTRDMA_HOST_CLOCK_H
#define SOFTRDMA_HOST_CLOCK_H

#include <time.h>

/* Seconds on a clock that nobody sets. */
static inline double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* What poll(2) takes, rounded up so that the deadline has passed when it returns. */
static inline int milliseconds_until(double deadline) {
  double left = deadline - now();
  if (left <= 0) return 0;
  return left > 1e6 ? 1000000000 : (int)(left * 1000) + 1;
}

#endif
