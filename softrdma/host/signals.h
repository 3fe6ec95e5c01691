/* Signals as something to poll for. */
#ifndef SOFTRDMA_HOST_SIGNALS_H
#define SOFTRDMA_HOST_SIGNALS_H

#include <stdbool.h>

/* Blocks the signals that the runner handles; must come before any guest is started. */
void signals_open(void);

/* For a new process: everything as it was before. */
void signals_restore(void);

/* To be polled. */
int signals_fd(void);

/* The next signal that has come, or 0. */
int signals_next(void);

/* Signals that ask the program to end, as opposed to those that only tell it something. */
bool signal_asks_to_end(int number);

/*
 * Waits until the descriptor is readable, at its end, or the deadline has passed: then false. A
 * signal that asks to end ends the program.
 */
bool wait_readable(int fd, double deadline);

#endif
