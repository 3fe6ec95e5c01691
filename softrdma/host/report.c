#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void (*actions[4])(void);
static int action_count;

static void say_arguments(const char* format, va_list arguments) {
  /* In one piece, so that two runs that share a terminal do not mix their words. */
  char sentence[2048];
  vsnprintf(sentence, sizeof sentence, format, arguments);
  fprintf(stderr, "softrdma: %s\n", sentence);
}

void say(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say_arguments(format, arguments);
  va_end(arguments);
}

void at_end(void (*action)(void)) { actions[action_count++] = action; }

void finish(int status) {
  while (action_count > 0) actions[--action_count]();
  exit(status);
}

void die(const char* format, ...) {
  /* First the actions: one of them gives the terminal back its line ends. */
  while (action_count > 0) actions[--action_count]();
  va_list arguments;
  va_start(arguments, format);
  say_arguments(format, arguments);
  va_end(arguments);
  exit(status_failure);
}
