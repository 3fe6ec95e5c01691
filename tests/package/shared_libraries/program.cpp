// SPDX-License-Identifier: MIT
// program LIBRARY: calls both libraries, and catches their errors by type, code and category.
#include <cstdio>
#include <system_error>

#include <dlfcn.h>

#include <adverb/device/context.hpp>

extern "C" void linked();

namespace {
bool fails_as_here(void (*function)()) {
  std::error_code here;
  const adverb::context none = adverb::open_device("no such device", here);
  try {
    function();
  } catch (const adverb::error& failed) {
    return failed.code() == here;
  }
  return false;
}
}  // namespace

int main(int, char** arguments) {
  void* library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::puts(dlerror()), 1;
  const auto loaded = reinterpret_cast<void (*)()>(dlsym(library, "loaded"));
  if (!fails_as_here(linked)) return std::puts("The linked library fails differently."), 1;
  if (!fails_as_here(loaded)) return std::puts("The loaded library fails differently."), 1;
}
