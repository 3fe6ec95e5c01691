/* Network interfaces, the RDMA devices on them, and what the command is told of both. */
#ifndef SOFTRDMA_GUEST_NETWORK_H
#define SOFTRDMA_GUEST_NETWORK_H

#include "../shared/protocol.h"

/* Sets up the topology and waits until every device is usable. */
void network_set_up(const struct network_setting* setting);

/* Puts the SOFTRDMA_ variables that name devices and addresses into this process's environment. */
void network_describe(const struct network_setting* setting);

#endif
