// SPDX-License-Identifier: MIT
// One of two shared libraries: NAME is its function.
#include <adverb/device/context.hpp>

extern "C" __attribute__((visibility("default"))) void NAME() {
  const adverb::context none = adverb::open_device("no such device");
}
