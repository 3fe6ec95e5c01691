#include "qmp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../shared/frame.h"
#include "clock.h"
#include "signals.h"

struct conversation {
  int monitor;
  int qemu; /* its major version */
  double deadline;
  struct bytes input;
  char line[4096];
  char* reason;
  size_t reason_size;
};

static bool failed(struct conversation* talk, const char* reason) {
  snprintf(talk->reason, talk->reason_size, "%s", reason);
  return false;
}

/* QEMU says one thing a line. */
static bool next_line(struct conversation* talk) {
  for (;;) {
    char* start = bytes_front(&talk->input);
    char* newline =
        bytes_size(&talk->input) > 0 ? memchr(start, '\n', bytes_size(&talk->input)) : NULL;
    if (newline) {
      size_t length = (size_t)(newline - start);
      snprintf(talk->line, sizeof talk->line, "%.*s", (int)length, start);
      bytes_consume(&talk->input, length + 1);
      return true;
    }
    if (!wait_readable(talk->monitor, talk->deadline))
      return failed(talk, "QEMU did not answer in time");
    if (bytes_read(&talk->input, talk->monitor, sizeof talk->line) <= 0)
      return failed(talk, "QEMU ended");
  }
}

static bool wait_for(struct conversation* talk, const char* wanted) {
  while (next_line(talk)) {
    if (strstr(talk->line, wanted)) return true;
    const char* error = strstr(talk->line, "\"desc\": \"");
    if (error) {
      error += strlen("\"desc\": \"");
      snprintf(talk->reason, talk->reason_size, "%.*s", (int)strcspn(error, "\""), error);
      return false;
    }
  }
  return false;
}

static bool ask(struct conversation* talk, const char* request) {
  size_t length = strlen(request);
  if (write(talk->monitor, request, length) != (ssize_t)length)
    return failed(talk, "QEMU does not listen");
  return wait_for(talk, "\"return\"");
}

static bool read_version(struct conversation* talk) {
  static const char key[] = "\"major\": ";
  if (!wait_for(talk, "\"QMP\"")) return false;
  const char* major = strstr(talk->line, key);
  talk->qemu = major ? atoi(major + sizeof key - 1) : 0;
  return true;
}

static bool greet(struct conversation* talk) {
  return read_version(talk) && ask(talk, "{\"execute\": \"qmp_capabilities\"}\n") &&
         ask(talk,
             "{\"execute\": \"migrate-set-capabilities\", \"arguments\": {\"capabilities\": "
             "[{\"capability\": \"x-ignore-shared\", \"state\": true}]}}\n");
}

/* QEMU knows a descriptor by the name under which it was handed over. */
static bool hand_over(struct conversation* talk, int fd) {
  static char request[] = "{\"execute\": \"getfd\", \"arguments\": {\"fdname\": \"state\"}}\n";
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof fd)];
  } control = {0};
  struct iovec text = {.iov_base = request, .iov_len = sizeof request - 1};
  struct msghdr message = {
      .msg_iov = &text, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(header), &fd, sizeof fd);
  if (sendmsg(talk->monitor, &message, 0) != (ssize_t)text.iov_len)
    return failed(talk, "QEMU does not listen");
  return wait_for(talk, "\"return\"");
}

/* QEMU 11 refuses a file's descriptor. QEMU before 8.2 cannot open a file itself. */
static bool migrate(struct conversation* talk, const char* direction, int fd) {
  enum { opens_files = 9 };
  char uri[64] = "fd:state";
  if (talk->qemu >= opens_files)
    snprintf(uri, sizeof uri, "file:/proc/%d/fd/%d", (int)getpid(), fd);
  else if (!hand_over(talk, fd))
    return false;
  char request[160];
  snprintf(request, sizeof request,
           "{\"execute\": \"%s\", \"arguments\": {\"uri\": \"%s\"}}\n", direction, uri);
  return ask(talk, request);
}

static bool wait_until_saved(struct conversation* talk) {
  enum { pause_us = 10000 };
  for (;;) {
    if (!ask(talk, "{\"execute\": \"query-migrate\"}\n")) return false;
    if (strstr(talk->line, "\"status\": \"completed\"")) return true;
    if (strstr(talk->line, "\"status\": \"failed\""))
      return failed(talk, "QEMU could not save the guest");
    usleep(pause_us);
  }
}

bool qmp_restore(int monitor, int fd, double deadline, char* reason, unsigned long reason_size) {
  struct conversation talk = {
      .monitor = monitor, .deadline = deadline, .reason = reason, .reason_size = reason_size};
  bool done =
      greet(&talk) && migrate(&talk, "migrate-incoming", fd) && wait_for(&talk, "\"RESUME\"");
  bytes_release(&talk.input);
  return done;
}

bool qmp_save(int monitor, int fd, double deadline, char* reason, unsigned long reason_size) {
  struct conversation talk = {
      .monitor = monitor, .deadline = deadline, .reason = reason, .reason_size = reason_size};
  bool done = greet(&talk) && migrate(&talk, "migrate", fd) && wait_until_saved(&talk);
  bytes_release(&talk.input);
  return done;
}
