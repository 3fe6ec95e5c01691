/* The description of a run, as the guest's init takes it. */
#ifndef SOFTRDMA_HOST_DESCRIPTION_H
#define SOFTRDMA_HOST_DESCRIPTION_H

#include "../shared/frame.h"
#include "options.h"

void describe_run(struct bytes* output, const struct options* options, int host);

#endif
