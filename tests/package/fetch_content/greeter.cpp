// SPDX-License-Identifier: MIT
// A library over adverb.
#include "greeter.hpp"

adverb::failure greet() {
  adverb::failure why;
  const adverb::context none = adverb::open_device("no such device", why);
  return why;
}
