/* The port to the host, and the way to give up. */
#ifndef SOFTRDMA_GUEST_PORT_H
#define SOFTRDMA_GUEST_PORT_H

#include "../shared/frame.h"

/* Opens the port by its name; the kernel numbers ports as it likes. */
int port_open(void);

/* Sends one frame and waits until it is gone. */
void port_send(uint32_t type, const void* payload, size_t length);

/* Sends all that is queued. */
void port_send_queue(struct bytes* output);

/* Reads the next frame into `input` and `frame`, waiting for it. */
void port_receive(struct bytes* input, struct frame* frame);

/* Tells the host in one sentence why there will be no exit status of the command, and stops for
 * good. */
_Noreturn void fail(int status, const char* format, ...) __attribute__((format(printf, 2, 3)));

/* Waits for the host to end the guest. */
_Noreturn void wait_for_the_end(void);

enum { status_failure = 125, status_not_executable = 126, status_not_found = 127 };

#endif
