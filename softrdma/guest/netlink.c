#include "netlink.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct nlmsghdr* message_of(struct request* request) {
  return (struct nlmsghdr*)request->buffer;
}

/* The requests of this program are fixed and small; the buffer holds the largest several times
 * over. */
static void* extend(struct request* request, size_t size) {
  struct nlmsghdr* message = message_of(request);
  char* place = request->buffer + NLMSG_ALIGN(message->nlmsg_len);
  message->nlmsg_len = (uint32_t)(NLMSG_ALIGN(message->nlmsg_len) + size);
  return place;
}

void request_begin(struct request* request, uint16_t type, uint16_t flags, const void* header,
                   size_t size) {
  memset(request, 0, sizeof *request);
  struct nlmsghdr* message = message_of(request);
  message->nlmsg_type = type;
  message->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
  message->nlmsg_len = NLMSG_HDRLEN;
  if (size > 0) request_header(request, header, size);
}

void request_header(struct request* request, const void* header, size_t size) {
  memcpy(extend(request, size), header, size);
}

void request_attribute(struct request* request, uint16_t type, const void* value, size_t size) {
  struct nlattr* attribute = extend(request, NLA_HDRLEN + size);
  attribute->nla_type = type;
  attribute->nla_len = (uint16_t)(NLA_HDRLEN + size);
  if (size > 0) memcpy((char*)attribute + NLA_HDRLEN, value, size);
}

void request_text(struct request* request, uint16_t type, const char* text) {
  request_attribute(request, type, text, strlen(text) + 1);
}

void request_number(struct request* request, uint16_t type, uint32_t number) {
  request_attribute(request, type, &number, sizeof number);
}

struct nlattr* request_nest(struct request* request, uint16_t type) {
  struct nlattr* nest = extend(request, NLA_HDRLEN);
  nest->nla_type = type;
  return nest;
}

void request_unnest(struct request* request, struct nlattr* nest) {
  const char* end = request->buffer + message_of(request)->nlmsg_len;
  nest->nla_len = (uint16_t)(end - (char*)nest);
}

static int answer_to(int fd) {
  _Alignas(struct nlmsghdr) char buffer[4096];
  for (;;) {
    ssize_t size = recv(fd, buffer, sizeof buffer, 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno;
    const struct nlmsghdr* message = (const struct nlmsghdr*)buffer;
    if ((size_t)size < NLMSG_LENGTH(sizeof(struct nlmsgerr)) || message->nlmsg_type != NLMSG_ERROR)
      continue;
    return -((const struct nlmsgerr*)NLMSG_DATA(message))->error;
  }
}

int request_send(struct request* request, int protocol) {
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
  if (fd < 0) return errno;
  int result =
      send(fd, request->buffer, message_of(request)->nlmsg_len, 0) < 0 ? errno : answer_to(fd);
  close(fd);
  return result;
}
