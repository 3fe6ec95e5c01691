/* What the tool itself says, always on standard error. */
#ifndef SOFTRDMA_HOST_REPORT_H
#define SOFTRDMA_HOST_REPORT_H

#include <stdbool.h>

enum { status_timeout = 124, status_failure = 125 };

/* One sentence about why the tool fails. */
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));

/* Says it, ends every guest and the program. */
_Noreturn void die(const char* format, ...) __attribute__((format(printf, 1, 2)));

/* Run when the program ends by `die` or `finish`. */
void at_end(void (*action)(void));
_Noreturn void finish(int status);

#endif
