#include "frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Neither end can do anything sensible without memory, and both are watched: the host sees the
 * guest's end of stream. */
static void* allocated(void* memory) {
  if (!memory) {
    fputs("softrdma: out of memory\n", stderr);
    exit(125);
  }
  return memory;
}

static void reserve(struct bytes* queue, size_t size) {
  if (queue->capacity - queue->end >= size) return;
  size_t used = bytes_size(queue);
  if (queue->begin > 0) {
    memmove(queue->data, bytes_front(queue), used);
    queue->begin = 0;
    queue->end = used;
  }
  if (queue->capacity - used < size) {
    queue->capacity = 2 * (used + size);
    queue->data = allocated(realloc(queue->data, queue->capacity));
  }
}

void bytes_append(struct bytes* queue, const void* data, size_t size) {
  if (size == 0) return;
  reserve(queue, size);
  memcpy(queue->data + queue->end, data, size);
  queue->end += size;
}

void bytes_consume(struct bytes* queue, size_t size) {
  queue->begin += size;
  if (queue->begin == queue->end) queue->begin = queue->end = 0;
}

void bytes_release(struct bytes* queue) {
  free(queue->data);
  *queue = (struct bytes){0};
}

ssize_t bytes_read(struct bytes* queue, int fd, size_t limit) {
  reserve(queue, limit);
  ssize_t size = read(fd, queue->data + queue->end, limit);
  if (size > 0) queue->end += (size_t)size;
  return size;
}

ssize_t bytes_write(struct bytes* queue, int fd, size_t limit) {
  size_t size = bytes_size(queue);
  ssize_t written = write(fd, bytes_front(queue), size < limit ? size : limit);
  if (written > 0) bytes_consume(queue, (size_t)written);
  return written;
}

void frame_append(struct bytes* queue, uint32_t type, const void* payload, size_t length) {
  struct frame_header header = {.type = type, .length = (uint32_t)length};
  bytes_append(queue, &header, sizeof header);
  bytes_append(queue, payload, length);
}

enum frame_state frame_peek(const struct bytes* queue, struct frame* frame) {
  struct frame_header header;
  if (bytes_size(queue) < sizeof header) return frame_incomplete;
  memcpy(&header, bytes_front(queue), sizeof header);
  if (header.length > frame_length_limit) return frame_invalid;
  if (bytes_size(queue) - sizeof header < header.length) return frame_incomplete;
  *frame = (struct frame){
      .type = header.type, .length = header.length, .payload = bytes_front(queue) + sizeof header};
  return frame_complete;
}

void frame_consume(struct bytes* queue, const struct frame* frame) {
  bytes_consume(queue, sizeof(struct frame_header) + frame->length);
}

bool frame_value(const struct frame* frame, void* value, size_t size) {
  if (frame->length != size) return false;
  memcpy(value, frame->payload, size);
  return true;
}

char* frame_text(const struct frame* frame) {
  return allocated(strndup(frame->payload, frame->length));
}

char** split_strings(char* data, size_t size) {
  size_t count = 0;
  for (size_t at = 0; at < size; at += strlen(data + at) + 1) ++count;
  char** strings = allocated(calloc(count + 1, sizeof *strings));
  size_t index = 0;
  for (size_t at = 0; at < size; at += strlen(data + at) + 1) strings[index++] = data + at;
  return strings;
}
