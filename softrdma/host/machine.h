/* One QEMU process and the channels to it. */
#ifndef SOFTRDMA_HOST_MACHINE_H
#define SOFTRDMA_HOST_MACHINE_H

#include <sys/types.h>

#include "../shared/frame.h"
#include "options.h"

enum start_kind {
  start_boot,
  start_boot_to_save, /* with its memory in a file, for a snapshot */
  start_resume,
};

struct machine {
  pid_t pid;   /* 0: none */
  int control; /* frames to and from init */
  int console; /* what the guest's kernel prints */
  int monitor; /* QEMU's own */
  int errors;  /* what QEMU itself has to say */
  int state;   /* file that the guest's state is saved to or restored from, or -1 */
  struct bytes console_text;
  struct bytes error_text;
};

/* `network` is the descriptor of the link to the other guest, or -1. */
void machine_start(struct machine* machine, const struct options* options, enum start_kind kind,
                   int network);

/* Brings a machine that was started with start_resume to where it was saved. */
bool machine_restore(struct machine* machine, double deadline, char* reason, size_t reason_size);

/* Saves a machine that was started with start_boot_to_save. */
bool machine_save(struct machine* machine, double deadline, char* reason, size_t reason_size);

/* Reads what there is from the console or from QEMU's errors, and keeps the end of it. False at the
 * end of the stream. */
bool machine_read_console(struct machine* machine, int log);
bool machine_read_errors(struct machine* machine);

/* Ends it at once; nothing of it remains. */
void machine_stop(struct machine* machine);

/* Why a machine that has gone down did so, as a sentence. */
void machine_explain(struct machine* machine, int log, char* sentence, size_t size);

#endif
