/* Everything that goes between the host and a running command. */
#ifndef SOFTRDMA_GUEST_RELAY_H
#define SOFTRDMA_GUEST_RELAY_H

#include "../shared/frame.h"
#include "command.h"

/*
 * Relays until the command has ended, ends whatever it left running, sends on what those wrote, and
 * returns the command's status as a shell gives it. `input` holds what was received beyond the
 * description of the run; `barriers` is the socket that tools connect to.
 */
int relay(int port, int barriers, struct bytes* input, struct command* command);

#endif
