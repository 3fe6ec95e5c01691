#include "description.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "report.h"
#include "terminal.h"

extern char** environ;

static void add_text(struct bytes* output, enum frame_type type, const char* text) {
  frame_append(output, type, text, strlen(text));
}

static void add_strings(struct bytes* output, enum frame_type type, char* const* strings) {
  struct bytes payload = {0};
  for (; *strings; ++strings) bytes_append(&payload, *strings, strlen(*strings) + 1);
  frame_append(output, type, payload.data, bytes_size(&payload));
  bytes_release(&payload);
}

static void add_time(struct bytes* output) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  struct clock_setting setting = {.seconds = time.tv_sec, .nanoseconds = time.tv_nsec};
  frame_append(output, frame_time, &setting, sizeof setting);
}

static void add_entropy(struct bytes* output) {
  char random[64];
  if (getrandom(random, sizeof random, 0) == sizeof random)
    frame_append(output, frame_entropy, random, sizeof random);
}

static void add_module(struct bytes* output, const char* path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) die("%s cannot be read: %s", path, strerror(errno));
  struct bytes image = {0};
  while (bytes_read(&image, fd, 1 << 20) > 0) continue;
  close(fd);
  frame_append(output, frame_module, image.data, bytes_size(&image));
  bytes_release(&image);
}

void describe_run(struct bytes* output, const struct options* options, int host) {
  add_time(output);
  add_entropy(output);
  for (size_t index = 0; index < options->module_count; ++index)
    add_module(output, options->modules[index]);
  struct network_setting network = {.device = options->device,
                                    .topology = options->topology,
                                    .host = (uint32_t)host,
                                    .devices = options->devices,
                                    .mtu = options->mtu};
  frame_append(output, frame_network, &network, sizeof network);
  if (options->output_directory)
    add_text(output, frame_output_directory, options->output_directory);
  add_text(output, frame_directory, options->directory);
  add_strings(output, frame_environment, environ);
  add_strings(output, frame_command, options->command);

  mode_t mask = umask(0);
  umask(mask);
  struct start_setting start = {.terminal = options->terminal,
                                .kernel_log = options->kernel_log != NULL,
                                .umask = mask,
                                .window = terminal_size()};
  frame_append(output, frame_start, &start, sizeof start);
}
