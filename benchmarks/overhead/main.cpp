// SPDX-License-Identifier: MIT
// Runs the jobs; `run` makes the table of what this prints.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include <pthread.h>

#include "../support/count_instructions.hpp"
#include "counters.hpp"
#include "job.hpp"
#include "provider.hpp"

namespace {

using overhead::job;

/// The objects of a provider as C has them, seen through adverb.
[[nodiscard]] overhead::adverb_objects through_adverb(const overhead::c_objects& c) {
  static ibv_mr region{};
  region.context = c.pair->context;
  region.pd = c.pair->pd;
  region.addr = reinterpret_cast<void*>(static_cast<std::uintptr_t>(c.memory));
  region.length = c.memory_size;
  region.lkey = c.local_key;
  // So that the check of regions finds it, like a region that adverb registered.
  if constexpr (adverb::detail::hardened(ADVERB_HARDENING_DEBUG))
    adverb::detail::known_regions::instance().note(&region);
  return {.pair{adverb::adopt, c.pair},
          .datagrams{adverb::adopt, c.datagrams},
          .sender{adverb::adopt, c.pair},
          .queue{c.queue},
          .sends{c.sends},
          .extended{c.extended},
          .shared{c.shared},
          .address{c.address},
          .region{adverb::adopt, &region, adverb::access_right::local_write, c.memory},
          .remote{adverb::adopt, c.remote_address, region.length / sizeof(std::uint64_t),
                  adverb::rkey{c.remote_key}}};
}

/// Calls `use` for each side of a job: with its name, where its function is, and something that
/// runs it over a provider, so many times.
template <class Use>
void for_each_side(const job& each, const Use& use) {
  const auto with_adverb = [&](const overhead::c_objects& objects, std::uint64_t count) {
    return each.with_adverb(through_adverb(objects), count);
  };
  use("careful", reinterpret_cast<std::uintptr_t>(each.careful), each.careful);
  use("ordinary", reinterpret_cast<std::uintptr_t>(each.ordinary), each.ordinary);
  use("adverb", reinterpret_cast<std::uintptr_t>(each.with_adverb), with_adverb);
}

template <class Use>
void for_each_job(const Use& use) {
  for (auto each = overhead::listed_job::newest; each != nullptr; each = each->next) use(each->job);
}

[[nodiscard]] unsigned long long number(std::uint64_t value) { return value; }

/// A line a job: name, bars and what is reached, operations, and where its functions are, separated
/// by tabs.
int list() {
  for_each_job([](const job& each) {
    std::printf("%s\t%g\t%g\t%g\t%llu", each.name, each.careful_bar, each.reached,
                each.ordinary_bar, number(each.operations));
    for_each_side(each, [](const char*, std::uintptr_t where, const auto&) {
      std::printf("\t%llx", number(where));
    });
    std::printf("\n");
  });
  return EXIT_SUCCESS;
}

/// Prints the first difference of two records.
void print_difference(const std::vector<std::string>& wanted,
                      const std::vector<std::string>& done) {
  std::size_t line = 0;
  while (line < wanted.size() && line < done.size() && done[line] == wanted[line]) ++line;
  const auto print = [&](const char* who, const std::vector<std::string>& record) {
    std::printf("  %s: %s\n", who, line < record.size() ? record[line].c_str() : "nothing more");
  };
  print("careful C", wanted);
  print("this side", done);
}

/// Checks that the sides of each job pass the same to their provider, and return the same.
int compare() {
  bool same = true;
  for_each_job([&](const job& each) {
    std::vector<std::string> wanted;
    for_each_side(each, [&](const char* name, std::uintptr_t, const auto& run) {
      const std::uint64_t found = run(provider::recording(), 20);
      std::vector<std::string> done = provider::take_record();
      done.push_back("returned " + std::to_string(found));
      if (wanted.empty()) wanted = done;
      if (done == wanted) return;
      same = false;
      std::printf("%s: %s does something else than careful C\n", each.name, name);
      print_difference(wanted, done);
    });
  });
  return same ? EXIT_SUCCESS : EXIT_FAILURE;
}

/// Returns whether the counters count allocations and locks.
[[nodiscard]] bool counters_count() {
  const counters::counts before = counters::so_far();
  // Compilers remove unused allocations unless the allocating function is unknown.
  void* (*volatile const allocate[])(std::size_t) = {std::malloc, ::operator new };
  std::free(allocate[0](1));
  ::operator delete(allocate[1](1));
  const bool allocations_are_seen = counters::so_far().allocations == before.allocations + 2;
  std::mutex mutex;
  mutex.lock();
  mutex.unlock();
  pthread_spinlock_t spinning;
  pthread_spin_init(&spinning, PTHREAD_PROCESS_PRIVATE);
  pthread_spin_lock(&spinning);
  pthread_spin_unlock(&spinning);
  return allocations_are_seen && counters::so_far().locks == before.locks + 2;
}

/// Prints a line a job: name, and adverb's allocations and locks in 1000 operations, without the
/// constant part around the loop.
int audit() {
  if (!counters_count()) {
    std::printf("the counters of allocations and locks do not count\n");
    return EXIT_FAILURE;
  }
  for_each_job([](const job& each) {
    const overhead::adverb_objects objects = through_adverb(provider::idle());
    const auto count = [&](std::uint64_t times) {
      const counters::counts before = counters::so_far();
      each.with_adverb(objects, times);
      const counters::counts after = counters::so_far();
      return counters::counts{after.allocations - before.allocations, after.locks - before.locks};
    };
    count(10);  // Some memory is allocated once and kept.
    // The constant part is in both, as it is where instructions are counted.
    const counters::counts fewer = count(1000);
    const counters::counts more = count(2000);
    std::printf("%s\t%llu\t%llu\n", each.name, number(more.allocations - fewer.allocations),
                number(more.locks - fewer.locks));
  });
  return EXIT_SUCCESS;
}

int count() {
  for_each_job([](const job& each) {
    for_each_side(each, [&](const char* name, std::uintptr_t, const auto& run) {
      counting::count(each.name, name, [&](std::uint64_t times) { run(provider::idle(), times); });
    });
  });
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argument_count, char** arguments) {
  const char* const wanted = argument_count == 2 ? arguments[1] : "";
  if (std::strcmp(wanted, "list") == 0) return list();
  if (std::strcmp(wanted, "compare") == 0) return compare();
  if (std::strcmp(wanted, "audit") == 0) return audit();
  if (std::strcmp(wanted, "count") == 0) return count();
  std::fprintf(stderr, "usage: %s list|compare|audit|count\n", arguments[0]);
  return EXIT_FAILURE;
}
