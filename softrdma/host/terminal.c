#include "terminal.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "report.h"

static struct termios before;

static void restore(void) { tcsetattr(STDIN_FILENO, TCSADRAIN, &before); }

void terminal_make_raw(void) {
  if (tcgetattr(STDIN_FILENO, &before) != 0) return;
  struct termios raw = before;
  cfmakeraw(&raw);
  if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0) at_end(restore);
}

struct window_size terminal_size(void) {
  struct winsize size;
  if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0) return (struct window_size){0};
  return (struct window_size){.rows = size.ws_row, .columns = size.ws_col};
}
