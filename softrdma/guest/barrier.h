/*
 * The tool `softrdma-barrier` and init's part of it: a command waits until the commands on all
 * hosts wait for the same name. It goes by way of the runner on the host, not over the link, which
 * may be what is being tested.
 */
#ifndef SOFTRDMA_GUEST_BARRIER_H
#define SOFTRDMA_GUEST_BARRIER_H

#include "../shared/frame.h"

/* The tool. */
int barrier_main(int count, char** arguments);

/* Init's part: a socket to poll for tools that connect, -1 if there is none. */
int barrier_listen(void);

/* Takes one tool's request and passes it on as a frame. */
void barrier_accept(int listener, struct bytes* output);

/* Lets every tool go that waits for that name. */
void barrier_answer(const struct frame* frame, bool reached);

#endif
