/* The command that the guest was started for. */
#ifndef SOFTRDMA_GUEST_COMMAND_H
#define SOFTRDMA_GUEST_COMMAND_H

#include <sys/types.h>

#include "../shared/protocol.h"

struct command {
  pid_t pid;
  /* This side's ends; -1 once closed. On a terminal, `input` and `output` are both its master and
   * `error` is -1. */
  int input;
  int output;
  int error;
  int terminal; /* the master, or -1 */
};

/* Starts it in a session of its own; fails the guest as a shell would when it cannot be found or
 * executed. */
struct command command_start(char** arguments, const char* directory,
                             const struct start_setting* setting);

void command_signal(const struct command* command, int number);
void command_resize(const struct command* command, const struct window_size* size);

#endif
