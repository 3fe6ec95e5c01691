#include "signals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "clock.h"
#include "report.h"

static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};

static int fd = -1;
static sigset_t before;

void signals_open(void) {
  sigset_t set;
  sigemptyset(&set);
  /* What whoever started the runner wants ignored, as nohup(1) does, is ignored. */
  struct sigaction action;
  for (size_t index = 0; index < sizeof handled / sizeof *handled; ++index) {
    if (sigaction(handled[index], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
      sigaddset(&set, handled[index]);
  }
  sigprocmask(SIG_BLOCK, &set, &before);
  fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd < 0) die("no descriptor for signals: %s", strerror(errno));
  signal(SIGPIPE, SIG_IGN);
}

void signals_restore(void) {
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &before, NULL);
}

int signals_fd(void) { return fd; }

int signals_next(void) {
  struct signalfd_siginfo info;
  return read(fd, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}

bool signal_asks_to_end(int number) {
  return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

bool wait_readable(int wanted, double deadline) {
  for (;;) {
    struct pollfd polled[] = {{.fd = wanted, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    poll(polled, 2, milliseconds_until(deadline));
    int number;
    while ((number = signals_next()) != 0) {
      if (signal_asks_to_end(number)) finish(128 + number);
    }
    if (polled[0].revents) return true;
    if (now() >= deadline) return false;
  }
}
