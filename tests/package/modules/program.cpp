// SPDX-License-Identifier: MIT
// A program that imports adverb. It uses what is found by name and what is found by its arguments.
#include <system_error>

import adverb;
import adverb.cm;

int main() {
  using adverb::access_right;
  const auto rights = access_right::local_write | access_right::remote_write;
  if (!rights.contains(access_right::remote_write) || rights == access_right::local_write) return 1;

  adverb::failure why;
  const adverb::context none = adverb::open_device("no such device", why);
  if (none || !why.code()) return 2;

  const adverb::cm::connect_options options;
  return options.queue_pair.max_send_wr > 0 ? 0 : 3;
}
