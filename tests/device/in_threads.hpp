// SPDX-License-Identifier: MIT
// Work that several threads do at once. The macros of Catch2 are for one thread: work counts what
// is wrong, or throws.
#pragma once

#include <barrier>
#include <future>
#include <vector>

/// Calls `work(number)` on so many threads, numbered from 0, which start together. Waits for all of
/// them and throws the exception of the first that failed.
template <class Work>
void in_threads(int count, const Work& work) {
  std::barrier together{count};
  std::vector<std::future<void>> running;
  for (int number = 0; number < count; ++number) {
    running.push_back(std::async(std::launch::async, [&work, &together, number] {
      together.arrive_and_wait();
      work(number);
    }));
  }
  for (std::future<void>& each : running) each.get();
}
