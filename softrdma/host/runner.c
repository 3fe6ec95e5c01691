/*
 * The runner: starts one guest or two, gives them the command, and is between them and the caller
 * until the command has ended. It leaves no files behind: what it needs of a guest goes through
 * descriptors.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "clock.h"
#include "description.h"
#include "guest.h"
#include "report.h"
#include "signals.h"
#include "sink.h"
#include "terminal.h"

enum { guest_limit = 2, chunk = 32 * 1024, line_limit = 64 * 1024 };

/* How long a command may take to end after it was asked to, before its guest is ended. */
static const double grace = 5;

static struct options options;
static struct guest guests[guest_limit];
static struct sink sinks[2] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};

static double deadline;       /* of the command; 0: none */
static double grace_deadline; /* once it has been asked to end; else 0 */
static int asked_by;          /* the signal that asked, or 0 for the timeout */
static size_t credit = stdin_credit_limit;
static bool input_ended;

static void stop_guests(void) {
  for (int index = 0; index < options.hosts; ++index) guest_stop(&guests[index]);
}

static void send_to(struct guest* guest, uint32_t type, const void* payload, size_t length) {
  if (guest->state == guest_running) frame_append(&guest->output, type, payload, length);
}

static void send_to_all(uint32_t type, const void* payload, size_t length) {
  for (int index = 0; index < options.hosts; ++index)
    send_to(&guests[index], type, payload, length);
}

static void send_signal(int number) {
  int32_t value = number;
  send_to_all(frame_signal, &value, sizeof value);
}

/* With two hosts, lines are kept whole, so that their outputs do not mix within one. */
static void pass_lines(struct guest* guest, int stream, bool all) {
  struct bytes* line = &guest->lines[stream];
  struct bytes* output = &sinks[stream].pending;
  while (bytes_size(line) > 0) {
    const char* start = bytes_front(line);
    const char* newline = memchr(start, '\n', bytes_size(line));
    size_t length = newline ? (size_t)(newline - start) + 1 : bytes_size(line);
    if (!newline && !all && length < line_limit) return;
    if (options.label) {
      char label[16];
      bytes_append(output, label, (size_t)snprintf(label, sizeof label, "[%d] ", guest->host));
    }
    bytes_append(output, start, length);
    if (options.label && !newline) bytes_append(output, "\n", 1);
    bytes_consume(line, length);
  }
}

static void pass_output(struct guest* guest, int stream, const struct frame* frame) {
  if (sinks[stream].closed) return;
  if (options.hosts == 1) {
    bytes_append(&sinks[stream].pending, frame->payload, frame->length);
    return;
  }
  bytes_append(&guest->lines[stream], frame->payload, frame->length);
  pass_lines(guest, stream, false);
}

static bool waits_at(const struct guest* guest, const char* name) {
  for (int index = 0; index < guest->barrier_count; ++index) {
    if (strcmp(guest->barriers[index], name) == 0) return true;
  }
  return false;
}

static void drop_barrier(struct guest* guest, int index) {
  free(guest->barriers[index]);
  guest->barriers[index] = guest->barriers[--guest->barrier_count];
}

/* A command has ended while it waited: others of its host may wait there, too. */
static void withdraw_from_barrier(struct guest* guest, const struct frame* frame) {
  char* name = frame_text(frame);
  for (int index = 0; index < guest->barrier_count; ++index) {
    if (strcmp(guest->barriers[index], name) != 0) continue;
    drop_barrier(guest, index);
    break;
  }
  free(name);
}

static void leave_barrier(struct guest* guest, const char* name, uint32_t answer) {
  send_to(guest, answer, name, strlen(name));
  for (int index = guest->barrier_count - 1; index >= 0; --index) {
    if (strcmp(guest->barriers[index], name) == 0) drop_barrier(guest, index);
  }
}

static void reach_barrier(struct guest* guest, const struct frame* frame) {
  if (guest->barrier_count == barrier_limit)
    die("a command waits at more than %d barriers at a time", barrier_limit);
  char* name = frame_text(frame);
  guest->barriers[guest->barrier_count++] = name;
  bool all = true;
  bool ended = false;
  for (int index = 0; index < options.hosts; ++index) {
    all = all && waits_at(&guests[index], name);
    ended = ended || guests[index].state == guest_ended;
  }
  if (!all && !ended) return;
  char* copy = frame_text(frame);
  for (int index = 0; index < options.hosts; ++index)
    leave_barrier(&guests[index], copy, all ? frame_barrier_open : frame_barrier_broken);
  free(copy);
}

static void break_barriers(void) {
  for (int index = 0; index < options.hosts; ++index) {
    struct guest* guest = &guests[index];
    while (guest->barrier_count > 0) {
      char* name = strdup(guest->barriers[0]);
      leave_barrier(guest, name ? name : guest->barriers[0], frame_barrier_broken);
      free(name);
    }
  }
}

static void end_guest(struct guest* guest, int status) {
  guest->status = status;
  guest->state = guest_ended;
  for (int stream = 0; stream < 2; ++stream) pass_lines(guest, stream, true);
  guest_stop(guest);
  break_barriers();
}

static void take_exit(struct guest* guest, const struct frame* frame) {
  struct exit_report report;
  if (!frame_value(frame, &report, sizeof report)) die("the guest's last message is malformed");
  if (report.out_of_memory == 0) {
    end_guest(guest, report.status);
    return;
  }
  say("the guest ran out of memory (%s) and its kernel killed %u of the command's processes; "
      "--memory gives it more",
      options.memory, report.out_of_memory);
  end_guest(guest, status_failure);
}

static void take_failure(struct guest* guest, const struct frame* frame) {
  struct failure_report report;
  if (frame->length < sizeof report) die("the guest's last message is malformed");
  memcpy(&report, frame->payload, sizeof report);
  say("%.*s", (int)(frame->length - sizeof report), frame->payload + sizeof report);
  end_guest(guest, report.status);
}

static void take_ready(struct guest* guest) {
  guest_is_running(guest, &options);
  if (deadline == 0 && options.timeout > 0) deadline = now() + options.timeout;
}

static void write_log(const struct guest* guest, const struct frame* frame) {
  if (guest->log >= 0 && write(guest->log, frame->payload, frame->length) != (ssize_t)frame->length)
    die("%s cannot be written: %s", options.kernel_log, strerror(errno));
}

static void take_frame(struct guest* guest, const struct frame* frame) {
  uint32_t taken;
  switch (frame->type) {
    case frame_hello:
      guest->state = guest_preparing;
      describe_run(&guest->output, &options, guest->host);
      break;
    case frame_ready: take_ready(guest); break;
    case frame_stdout: pass_output(guest, 0, frame); break;
    case frame_stderr: pass_output(guest, 1, frame); break;
    case frame_credit:
      if (frame_value(frame, &taken, sizeof taken)) credit += taken;
      break;
    case frame_barrier_wait: reach_barrier(guest, frame); break;
    case frame_barrier_leave: withdraw_from_barrier(guest, frame); break;
    case frame_kernel_log: write_log(guest, frame); break;
    case frame_exit: take_exit(guest, frame); break;
    case frame_failure: take_failure(guest, frame); break;
    default: die("the guest sent a message that the runner does not understand");
  }
}

static void guest_is_gone(struct guest* guest) {
  char sentence[1024];
  machine_explain(&guest->machine, guest->log, sentence, sizeof sentence);
  if (guest->state == guest_running) {
    say("%s", sentence);
    end_guest(guest, status_failure);
  } else {
    guest_failed_early(guest, &options, sentence);
  }
}

static void receive(struct guest* guest) {
  ssize_t size = bytes_read(&guest->input, guest->machine.control, chunk);
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (size <= 0) {
    guest_is_gone(guest);
    return;
  }
  struct frame frame;
  enum frame_state state;
  while (guest->state != guest_ended &&
         (state = frame_peek(&guest->input, &frame)) != frame_incomplete) {
    if (state == frame_invalid) die("the guest sent a message that the runner does not understand");
    take_frame(guest, &frame);
    if (guest->state != guest_ended) frame_consume(&guest->input, &frame);
  }
}

static void read_input(void) {
  char buffer[chunk];
  ssize_t size = read(STDIN_FILENO, buffer, credit < chunk ? credit : chunk);
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (size <= 0) {
    input_ended = true;
    size = 0;
  }
  credit -= (size_t)size;
  send_to(&guests[0], frame_stdin, buffer, (size_t)size);
}

static bool any_is_starting(void) {
  for (int index = 0; index < options.hosts; ++index) {
    if (guests[index].state < guest_running) return true;
  }
  return false;
}

static bool all_have_ended(void) {
  for (int index = 0; index < options.hosts; ++index) {
    if (guests[index].state != guest_ended) return false;
  }
  return true;
}

static void ask_to_end(int number) {
  if (any_is_starting() || all_have_ended() || grace_deadline != 0) finish(128 + number);
  asked_by = number;
  grace_deadline = now() + grace;
  send_signal(number);
}

static void take_signals(void) {
  int number;
  while ((number = signals_next()) != 0) {
    if (signal_asks_to_end(number)) {
      ask_to_end(number);
    } else if (number == SIGWINCH) {
      struct window_size size = terminal_size();
      send_to_all(frame_window, &size, sizeof size);
    } else {
      send_signal(number);
    }
  }
}

/* What has arrived is passed on, also if nothing more is waited for. */
static void pass_rest(void) {
  static const double longest = 1;
  const double end = now() + longest;
  for (int index = 0; index < options.hosts; ++index) {
    for (int stream = 0; stream < 2; ++stream) pass_lines(&guests[index], stream, true);
  }
  while (now() < end) {
    struct pollfd polled[2];
    bool pending = false;
    for (int stream = 0; stream < 2; ++stream) {
      const bool has = bytes_size(&sinks[stream].pending) > 0;
      pending = pending || has;
      polled[stream] = (struct pollfd){.fd = has ? sinks[stream].fd : -1, .events = POLLOUT};
    }
    if (!pending) return;
    if (poll(polled, 2, milliseconds_until(end)) <= 0) continue;
    for (int stream = 0; stream < 2; ++stream) {
      if (polled[stream].revents) sink_write(&sinks[stream]);
    }
  }
}

static double earliest(double one, double other) { return other != 0 && other < one ? other : one; }

static double next_deadline(void) {
  double next = now() + 3600;
  next = earliest(next, all_have_ended() ? 0 : deadline);
  next = earliest(next, grace_deadline);
  for (int index = 0; index < options.hosts; ++index) {
    if (guests[index].state < guest_running) next = earliest(next, guests[index].deadline);
  }
  return next;
}

static void check_deadlines(void) {
  double time = now();
  for (int index = 0; index < options.hosts; ++index) {
    if (guests[index].state < guest_running && time >= guests[index].deadline)
      guest_failed_early(
          &guests[index], &options,
          "the guest was not ready in time; --kernel-log FILE shows how far it came");
  }
  if (grace_deadline != 0 && time >= grace_deadline && asked_by != 0) {
    pass_rest();
    finish(128 + asked_by);
  }
  if (deadline == 0 || time < deadline || all_have_ended()) return;
  stop_guests();
  pass_rest();
  say("the command did not end within %g s", options.timeout);
  finish(status_timeout);
}

/* Tells the command that nobody reads its output any more, as a pipe without a reader would. */
static void close_streams(const bool before[2]) {
  for (int32_t stream = 0; stream < 2; ++stream) {
    int32_t number = stream + 1;
    if (sinks[stream].closed && !before[stream]) send_to_all(frame_close, &number, sizeof number);
  }
}

struct polled_guest {
  struct pollfd* control;
  struct pollfd* console;
  struct pollfd* errors;
};

static void step(void) {
  struct pollfd polled[4 + 3 * guest_limit];
  nfds_t count = 0;
  struct polled_guest polled_guests[guest_limit] = {0};
  bool room = sink_has_room(&sinks[0]) && sink_has_room(&sinks[1]);
  bool listening = !input_ended && credit > 0 && guests[0].state == guest_running;

  polled[count++] = (struct pollfd){.fd = signals_fd(), .events = POLLIN};
  polled[count++] = (struct pollfd){.fd = listening ? STDIN_FILENO : -1, .events = POLLIN};
  for (int stream = 0; stream < 2; ++stream) {
    bool pending = bytes_size(&sinks[stream].pending) > 0;
    polled[count++] = (struct pollfd){.fd = pending ? sinks[stream].fd : -1, .events = POLLOUT};
  }
  for (int index = 0; index < options.hosts; ++index) {
    struct guest* guest = &guests[index];
    if (guest->state == guest_ended) continue;
    short writing = bytes_size(&guest->output) > 0 ? POLLOUT : 0;
    polled_guests[index].control = &polled[count];
    polled[count++] = (struct pollfd){.fd = guest->machine.control,
                                      .events = (short)((room ? POLLIN : 0) | writing)};
    polled_guests[index].console = &polled[count];
    polled[count++] = (struct pollfd){.fd = guest->machine.console, .events = POLLIN};
    polled_guests[index].errors = &polled[count];
    polled[count++] = (struct pollfd){.fd = guest->machine.errors, .events = POLLIN};
  }

  if (poll(polled, count, milliseconds_until(next_deadline())) < 0) return;
  if (polled[0].revents) take_signals();
  if (polled[1].revents) read_input();
  const bool before[2] = {sinks[0].closed, sinks[1].closed};
  for (int stream = 0; stream < 2; ++stream) {
    if (polled[2 + stream].revents) sink_write(&sinks[stream]);
  }
  close_streams(before);
  for (int index = 0; index < options.hosts; ++index) {
    struct guest* guest = &guests[index];
    const struct polled_guest* ready = &polled_guests[index];
    if (!ready->control) continue;
    if (ready->console->revents & POLLIN) machine_read_console(&guest->machine, guest->log);
    if (ready->errors->revents & POLLIN) machine_read_errors(&guest->machine);
    if (ready->control->revents & POLLOUT)
      bytes_write(&guest->output, guest->machine.control, chunk);
    if (ready->control->revents & (POLLIN | POLLHUP | POLLERR)) receive(guest);
  }
  check_deadlines();
}

static int open_log(int host) {
  if (!options.kernel_log) return -1;
  char path[4096];
  if (options.hosts == 1)
    snprintf(path, sizeof path, "%s", options.kernel_log);
  else
    snprintf(path, sizeof path, "%s.%d", options.kernel_log, host);
  int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
  if (fd < 0) die("%s cannot be written: %s", path, strerror(errno));
  return fd;
}

static void start_guests(void) {
  int link[2] = {-1, -1};
  /* The runner keeps both ends: a guest that is started again is given its own once more. */
  if (options.hosts == 2 && socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, link) != 0)
    die("no link between the guests can be made: %s", strerror(errno));
  for (int index = 0; index < options.hosts; ++index)
    guests[index] =
        (struct guest){.host = index + 1, .network = link[index], .log = open_log(index + 1)};
  at_end(stop_guests);
  for (int index = 0; index < options.hosts; ++index) guest_start(&guests[index], &options);
  for (int index = 0; index < options.hosts; ++index) guest_continue(&guests[index], &options);
}

/* A descriptor that is closed at the start would otherwise be taken by the next file that is
 * opened. */
static void fill_standard_descriptors(void) {
  int fd;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) close(fd);
}

int main(int count, char** arguments) {
  fill_standard_descriptors();
  options = options_parse(count, arguments);
  signals_open();
  if (options.save) guest_save(&options);
  start_guests();
  if (options.terminal) terminal_make_raw();
  while (!all_have_ended() || bytes_size(&sinks[0].pending) > 0 ||
         bytes_size(&sinks[1].pending) > 0)
    step();
  finish(guests[0].status != 0 ? guests[0].status : guests[1].status);
}
