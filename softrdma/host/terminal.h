/* The terminal that the runner was started on. */
#ifndef SOFTRDMA_HOST_TERMINAL_H
#define SOFTRDMA_HOST_TERMINAL_H

#include "../shared/protocol.h"

/* Passes every key on as it is pressed, until the program ends. Does nothing where standard input
 * is no terminal. */
void terminal_make_raw(void);

/* All zero where there is no terminal. */
struct window_size terminal_size(void);

#endif
