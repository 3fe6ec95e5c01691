/*
 * The tool `softrdma-barrier` and init's part of it: a command waits until the commands on all
 * hosts wait for the same name. It goes by way of the runner on the host, not over the link, which
 * may be what is being tested.
 */
#ifndef SOFTRDMA_GUEST_BARRIER_H
#define SOFTRDMA_GUEST_BARRIER_H

#include <poll.h>

#include "../shared/frame.h"

/* The tool. */
int barrier_main(int count, char** arguments);

/* Init's part: a socket to poll for tools that connect, -1 if there is none. */
int barrier_listen(void);

/* Takes one tool's request and passes it on as a frame. */
void barrier_accept(int listener, struct bytes* output);

/* The most tools that wait at a time. */
enum { barrier_waiting_limit = 64 };

/* Fills in what to poll for the end of each tool that waits; returns the number of these. */
int barrier_watch(struct pollfd* polled);

/* Withdraws the requests of tools that have ended, as the poll of what barrier_watch filled in shows:
 * the command that would have gone on is gone. */
void barrier_withdraw(const struct pollfd* polled, struct bytes* output);

/* Lets every tool go that waits for that name. */
void barrier_answer(const struct frame* frame, bool reached);

#endif
