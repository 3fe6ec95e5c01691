/* Requests to the kernel over netlink, built attribute by attribute. */
#ifndef SOFTRDMA_GUEST_NETLINK_H
#define SOFTRDMA_GUEST_NETLINK_H

#include <linux/netlink.h>
#include <stddef.h>
#include <stdint.h>

struct request {
  _Alignas(struct nlmsghdr) char buffer[1024];
};

/* Starts a request of that type, with the header that the type calls for (ifinfomsg, rtmsg, ...),
 * if any. */
void request_begin(struct request* request, uint16_t type, uint16_t flags, const void* header,
                   size_t size);

/* A further header of that kind, where an attribute begins with one. */
void request_header(struct request* request, const void* header, size_t size);

void request_attribute(struct request* request, uint16_t type, const void* value, size_t size);
void request_text(struct request* request, uint16_t type, const char* text);
void request_number(struct request* request, uint16_t type, uint32_t number);

/* Attributes between these two are nested in one of that type. */
struct nlattr* request_nest(struct request* request, uint16_t type);
void request_unnest(struct request* request, struct nlattr* nest);

/* Sends the request over a socket of that netlink protocol and waits for the kernel's word: 0 or an
 * errno. */
int request_send(struct request* request, int protocol);

#endif
