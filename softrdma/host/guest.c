#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "description.h"
#include "report.h"
#include "signals.h"

/* A saved guest is ready in half a second; one that takes this long on a busy machine is better
 * booted. */
static const double resume_limit = 20;

/*
 * A snapshot that failed is given up by removing what marks it complete, so that the next run makes
 * a new one. How often that has happened is counted in the size of a file, for whoever makes
 * snapshots to stop at some point.
 */
static void failures_path(char* path, size_t size, const struct options* options) {
  snprintf(path, size, "%s/../failures", options->snapshot);
}

/* In this run, by any guest. */
static bool is_snapshot_discarded;

static void discard_snapshot(const struct options* options) {
  char path[4096];
  snprintf(path, sizeof path, "%s/complete", options->snapshot);
  unlink(path);
  if (is_snapshot_discarded) return;
  is_snapshot_discarded = true;
  failures_path(path, sizeof path, options);
  int fd = open(path, O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0644);
  if (fd < 0) return;
  ssize_t written = write(fd, "x", 1);
  (void)written;
  close(fd);
}

static void boot(struct guest* guest, const struct options* options) {
  guest->resumed = false;
  guest->state = guest_booting;
  guest->deadline = now() + options->boot_timeout;
  machine_start(&guest->machine, options, start_boot, guest->network);
}

void guest_start(struct guest* guest, const struct options* options) {
  if (!options->snapshot) {
    boot(guest, options);
    return;
  }
  guest->resumed = true;
  guest->state = guest_preparing;
  guest->deadline = now() + resume_limit;
  machine_start(&guest->machine, options, start_resume, guest->network);
}

void guest_continue(struct guest* guest, const struct options* options) {
  char reason[512];
  if (!guest->resumed) return;
  if (machine_restore(&guest->machine, guest->deadline, reason, sizeof reason))
    describe_run(&guest->output, options, guest->host);
  else
    guest_failed_early(guest, options, reason);
}

void guest_is_running(struct guest* guest, const struct options* options) {
  guest->state = guest_running;
  if (!guest->resumed || is_snapshot_discarded) return;
  /* Only failures in a row are a reason to do without snapshots. */
  char path[4096];
  failures_path(path, sizeof path, options);
  unlink(path);
}

void guest_failed_early(struct guest* guest, const struct options* options, const char* reason) {
  if (!guest->resumed) die("%s", reason);
  if (!options->quiet) say("the saved guest did not resume (%s); booting one instead", reason);
  discard_snapshot(options);
  guest_stop(guest);
  boot(guest, options);
}

void guest_stop(struct guest* guest) {
  machine_stop(&guest->machine);
  bytes_release(&guest->input);
  bytes_release(&guest->output);
}

/* Until init says hello, nothing but the console is of interest. */
static void wait_for_hello(struct guest* guest) {
  struct frame frame;
  while (frame_peek(&guest->input, &frame) == frame_incomplete) {
    if (!wait_readable(guest->machine.control, guest->deadline))
      die("the guest did not boot in time; --kernel-log FILE shows how far it came");
    if (bytes_read(&guest->input, guest->machine.control, 4096) > 0) continue;
    char sentence[1024];
    machine_explain(&guest->machine, -1, sentence, sizeof sentence);
    die("%s", sentence);
  }
  if (frame.type == frame_failure && frame.length > sizeof(struct failure_report))
    die("%.*s", (int)(frame.length - sizeof(struct failure_report)),
        frame.payload + sizeof(struct failure_report));
  if (frame.type != frame_hello) die("the guest said something unexpected");
}

static struct guest* saved;

static void stop_saved(void) { guest_stop(saved); }

void guest_save(const struct options* options) {
  struct guest guest = {
      .host = 1, .network = -1, .log = -1, .deadline = now() + options->boot_timeout};
  saved = &guest;
  at_end(stop_saved);
  machine_start(&guest.machine, options, start_boot_to_save, -1);
  wait_for_hello(&guest);
  /* Init now reads the next frame, or will in a moment: a guest saved in between is as good. */
  char reason[512];
  if (!machine_save(&guest.machine, guest.deadline, reason, sizeof reason))
    die("the guest could not be saved: %s", reason);
  finish(0);
}
