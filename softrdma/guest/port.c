#include "port.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int port = -1;

static bool has_our_name(const char* entry) {
  char path[320];
  snprintf(path, sizeof path, "/sys/class/virtio-ports/%s/name", entry);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char name[64];
  ssize_t size = read(fd, name, sizeof name - 1);
  close(fd);
  if (size <= 0) return false;
  name[size] = '\0';
  name[strcspn(name, "\n")] = '\0';
  return strcmp(name, SOFTRDMA_PORT_NAME) == 0;
}

static int find_and_open(void) {
  DIR* ports = opendir("/sys/class/virtio-ports");
  if (!ports) return -1;
  int fd = -1;
  struct dirent* entry;
  while (fd < 0 && (entry = readdir(ports))) {
    if (!has_our_name(entry->d_name)) continue;
    char path[320];
    snprintf(path, sizeof path, "/dev/%s", entry->d_name);
    fd = open(path, O_RDWR | O_CLOEXEC);
  }
  closedir(ports);
  return fd;
}

int port_open(void) {
  /* The driver announces its ports a moment after it is loaded. */
  enum { attempts = 10000, pause_us = 1000 };
  for (int attempt = 0; port < 0 && attempt < attempts; ++attempt) {
    port = find_and_open();
    if (port < 0) usleep(pause_us);
  }
  return port;
}

void port_send_queue(struct bytes* output) {
  while (bytes_size(output) > 0) {
    if (bytes_write(output, port, bytes_size(output)) >= 0 || errno == EINTR) continue;
    if (errno != EAGAIN) wait_for_the_end();
    struct pollfd ready = {.fd = port, .events = POLLOUT};
    poll(&ready, 1, -1);
  }
}

void port_send(uint32_t type, const void* payload, size_t length) {
  struct bytes output = {0};
  frame_append(&output, type, payload, length);
  port_send_queue(&output);
  bytes_release(&output);
}

void port_receive(struct bytes* input, struct frame* frame) {
  enum { chunk = 64 * 1024 };
  enum frame_state state;
  while ((state = frame_peek(input, frame)) == frame_incomplete) {
    ssize_t size = bytes_read(input, port, chunk);
    /* The port reads as ended while the host's side is closed: for a moment around a resume, or for
     * good. */
    if (size == 0)
      usleep(1000);
    else if (size < 0 && errno != EINTR && errno != EAGAIN)
      wait_for_the_end();
  }
  if (state == frame_invalid)
    fail(status_failure, "the guest received a message that it does not understand");
}

void fail(int status, const char* format, ...) {
  struct failure_report report = {.status = status};
  char sentence[1024];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  struct bytes payload = {0};
  bytes_append(&payload, &report, sizeof report);
  bytes_append(&payload, sentence, strnlen(sentence, length < 0 ? 0 : sizeof sentence));
  if (port >= 0)
    port_send(frame_failure, payload.data, bytes_size(&payload));
  else
    fprintf(stderr, "softrdma: %s\n", sentence);
  wait_for_the_end();
}

void wait_for_the_end(void) {
  for (;;) pause();
}
