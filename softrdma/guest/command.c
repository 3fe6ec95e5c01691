#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "port.h"

enum { parent_end, command_end };

/* Which step of starting the command went wrong, for the parent to put into words. */
enum start_step { step_directory, step_execute };

struct start_error {
  enum start_step step;
  int number;
};

static void make_pipe(int ends[2], int parent_index) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0)
    fail(status_failure, "the guest could not make a pipe: %s", strerror(errno));
  ends[parent_end] = fds[parent_index];
  ends[command_end] = fds[1 - parent_index];
  fcntl(ends[parent_end], F_SETFL, O_NONBLOCK);
}

static int open_terminal(int* slave) {
  int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
    fail(status_failure, "the guest could not make a terminal: %s", strerror(errno));
  *slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (*slave < 0)
    fail(status_failure, "the guest could not open its terminal: %s", strerror(errno));
  fcntl(master, F_SETFL, O_NONBLOCK);
  return master;
}

static _Noreturn void give_up(int errors, enum start_step step, int number) {
  struct start_error error = {.step = step, .number = number};
  ssize_t written = write(errors, &error, sizeof error);
  _exit(written == sizeof error ? status_failure : status_not_executable);
}

static _Noreturn void become(char** arguments, const char* directory,
                             const struct start_setting* setting, const int standard[3],
                             int errors) {
  setsid();
  for (int fd = 0; fd < 3; ++fd) dup2(standard[fd], fd);
  if (setting->terminal) ioctl(0, TIOCSCTTY, 0);

  /* Unlike init, which is never chosen when memory runs out. */
  int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score >= 0 && write(score, "0", 1) != 1) give_up(errors, step_execute, errno);
  const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_MEMLOCK, &unlimited);
  umask(setting->umask);
  signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);

  if (chdir(directory) != 0) give_up(errors, step_directory, errno);
  execvp(arguments[0], arguments);
  give_up(errors, step_execute, errno);
}

static void check_start(int errors, const char* name, const char* directory) {
  struct start_error error;
  ssize_t size;
  do {
    size = read(errors, &error, sizeof error);
  } while (size < 0 && errno == EINTR);
  close(errors);
  if (size != sizeof error) return;
  if (error.step == step_directory)
    fail(status_failure, "the directory %s cannot be entered in the guest: %s", directory,
         strerror(error.number));
  if (error.number == ENOENT) fail(status_not_found, "%s: command not found in the guest", name);
  if (error.number == ENOEXEC)
    fail(status_not_executable,
         "%s cannot be executed in the guest: %s; possible causes: it is no program, or one for "
         "another architecture (--root names a directory with programs of the guest's)",
         name, strerror(error.number));
  fail(status_not_executable, "%s cannot be executed in the guest: %s", name,
       strerror(error.number));
}

struct command command_start(char** arguments, const char* directory,
                             const struct start_setting* setting) {
  struct command command = {.input = -1, .output = -1, .error = -1, .terminal = -1};
  int standard[3];
  if (setting->terminal) {
    command.terminal = open_terminal(&standard[0]);
    command.input = command.output = command.terminal;
    standard[1] = standard[2] = standard[0];
    command_resize(&command, &setting->window);
  } else {
    int ends[2];
    make_pipe(ends, 1);
    command.input = ends[parent_end];
    standard[0] = ends[command_end];
    make_pipe(ends, 0);
    command.output = ends[parent_end];
    standard[1] = ends[command_end];
    make_pipe(ends, 0);
    command.error = ends[parent_end];
    standard[2] = ends[command_end];
  }

  int errors[2];
  if (pipe2(errors, O_CLOEXEC) != 0)
    fail(status_failure, "the guest could not make a pipe: %s", strerror(errno));
  command.pid = fork();
  if (command.pid < 0)
    fail(status_failure, "the guest could not start a process: %s", strerror(errno));
  if (command.pid == 0) become(arguments, directory, setting, standard, errors[1]);
  close(errors[1]);
  close(standard[0]);
  if (!setting->terminal) {
    close(standard[1]);
    close(standard[2]);
  }
  check_start(errors[0], arguments[0], directory);
  return command;
}

void command_signal(const struct command* command, int number) { kill(-command->pid, number); }

void command_resize(const struct command* command, const struct window_size* size) {
  if (command->terminal < 0 || size->rows == 0 || size->columns == 0) return;
  struct winsize window = {.ws_row = size->rows, .ws_col = size->columns};
  ioctl(command->terminal, TIOCSWINSZ, &window);
}
