#include "barrier.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "port.h"

enum { name_limit = 256 };

static const char socket_name[] = "softrdma-barrier";

struct waiting {
  int fd;
  char name[name_limit];
};

static struct waiting waiting[barrier_waiting_limit];
static int waiting_count;

/* An abstract address: no file that a command could remove or a mount could hide. */
static socklen_t fill_address(struct sockaddr_un* address) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  memcpy(address->sun_path + 1, socket_name, sizeof socket_name - 1);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof socket_name);
}

int barrier_main(int count, char** arguments) {
  const char* name = count > 1 ? arguments[1] : "default";
  if (count > 2 || strlen(name) == 0 || strlen(name) >= name_limit || name[0] == '-') {
    fprintf(stderr,
            "usage: softrdma-barrier [NAME]\n"
            "Waits until every host of the run has called it with the same NAME.\n");
    return status_failure;
  }
  struct sockaddr_un address;
  socklen_t length = fill_address(&address);
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  char answer;
  if (fd < 0 || connect(fd, (struct sockaddr*)&address, length) != 0 ||
      send(fd, name, strlen(name), MSG_NOSIGNAL) < 0 || recv(fd, &answer, 1, 0) != 1) {
    perror("softrdma-barrier");
    return status_failure;
  }
  if (answer == '1') return 0;
  fprintf(stderr, "softrdma-barrier: another host ended without reaching the barrier %s\n", name);
  return 1;
}

int barrier_listen(void) {
  struct sockaddr_un address;
  socklen_t length = fill_address(&address);
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0 &&
      (bind(fd, (struct sockaddr*)&address, length) != 0 || listen(fd, barrier_waiting_limit) != 0)) {
    close(fd);
    return -1;
  }
  return fd;
}

void barrier_accept(int listener, struct bytes* output) {
  int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  if (fd < 0) return;
  /* The tool sends its name as soon as it is connected; another program that found the socket may
   * not. */
  const struct timeval patience = {.tv_sec = 1};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  char name[name_limit];
  ssize_t size = recv(fd, name, sizeof name - 1, 0);
  if (size <= 0 || waiting_count == barrier_waiting_limit) {
    close(fd);
    return;
  }
  name[size] = '\0';
  waiting[waiting_count].fd = fd;
  memcpy(waiting[waiting_count].name, name, (size_t)size + 1);
  ++waiting_count;
  frame_append(output, frame_barrier_wait, name, (size_t)size);
}

int barrier_watch(struct pollfd* polled) {
  for (int index = 0; index < waiting_count; ++index)
    polled[index] = (struct pollfd){waiting[index].fd, POLLIN, 0};
  return waiting_count;
}

static void drop(int index) {
  close(waiting[index].fd);
  waiting[index] = waiting[--waiting_count];
}

void barrier_withdraw(const struct pollfd* polled, struct bytes* output) {
  for (int index = waiting_count - 1; index >= 0; --index) {
    if (polled[index].revents == 0) continue;
    frame_append(output, frame_barrier_leave, waiting[index].name, strlen(waiting[index].name));
    drop(index);
  }
}

void barrier_answer(const struct frame* frame, bool reached) {
  for (int index = waiting_count - 1; index >= 0; --index) {
    if (strlen(waiting[index].name) != frame->length ||
        memcmp(waiting[index].name, frame->payload, frame->length) != 0)
      continue;
    send(waiting[index].fd, reached ? "1" : "0", 1, MSG_NOSIGNAL);
    drop(index);
  }
}
