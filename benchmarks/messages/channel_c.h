/* SPDX-License-Identifier: MIT */
/* Channels of messages in C: version 1 of docs/wire.md over librdmacm, with epoll. One thread runs
   a loop, its channels and their functions. */
#pragma once

#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop;
struct channel;

struct loop_options {
  /* Polls without sleeping. */
  bool is_busy;
  /* The size of the completion queue. */
  int completions;
};

struct channel_options {
  uint32_t receives;
  uint32_t block_size;
  uint32_t max_frames;
  uint32_t longest;
  uint32_t dead_after_milliseconds;
};

/* A request in progress. */
struct operation {
  void (*complete)(struct operation* self, const struct ibv_wc* done);
};

/* A message that has arrived, or the offer of one. The program gives it back. */
struct message {
  struct operation received;
  struct channel* owner;
  char* frame;
  const char* bytes;
  uint32_t length;
  uint8_t lane;
  uint64_t tag;
  bool is_offer;
  /* An offer that is not over. */
  struct incoming_offer* offer;
  /* The region that the peer writes. */
  struct ibv_mr* target;
  void (*written)(struct message* self, int error);
};

/* A message that is sent: bytes that are copied, and registered memory behind them. */
struct sending {
  const void* bytes;
  uint32_t size;
  struct ibv_sge memory;
  uint8_t lane;
  /* The memory is the program's again. */
  void (*done)(struct sending* self, int error);
  /* For the channel. */
  struct sending* next;
  uint64_t target;
  uint32_t key;
};

/* The functions of the program. `context` is its own. */
struct channel_events {
  void (*opened)(struct channel* which);
  void (*arrived)(struct channel* which, struct message* got);
  /* 0: both sides have closed it. */
  void (*ended)(struct channel* which, int error);
};

struct loop* loop_create(const struct loop_options* options);
void loop_destroy(struct loop* loop);
/* Runs until `*count` has reached `wanted`. */
void loop_run_until(struct loop* loop, const size_t* count, size_t wanted);

/* Accepts channels. `accepted` returns the context of a new one. */
int channel_listen(struct loop* loop, const struct sockaddr_in* address,
                   const struct channel_options* options, const struct channel_events* events,
                   void* (*accepted)(void* of_listener), void* of_listener);
struct channel* channel_connect(struct loop* loop, const struct sockaddr_in* address,
                                const struct channel_options* options,
                                const struct channel_events* events, void* context);
/* The channel must have ended, or must not be in use any more. */
void channel_destroy(struct channel* which);

void* channel_context(const struct channel* which);
struct ibv_pd* channel_domain(const struct channel* which);
/* Returns 0 if the memory of `which` is the program's again, EINPROGRESS if `done` follows, or an
   errno. Messages are sent in order. */
int channel_send(struct channel* to, struct sending* which);
/* Takes an offer into memory, or copies a message there. Returns 0 if it is there, EINPROGRESS if
   `written` follows, or an errno. */
int channel_receive_into(struct message* from, void* memory, size_t size,
                         void (*written)(struct message* self, int error));
/* An offer that was not taken is refused. */
void channel_give_back(struct message* which);
/* `ended` follows when the peer has confirmed every message. */
void channel_close(struct channel* which);
