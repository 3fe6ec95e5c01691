/* A queue of bytes that grows as needed, and frames that are written to and read from one. */
#ifndef SOFTRDMA_FRAME_H
#define SOFTRDMA_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "protocol.h"

struct bytes {
  char* data;
  size_t begin;
  size_t end;
  size_t capacity;
};

struct frame {
  uint32_t type;
  uint32_t length;
  const char* payload; /* inside the queue: valid until the queue changes */
};

static inline size_t bytes_size(const struct bytes* queue) { return queue->end - queue->begin; }

static inline char* bytes_front(const struct bytes* queue) { return queue->data + queue->begin; }

void bytes_append(struct bytes* queue, const void* data, size_t size);
void bytes_consume(struct bytes* queue, size_t size);
void bytes_release(struct bytes* queue);

/* Reads once; as read(2). */
ssize_t bytes_read(struct bytes* queue, int fd, size_t limit);

/* Writes once, at most `limit` bytes, and consumes what was written; as write(2). */
ssize_t bytes_write(struct bytes* queue, int fd, size_t limit);

void frame_append(struct bytes* queue, uint32_t type, const void* payload, size_t length);

enum frame_state { frame_incomplete, frame_complete, frame_invalid };

/* Looks at the first frame of the queue without taking it. */
enum frame_state frame_peek(const struct bytes* queue, struct frame* frame);

/* Takes the frame that frame_peek showed. */
void frame_consume(struct bytes* queue, const struct frame* frame);

/* Copies the payload into `*value` if it is exactly that long. */
bool frame_value(const struct frame* frame, void* value, size_t size);

/* The payload as a string of its own, to be freed. */
char* frame_text(const struct frame* frame);

/* Splits NUL-terminated strings into an array that ends with a null pointer; frees nothing, points
 * into `data`. */
char** split_strings(char* data, size_t size);

#endif
