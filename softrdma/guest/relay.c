#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "barrier.h"
#include "port.h"

enum { chunk = 32 * 1024, output_limit = 256 * 1024 };

struct relay {
  int port;
  int children; /* becomes readable when a child has ended */
  int barriers;
  struct command* command;
  struct bytes* from_host;
  struct bytes to_host;
  struct bytes to_command;
  bool input_ended;
};

static void close_descriptor(int* fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

static void send_credit(struct relay* relay, size_t size) {
  uint32_t credit = (uint32_t)size;
  frame_append(&relay->to_host, frame_credit, &credit, sizeof credit);
}

static void end_input(struct relay* relay) {
  if (relay->command->terminal >= 0) {
    /* A terminal has no end; the character for it says the same. */
    bytes_append(&relay->to_command, "\x04", 1);
    return;
  }
  relay->input_ended = true;
  if (bytes_size(&relay->to_command) == 0) close_descriptor(&relay->command->input);
}

static void take_input(struct relay* relay, const struct frame* frame) {
  if (frame->length == 0)
    end_input(relay);
  else if (relay->command->input >= 0)
    bytes_append(&relay->to_command, frame->payload, frame->length);
  else
    send_credit(relay, frame->length);
}

static void close_output(struct relay* relay, const struct frame* frame) {
  int32_t number;
  if (relay->command->terminal >= 0 || !frame_value(frame, &number, sizeof number)) return;
  close_descriptor(number == STDOUT_FILENO ? &relay->command->output : &relay->command->error);
}

static void take_frame(struct relay* relay, const struct frame* frame) {
  int32_t number;
  struct window_size window;
  switch (frame->type) {
    case frame_stdin: take_input(relay, frame); break;
    case frame_signal:
      if (frame_value(frame, &number, sizeof number)) command_signal(relay->command, number);
      break;
    case frame_window:
      if (frame_value(frame, &window, sizeof window)) command_resize(relay->command, &window);
      break;
    case frame_close: close_output(relay, frame); break;
    case frame_barrier_open: barrier_answer(frame, true); break;
    case frame_barrier_broken: barrier_answer(frame, false); break;
    default: break;
  }
}

static void receive(struct relay* relay) {
  bytes_read(relay->from_host, relay->port, chunk);
  struct frame frame;
  while (frame_peek(relay->from_host, &frame) == frame_complete) {
    take_frame(relay, &frame);
    frame_consume(relay->from_host, &frame);
  }
}

/* Returns false when there is nothing more to read now. */
static bool forward(struct relay* relay, int* fd, uint32_t type) {
  char buffer[chunk];
  ssize_t size = read(*fd, buffer, sizeof buffer);
  if (size > 0) {
    frame_append(&relay->to_host, type, buffer, (size_t)size);
    return true;
  }
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return errno == EINTR;
  /* The end; a terminal reports it as EIO, once nobody has its other side open. */
  if (fd == &relay->command->output && relay->command->terminal >= 0) {
    relay->command->output = -1;
    return false;
  }
  close_descriptor(fd);
  return false;
}

static void feed(struct relay* relay) {
  ssize_t size = bytes_write(&relay->to_command, relay->command->input, chunk);
  if (size > 0) {
    send_credit(relay, (size_t)size);
  } else if (size < 0 && errno != EAGAIN && errno != EINTR) {
    /* The command has closed its standard input: what is on its way is taken and dropped. */
    send_credit(relay, bytes_size(&relay->to_command));
    bytes_consume(&relay->to_command, bytes_size(&relay->to_command));
    close_descriptor(&relay->command->input);
  }
  if (relay->input_ended && bytes_size(&relay->to_command) == 0)
    close_descriptor(&relay->command->input);
}

static int shell_status(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Init inherits every orphan of the guest; returns true when the command itself has ended. */
static bool reap(struct relay* relay, int* status) {
  struct signalfd_siginfo info;
  while (read(relay->children, &info, sizeof info) > 0) continue;
  bool ended = false;
  int child_status;
  pid_t pid;
  while ((pid = waitpid(-1, &child_status, WNOHANG)) > 0) {
    if (pid != relay->command->pid) continue;
    *status = shell_status(child_status);
    ended = true;
  }
  return ended;
}

static void step(struct relay* relay) {
  struct command* command = relay->command;
  bool room = bytes_size(&relay->to_host) < output_limit;
  bool pending = bytes_size(&relay->to_command) > 0;
  enum { on_port, on_children, on_barriers, on_output, on_error, on_input, count };
  struct pollfd polled[count + barrier_waiting_limit] = {
      [on_port] = {relay->port, (short)(POLLIN | (bytes_size(&relay->to_host) > 0 ? POLLOUT : 0)),
                   0},
      [on_children] = {relay->children, POLLIN, 0},
      [on_barriers] = {relay->barriers, POLLIN, 0},
      [on_output] = {room ? command->output : -1, POLLIN, 0},
      [on_error] = {room ? command->error : -1, POLLIN, 0},
      [on_input] = {pending ? command->input : -1, POLLOUT, 0},
  };
  int waiting = barrier_watch(polled + count);
  poll(polled, (nfds_t)(count + waiting), -1);
  barrier_withdraw(polled + count, &relay->to_host);
  if (polled[on_port].revents & POLLOUT) bytes_write(&relay->to_host, relay->port, chunk);
  if (polled[on_port].revents & POLLIN) receive(relay);
  if (polled[on_barriers].revents & POLLIN) barrier_accept(relay->barriers, &relay->to_host);
  if (polled[on_output].revents && command->output >= 0)
    forward(relay, &command->output, frame_stdout);
  if (polled[on_error].revents && command->error >= 0)
    forward(relay, &command->error, frame_stderr);
  if (polled[on_input].revents && command->input >= 0) feed(relay);
}

/* What the command started and left behind ends with it, as in a container; what it wrote before is
 * still passed on. */
static void end_the_rest(struct relay* relay) {
  kill(-1, SIGKILL);
  enum { attempts = 1000, pause_us = 1000 };
  for (int attempt = 0; attempt < attempts; ++attempt) {
    pid_t pid = waitpid(-1, NULL, WNOHANG);
    if (pid < 0) break;
    if (pid == 0) usleep(pause_us);
  }
  while (relay->command->output >= 0 && forward(relay, &relay->command->output, frame_stdout))
    port_send_queue(&relay->to_host);
  while (relay->command->error >= 0 && forward(relay, &relay->command->error, frame_stderr))
    port_send_queue(&relay->to_host);
  port_send_queue(&relay->to_host);
}

int relay(int port, int barriers, struct bytes* input, struct command* command) {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, NULL);
  struct relay relay = {.port = port,
                        .children = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC),
                        .barriers = barriers,
                        .command = command,
                        .from_host = input};
  fcntl(port, F_SETFL, O_NONBLOCK);
  int status = 0;
  /* A child that ended before its signal was blocked is found by the first look. */
  while (!reap(&relay, &status)) step(&relay);
  end_the_rest(&relay);
  return status;
}
