// SPDX-License-Identifier: MIT
// The table of live children.
#include <atomic>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <adverb/core/detail/lifetime.hpp>
#include <support/catch.hpp>

namespace {

using adverb::object_kind;
using adverb::detail::child_counts;
using adverb::detail::lifetime_registry;

std::string text_of(const child_counts& counts) {
  return std::string{
      adverb::static_string<200>{[&](adverb::text_writer& out) { counts.write_to(out); }}.view()};
}

}  // namespace

TEST_CASE("children are counted by parent and kind") {
  lifetime_registry& registry = lifetime_registry::instance();
  const int parent = 0;
  const int other = 0;
  CHECK(registry.children_of(&parent).none());

  registry.add_child(&parent, object_kind::memory_region);
  registry.add_child(&parent, object_kind::queue_pair);
  registry.add_child(&parent, object_kind::queue_pair);
  CHECK(text_of(registry.children_of(&parent)) == "1 memory region, 2 queue pairs");
  CHECK(registry.children_of(&other).none());

  registry.remove_child(&parent, object_kind::queue_pair);
  registry.remove_child(&parent, object_kind::memory_region);
  CHECK(text_of(registry.children_of(&parent)) == "1 queue pair");
  registry.remove_child(&parent, object_kind::queue_pair);
  CHECK(registry.children_of(&parent).none());
}

TEST_CASE("remove_child changes nothing if the child was never added") {
  lifetime_registry& registry = lifetime_registry::instance();
  const int parent = 0;
  registry.remove_child(&parent, object_kind::queue_pair);
  CHECK(registry.children_of(&parent).none());
}

TEST_CASE("several threads can add and remove children at once") {
  lifetime_registry& registry = lifetime_registry::instance();
  const int parent = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const int own = 0;
      for (int round = 0; round < 1000; ++round) {
        registry.add_child(&parent, object_kind::memory_region);
        registry.add_child(&own, object_kind::memory_region);
        registry.remove_child(&own, object_kind::memory_region);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(text_of(registry.children_of(&parent)) == "4000 memory regions");
  for (int i = 0; i < 4000; ++i) registry.remove_child(&parent, object_kind::memory_region);
  CHECK(registry.children_of(&parent).none());
}

TEST_CASE("the registry counts the children of many objects at once") {
  lifetime_registry& registry = lifetime_registry::instance();
  constexpr std::size_t many = 1000;
  const std::vector<int> parents(many);
  const auto count = [&](std::size_t index) {
    return registry.children_of(&parents[index])
        .of[static_cast<std::size_t>(object_kind::queue_pair)];
  };
  for (std::size_t index = 0; index < many; ++index)
    for (std::size_t children = 0; children <= index % 3; ++children)
      registry.add_child(&parents[index], object_kind::queue_pair);
  std::size_t wrong = 0;
  for (std::size_t index = 0; index < many; ++index)
    if (count(index) != index % 3 + 1) ++wrong;
  CHECK(wrong == 0);

  // Every other one goes, from the middle of the chains too.
  for (std::size_t index = 0; index < many; index += 2)
    for (std::size_t children = 0; children <= index % 3; ++children)
      registry.remove_child(&parents[index], object_kind::queue_pair);
  wrong = 0;
  for (std::size_t index = 0; index < many; ++index)
    if (count(index) != (index % 2 == 0 ? 0 : index % 3 + 1)) ++wrong;
  CHECK(wrong == 0);
  for (std::size_t index = 1; index < many; index += 2)
    for (std::size_t children = 0; children <= index % 3; ++children)
      registry.remove_child(&parents[index], object_kind::queue_pair);
  CHECK(registry.children_of(&parents[1]).none());
}

TEST_CASE("noted parents are separate from children and are taken once") {
  lifetime_registry& registry = lifetime_registry::instance();
  const int object = 0;
  const int first = 0;
  const int second = 0;
  const std::vector<const void*> parents{&first, nullptr, &second};
  const auto listed = [](const adverb::detail::noted_parents& noted) {
    return std::vector<const void*>(noted.begin(), noted.end());
  };
  registry.note_parents(&object, parents.data(), parents.size());
  CHECK(listed(registry.noted_parents_of(&object)) == parents);
  CHECK(registry.children_of(&object).none());

  registry.add_child(&object, object_kind::queue_pair);
  registry.remove_child(&object, object_kind::queue_pair);
  CHECK(listed(registry.noted_parents_of(&object)) == parents);

  registry.add_child(&object, object_kind::queue_pair);
  CHECK(listed(registry.take_noted_parents(&object)) == parents);
  CHECK(registry.noted_parents_of(&object).empty());
  CHECK(registry.take_noted_parents(&object).empty());
  CHECK(text_of(registry.children_of(&object)) == "1 queue pair");
  registry.remove_child(&object, object_kind::queue_pair);
  CHECK(registry.children_of(&object).none());
}

TEST_CASE("a forked child can use the registry while another thread of the parent uses it") {
  lifetime_registry& registry = lifetime_registry::instance();
  std::atomic<bool> stop{false};
  std::thread busy{[&] {
    const int parent = 0;
    while (!stop) {
      registry.add_child(&parent, object_kind::memory_region);
      registry.remove_child(&parent, object_kind::memory_region);
    }
  }};
  int failed = 0;
  for (int round = 0; round < 300; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);  // a signal ends a process that hangs
      const int mine = 0;
      registry.add_child(&mine, object_kind::queue_pair);
      _exit(registry.children_of(&mine).none() ? 1 : 0);
    }
    int status = 0;
    if (child == -1 || waitpid(child, &status, 0) != child || status != 0) {
      ++failed;
      break;
    }
  }
  stop = true;
  busy.join();
  CHECK(failed == 0);
}

TEST_CASE("giving back more entries than are reserved leaves none reserved") {
  lifetime_registry& registry = lifetime_registry::instance();
  const char queue = 0;
  CHECK(registry.reserve(&queue, 2, 8).fits);
  CHECK(registry.reserve(&queue, 2, 8).fits);
  registry.give_back(&queue, 5);
  CHECK(registry.reserved(&queue) == 0);
  CHECK(registry.reserve(&queue, 8, 8).fits);
  registry.give_back(&queue, 8);
  registry.give_back(&queue, 2);
  CHECK(registry.children_of(&queue).none());
}
