/* The few things that the runner asks of QEMU through its monitor. */
#ifndef SOFTRDMA_HOST_QMP_H
#define SOFTRDMA_HOST_QMP_H

#include <stdbool.h>

/*
 * Both return true on success, else false with a reason. `fd` is a file that holds or receives the
 * state of the devices; the memory is in a file of its own that neither of them reads or writes.
 */
bool qmp_restore(int monitor, int fd, double deadline, char* reason, unsigned long reason_size);
bool qmp_save(int monitor, int fd, double deadline, char* reason, unsigned long reason_size);

#endif
