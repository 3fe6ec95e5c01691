/*
 * The guest's init: the only program that runs in it besides the command. It loads the modules,
 * says hello, and waits for the description of a run; a snapshot is taken while it waits. All that
 * may differ between runs comes after that.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "barrier.h"
#include "command.h"
#include "mounts.h"
#include "network.h"
#include "port.h"
#include "relay.h"

struct run {
  struct clock_setting time;
  struct network_setting network;
  struct start_setting start;
  struct bytes entropy;
  struct bytes modules; /* frames */
  struct bytes environment;
  struct bytes arguments;
  char* output_directory;
  char* directory;
};

static void write_file(const char* path, const char* text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  ssize_t written = write(fd, text, strlen(text));
  (void)written;
  close(fd);
}

static void load_module(const void* image, size_t size, const char* name) {
  if (syscall(SYS_init_module, image, size, "") != 0 && errno != EEXIST)
    fail(status_failure, "the guest's kernel does not take the module %s: %s", name,
         strerror(errno));
}

static void load_module_file(const char* name) {
  char path[256];
  snprintf(path, sizeof path, "/modules/%s", name);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0)
    fail(status_failure, "the guest's module %s is missing", name);
  void* image = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (image == MAP_FAILED)
    fail(status_failure, "the guest's module %s cannot be read: %s", name, strerror(errno));
  load_module(image, (size_t)status.st_size, name);
  munmap(image, (size_t)status.st_size);
  close(fd);
}

/* The list names each module after those that it needs. */
static void load_modules(void) {
  FILE* list = fopen("/modules/order", "re");
  if (!list) fail(status_failure, "the guest's list of modules is missing");
  char name[128];
  while (fgets(name, sizeof name, list)) {
    name[strcspn(name, "\n")] = '\0';
    load_module_file(name);
  }
  fclose(list);
}

static void keep(struct bytes* queue, const struct frame* frame) {
  queue->begin = queue->end = 0;
  bytes_append(queue, frame->payload, frame->length);
}

static void take(struct run* run, const struct frame* frame) {
  bool valid = true;
  switch (frame->type) {
    case frame_time: valid = frame_value(frame, &run->time, sizeof run->time); break;
    case frame_entropy: keep(&run->entropy, frame); break;
    case frame_module:
      frame_append(&run->modules, frame->type, frame->payload, frame->length);
      break;
    case frame_network:
      valid = frame_value(frame, &run->network, sizeof run->network) &&
              run->network.topology <= topology_hosts && run->network.host >= 1 &&
              run->network.host <= 2 && run->network.devices >= 1 &&
              run->network.devices <= device_limit;
      break;
    case frame_output_directory: run->output_directory = frame_text(frame); break;
    case frame_directory: run->directory = frame_text(frame); break;
    case frame_environment: keep(&run->environment, frame); break;
    case frame_command: keep(&run->arguments, frame); break;
    case frame_start: valid = frame_value(frame, &run->start, sizeof run->start); break;
    default: valid = false; break;
  }
  if (!valid)
    fail(status_failure, "the guest received a message that it does not understand (type %u)",
         frame->type);
}

static void receive_description(struct bytes* input, struct run* run) {
  struct frame frame;
  do {
    port_receive(input, &frame);
    take(run, &frame);
    frame_consume(input, &frame);
  } while (frame.type != frame_start);
  if (!run->directory || bytes_size(&run->arguments) == 0 || run->network.host == 0)
    fail(status_failure, "the guest received only a part of what describes a run");
}

/* Reports what the kernel has logged so far, and lets the console show all that follows. */
static void show_kernel_log(void) {
  enum { read_all = 3, set_console_level = 8, everything = 8, size = 1 << 20 };
  char* log = malloc(size);
  int length = log ? klogctl(read_all, log, size) : 0;
  if (length > 0) port_send(frame_kernel_log, log, (size_t)length);
  free(log);
  klogctl(set_console_level, NULL, everything);
}

static void set_clock(const struct clock_setting* setting) {
  const struct timespec now = {.tv_sec = setting->seconds, .tv_nsec = setting->nanoseconds};
  clock_settime(CLOCK_REALTIME, &now);
}

static void add_entropy(const struct bytes* entropy) {
  enum { limit = 256 };
  _Alignas(struct rand_pool_info) char memory[sizeof(struct rand_pool_info) + limit];
  struct rand_pool_info* pool = (struct rand_pool_info*)memory;
  size_t size = bytes_size(entropy);
  if (size == 0 || size > limit) return;
  int fd = open("/dev/urandom", O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  pool->entropy_count = (int)(8 * size);
  pool->buf_size = (int)size;
  memcpy(pool->buf, bytes_front(entropy), size);
  ioctl(fd, RNDADDENTROPY, pool);
  ioctl(fd, RNDRESEEDCRNG);
  close(fd);
}

static void load_further_modules(struct bytes* modules) {
  struct frame frame;
  while (frame_peek(modules, &frame) == frame_complete) {
    load_module(frame.payload, frame.length, "of this run");
    frame_consume(modules, &frame);
  }
}

static void set_environment(struct bytes* environment) {
  clearenv();
  char** variables = split_strings(bytes_front(environment), bytes_size(environment));
  for (char** variable = variables; *variable; ++variable) putenv(*variable);
  free(variables);
}

/* Init's tools come last: the command finds the caller's programs first. */
static void extend_path(void) {
  const char* path = getenv("PATH");
  char* extended;
  if (asprintf(&extended, "%s:/run/softrdma/bin",
               path && path[0] ? path : "/usr/sbin:/usr/bin:/sbin:/bin") < 0)
    return;
  setenv("PATH", extended, 1);
  free(extended);
}

static void prepare(struct run* run) {
  set_clock(&run->time);
  add_entropy(&run->entropy);
  if (run->start.kernel_log) show_kernel_log();
  load_further_modules(&run->modules);
  enter_host_root();
  if (run->output_directory) mount_output_directory(run->output_directory);
  network_set_up(&run->network);

  set_environment(&run->environment);
  network_describe(&run->network);
  if (run->output_directory)
    setenv("SOFTRDMA_OUT", run->output_directory, 1);
  else
    unsetenv("SOFTRDMA_OUT");
  extend_path();
}

static uint32_t out_of_memory_kills(void) {
  FILE* counters = fopen("/proc/vmstat", "re");
  char name[64];
  unsigned long value;
  uint32_t kills = 0;
  while (counters && fscanf(counters, "%63s %lu", name, &value) == 2) {
    if (strcmp(name, "oom_kill") == 0) kills = (uint32_t)value;
  }
  if (counters) fclose(counters);
  return kills;
}

int main(int count, char** arguments) {
  if (getpid() != 1) return barrier_main(count, arguments);

  signal(SIGPIPE, SIG_IGN);
  mount_kernel_views();
  /* When memory runs out, the command ends, not the one who reports it. */
  write_file("/proc/self/oom_score_adj", "-1000");
  sethostname("softrdma", strlen("softrdma"));
  load_modules();
  int port = port_open();
  if (port < 0) fail(status_failure, "the guest did not find its port to the host");
  port_send(frame_hello, NULL, 0);

  struct bytes input = {0};
  struct run run = {0};
  receive_description(&input, &run);
  prepare(&run);
  char** command_arguments = split_strings(bytes_front(&run.arguments), bytes_size(&run.arguments));
  /* Before the command, which may use it at once. */
  int barriers = barrier_listen();
  struct command command = command_start(command_arguments, run.directory, &run.start);
  port_send(frame_ready, NULL, 0);

  struct exit_report report = {.status = relay(port, barriers, &input, &command)};
  report.out_of_memory = out_of_memory_kills();
  release_output_directory();
  port_send(frame_exit, &report, sizeof report);
  wait_for_the_end();
}
