/* One guest of a run, from its start to its last word. */
#ifndef SOFTRDMA_HOST_GUEST_H
#define SOFTRDMA_HOST_GUEST_H

#include "machine.h"

enum guest_state {
  guest_booting,   /* until its init says hello */
  guest_preparing, /* until the command starts */
  guest_running,
  guest_ended,
};

enum { barrier_limit = 64 };

struct guest {
  int host; /* 1 or 2 */
  struct machine machine;
  enum guest_state state;
  bool resumed;
  double deadline; /* to reach guest_running */
  int network;     /* the end of the link that is this guest's, or -1 */
  int log;         /* file that gets what the kernel prints, or -1 */
  int status;
  struct bytes input;            /* from init */
  struct bytes output;           /* to init */
  struct bytes lines[2];         /* of standard output and error, until they are whole */
  char* barriers[barrier_limit]; /* that the command waits at */
  int barrier_count;
};

/* Starts its machine: to be resumed if there is something to resume, else to boot. */
void guest_start(struct guest* guest, const struct options* options);

/* Resumes it, if that is how it was started, and describes the run to it. */
void guest_continue(struct guest* guest, const struct options* options);

/* Notes that its command has started. */
void guest_is_running(struct guest* guest, const struct options* options);

/* Does what has to be done when a guest that has not run the command yet is gone or late; may start
 * it again. */
void guest_failed_early(struct guest* guest, const struct options* options, const char* reason);

void guest_stop(struct guest* guest);

/* Boots a guest and saves it in options->save; ends the program if that fails. */
void guest_save(const struct options* options);

#endif
