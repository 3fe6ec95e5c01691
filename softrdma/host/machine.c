#include "machine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "qmp.h"
#include "report.h"
#include "signals.h"

enum { kept_text = 64 * 1024, argument_limit = 96 };

/* Each end of a channel: the runner's, and the one that QEMU inherits. */
struct channel {
  int ours;
  int theirs;
};

struct channels {
  struct channel control;
  struct channel console;
  struct channel monitor;
  struct channel errors;
  int state;   /* file of a saved guest's devices, or -1 */
  int network; /* or -1 */
};

struct arguments {
  char* items[argument_limit];
  int count;
};

static void add(struct arguments* arguments, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct arguments* arguments, const char* format, ...) {
  va_list values;
  va_start(values, format);
  /* The last place stays null. */
  if (arguments->count == argument_limit - 1 ||
      vasprintf(&arguments->items[arguments->count], format, values) < 0)
    die("QEMU's arguments cannot be composed");
  va_end(values);
  ++arguments->count;
}

/* QEMU separates the parts of an argument by commas; a comma inside a part is doubled. */
static char* escaped(const char* path) {
  char* result = malloc(2 * strlen(path) + 1);
  if (!result) die("out of memory");
  char* end = result;
  for (; *path; ++path) {
    if (*path == ',') *end++ = ',';
    *end++ = *path;
  }
  *end = '\0';
  return result;
}

static bool is_arm(const struct options* options) {
  return strcmp(options->architecture, "arm64") == 0;
}

static void add_machine(struct arguments* arguments, const struct options* options) {
  bool kvm = strcmp(options->accelerator, "kvm") == 0;
  add(arguments, "%s", options->qemu);
  add(arguments, "-M");
  add(arguments, "%s,memory-backend=mem", is_arm(options) ? "virt,gic-version=max" : "pc");
  add(arguments, "-accel");
  /* Only processors that take turns have their instructions counted; and the second one, whose turn
   * QEMU lets come when the first one pauses, does not even start (7.2). */
  bool counts = options->counts_instructions;
  add(arguments, "%s", kvm ? "kvm" : counts ? "tcg,thread=single" : "tcg,thread=multi");
  if (counts) {
    add(arguments, "-icount");
    /* 4 ns an instruction: about what emulation takes, so that programs that wait for so much time
     * take no longer than usual. */
    add(arguments, "shift=2");
  }
  add(arguments, "-cpu");
  /* Emulated, the algorithm that Arm names for pointer authentication takes half of the time of a
   * guest. */
  add(arguments, "%s", kvm ? "host" : is_arm(options) ? "max,pauth-impdef=on" : "max");
  add(arguments, "-smp");
  add(arguments, "%u", options->processors);
  add(arguments, "-m");
  add(arguments, "%s", options->memory);
  add(arguments, "-nodefaults");
  add(arguments, "-no-user-config");
  add(arguments, "-display");
  add(arguments, "none");
  add(arguments, "-no-reboot");
  if (!options->firmware && !is_arm(options)) {
    /* A kernel that starts without firmware still wants the tables that this small one makes. */
    add(arguments, "-bios");
    add(arguments, "qboot.rom");
  }
}

static void add_memory(struct arguments* arguments, const struct options* options,
                       enum start_kind kind) {
  add(arguments, "-object");
  if (kind == start_boot) {
    add(arguments, "memory-backend-ram,id=mem,size=%s", options->memory);
    return;
  }
  /* A resumed guest copies what it writes; the file stays as it was saved. */
  char* directory = escaped(kind == start_resume ? options->snapshot : options->save);
  add(arguments, "memory-backend-file,id=mem,size=%s,mem-path=%s/memory,share=%s", options->memory,
      directory, kind == start_resume ? "off" : "on");
  free(directory);
}

static void add_kernel(struct arguments* arguments, const struct options* options) {
  add(arguments, "-kernel");
  add(arguments, "%s", options->kernel);
  add(arguments, "-initrd");
  add(arguments, "%s", options->initramfs);
  add(arguments, "-append");
  /* norandmaps: TCG uses again what it has translated only if the code is at the same address in
     the next process. A program starts three times as fast. */
  add(arguments,
      "norandmaps panic=-1 oops=panic mitigations=off cryptomgr.notests lsm= audit=0 "
      "rcupdate.rcu_expedited=1 init_on_alloc=0 nowatchdog %s %s",
      is_arm(options) ? "console=ttyAMA0" : "console=ttyS0 tsc=reliable no_timer_check",
      options->kernel_log ? "loglevel=8" : "quiet loglevel=1");
}

static void add_share(struct arguments* arguments, const char* id, const char* tag,
                      const char* directory, bool writable) {
  char* path = escaped(directory);
  add(arguments, "-fsdev");
  add(arguments, "local,id=%s,path=%s,security_model=none,multidevs=remap%s", id, path,
      writable ? "" : ",readonly=on");
  add(arguments, "-device");
  add(arguments, "virtio-9p-pci,fsdev=%s,mount_tag=%s", id, tag);
  free(path);
}

static void add_devices(struct arguments* arguments, const struct options* options,
                        const struct channels* channels) {
  add(arguments, "-chardev");
  add(arguments, "socket,id=console,fd=%d", channels->console.theirs);
  add(arguments, "-serial");
  add(arguments, "chardev:console");
  add(arguments, "-chardev");
  add(arguments, "socket,id=monitor,fd=%d", channels->monitor.theirs);
  add(arguments, "-mon");
  add(arguments, "chardev=monitor,mode=control");
  add(arguments, "-chardev");
  add(arguments, "socket,id=control,fd=%d", channels->control.theirs);
  add(arguments, "-device");
  add(arguments, "virtio-serial-pci");
  add(arguments, "-device");
  add(arguments, "virtserialport,chardev=control,name=%s", SOFTRDMA_PORT_NAME);

  add_share(arguments, "root", SOFTRDMA_ROOT_TAG, options->root, false);
  /* A saved guest resumes only into a machine with the same devices, so this one is always there.
   */
  if (options->output_directory)
    add_share(arguments, "out", SOFTRDMA_OUT_TAG, options->output_directory, true);
  else
    add_share(arguments, "out", SOFTRDMA_OUT_TAG, options->empty_directory, false);

  add(arguments, "-netdev");
  if (channels->network >= 0)
    add(arguments, "socket,id=net,fd=%d", channels->network);
  else
    add(arguments, "hubport,id=net,hubid=0");
  add(arguments, "-device");
  add(arguments, "virtio-net-pci,netdev=net,romfile=");
}

static struct arguments compose(const struct options* options, enum start_kind kind,
                                const struct channels* channels) {
  struct arguments arguments = {0};
  add_machine(&arguments, options);
  add_memory(&arguments, options, kind);
  add_kernel(&arguments, options);
  add_devices(&arguments, options, channels);
  if (kind == start_resume) {
    add(&arguments, "-incoming");
    add(&arguments, "defer");
  }
  return arguments;
}

static struct channel make_channel(void) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    die("no channel to QEMU can be made: %s", strerror(errno));
  return (struct channel){.ours = ends[0], .theirs = ends[1]};
}

static int state_file(const struct options* options, enum start_kind kind) {
  if (kind == start_boot) return -1;
  char path[4096];
  snprintf(path, sizeof path, "%s/state", kind == start_resume ? options->snapshot : options->save);
  int fd = open(
      path, kind == start_resume ? O_RDONLY | O_CLOEXEC : O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC,
      0644);
  if (fd < 0 && kind == start_boot_to_save) die("%s cannot be written: %s", path, strerror(errno));
  return fd;
}

static void inherit(int fd) {
  if (fd >= 0) fcntl(fd, F_SETFD, 0);
}

static _Noreturn void become_qemu(char** arguments, const struct channels* channels, pid_t parent) {
  /* Out of reach of the terminal's Ctrl-C, which is the command's; but never alive without the
   * runner. */
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(status_failure);
  signals_restore();
  int nothing = open("/dev/null", O_RDWR);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(channels->errors.theirs, STDOUT_FILENO);
  dup2(channels->errors.theirs, STDERR_FILENO);
  inherit(channels->control.theirs);
  inherit(channels->console.theirs);
  inherit(channels->monitor.theirs);
  inherit(channels->network);
  execvp(arguments[0], arguments);
  fprintf(stderr, "%s cannot be executed: %s\n", arguments[0], strerror(errno));
  _exit(status_failure);
}

void machine_start(struct machine* machine, const struct options* options, enum start_kind kind,
                   int network) {
  struct channels channels = {.control = make_channel(),
                              .console = make_channel(),
                              .monitor = make_channel(),
                              .errors = make_channel(),
                              .state = state_file(options, kind),
                              .network = network};
  struct arguments arguments = compose(options, kind, &channels);
  pid_t parent = getpid();
  pid_t pid = fork();
  if (pid < 0) die("QEMU cannot be started: %s", strerror(errno));
  if (pid == 0) become_qemu(arguments.items, &channels, parent);
  for (int index = 0; index < arguments.count; ++index) free(arguments.items[index]);
  /* The loop must not wait for a guest that does not take what it is sent. */
  fcntl(channels.control.ours, F_SETFL, O_NONBLOCK);
  close(channels.control.theirs);
  close(channels.console.theirs);
  close(channels.monitor.theirs);
  close(channels.errors.theirs);
  *machine = (struct machine){.pid = pid,
                              .control = channels.control.ours,
                              .console = channels.console.ours,
                              .monitor = channels.monitor.ours,
                              .errors = channels.errors.ours,
                              .state = channels.state};
}

/* QEMU has its own once it was handed over. */
static void close_state(struct machine* machine) {
  if (machine->state >= 0) close(machine->state);
  machine->state = -1;
}

bool machine_restore(struct machine* machine, double deadline, char* reason, size_t reason_size) {
  bool done = qmp_restore(machine->monitor, machine->state, deadline, reason, reason_size);
  close_state(machine);
  return done;
}

bool machine_save(struct machine* machine, double deadline, char* reason, size_t reason_size) {
  bool done = qmp_save(machine->monitor, machine->state, deadline, reason, reason_size);
  close_state(machine);
  return done;
}

static bool read_and_keep(struct bytes* text, int fd, int log) {
  size_t before = bytes_size(text);
  ssize_t size = bytes_read(text, fd, 4096);
  if (size <= 0) return size < 0 && errno == EINTR;
  if (log >= 0 && write(log, bytes_front(text) + before, (size_t)size) != size)
    die("the kernel's log cannot be written: %s", strerror(errno));
  if (bytes_size(text) > kept_text) bytes_consume(text, bytes_size(text) - kept_text);
  return true;
}

bool machine_read_console(struct machine* machine, int log) {
  return read_and_keep(&machine->console_text, machine->console, log);
}

bool machine_read_errors(struct machine* machine) {
  return read_and_keep(&machine->error_text, machine->errors, -1);
}

void machine_stop(struct machine* machine) {
  if (machine->pid <= 0) return;
  kill(machine->pid, SIGKILL);
  while (waitpid(machine->pid, NULL, 0) < 0 && errno == EINTR) continue;
  close(machine->control);
  close(machine->console);
  close(machine->monitor);
  close(machine->errors);
  close_state(machine);
  bytes_release(&machine->console_text);
  bytes_release(&machine->error_text);
  machine->pid = 0;
}

/* The line of the text that holds those words, from them on; false if there is none. */
static bool find_line(struct bytes* text, const char* words, char* line, size_t size) {
  bytes_append(text, "", 1);
  const char* found = bytes_front(text);
  /* A text with NULs in it is searched piece by piece. */
  const char* end = found + bytes_size(text);
  while (found < end && !strstr(found, words)) found += strlen(found) + 1;
  if (found >= end) return false;
  found = strstr(found, words);
  snprintf(line, size, "%.*s", (int)strcspn(found, "\r\n"), found);
  return true;
}

/* The last line that is more than a warning; empty if there is none. */
static void last_complaint(const struct bytes* text, char* line, size_t size) {
  const char* at = bytes_front(text);
  const char* end = at + bytes_size(text);
  line[0] = '\0';
  while (at < end) {
    const char* newline = memchr(at, '\n', (size_t)(end - at));
    const char* next = newline ? newline + 1 : end;
    size_t length = (size_t)((newline ? newline : end) - at);
    if (length > 0 && !memmem(at, length, ": warning: ", strlen(": warning: ")))
      snprintf(line, size, "%.*s", (int)length, at);
    at = next;
  }
}

void machine_explain(struct machine* machine, int log, char* sentence, size_t size) {
  /* It closes its channels as it ends, in no certain order. */
  const double deadline = now() + 2;
  while (wait_readable(machine->console, deadline) && machine_read_console(machine, log)) continue;
  while (wait_readable(machine->errors, deadline) && machine_read_errors(machine)) continue;
  char line[512];
  if (find_line(&machine->console_text, "Kernel panic - not syncing: ", line, sizeof line)) {
    const char* cause = line + strlen("Kernel panic - not syncing: ");
    snprintf(sentence, size, "the guest's kernel panicked (%s); --kernel-log FILE shows its log",
             cause);
    return;
  }
  last_complaint(&machine->error_text, line, sizeof line);
  if (line[0])
    snprintf(sentence, size, "QEMU ended early: %s", line);
  else
    snprintf(sentence, size, "the guest went down before the command had ended");
}
