// SPDX-License-Identifier: MIT
// Loads a plugin that has adverb inside, and shares with it what there must be one of.
#include <string>
#include <system_error>

#include <dlfcn.h>

#include <adverb/completion/completion_queue.hpp>
#include <adverb/completion/status.hpp>
#include <adverb/core/detail/lifetime.hpp>
#include <adverb/core/error.hpp>
#include <support/catch.hpp>
#include <support/told_failures.hpp>

#include "plugin.hpp"

namespace {

template <class Function>
Function* from_plugin(const char* name) {
  static void* const plugin = ::dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
  INFO((plugin == nullptr ? ::dlerror() : PLUGIN));
  REQUIRE(plugin != nullptr);
  void* const function = ::dlsym(plugin, name);
  REQUIRE(function != nullptr);
  return reinterpret_cast<Function*>(function);
}

void ignore(const adverb::failure&) noexcept {}

}  // namespace

TEST_CASE("a plugin reports to the program's failure hook") {
  const told_failures told;
  from_plugin<plugin_tell_failure_hook>("tell_failure_hook")();
  CHECK(told.messages() == std::vector<std::string>{"plugin: EBUSY (Device or resource busy)"});
}

TEST_CASE("a hook that the plugin sets replaces the program's hook") {
  auto* const set = from_plugin<plugin_set_failure_hook>("set_failure_hook");
  const adverb::failure_hook before = set(&ignore);
  CHECK(before == &adverb::print_failure);
  CHECK(adverb::set_failure_hook(before) == &ignore);
}

TEST_CASE("a child that the plugin adds counts in the program") {
  const int parent = 0;
  const auto has_children = [&] {
    return !adverb::detail::lifetime_registry::instance().children_of(&parent).none();
  };
  from_plugin<plugin_add_child>("add_child")(&parent);
  CHECK(has_children());
  from_plugin<plugin_remove_child>("remove_child")(&parent);
  CHECK_FALSE(has_children());
}

TEST_CASE("the program finds the parents that the plugin noted") {
  const int child = 0;
  const int parent = 0;
  from_plugin<plugin_note_parent>("note_parent")(&child, &parent);
  const auto noted = adverb::detail::lifetime_registry::instance().take_noted_parents(&child);
  REQUIRE(noted.size() == 1);
  CHECK(*noted.begin() == &parent);
}

TEST_CASE("entries of a completion queue that the plugin reserved are reserved in the program") {
  ibv_device device{};
  ibv_context context{};
  context.device = &device;
  ibv_cq native{};
  native.context = &context;
  native.cqe = 16;
  const adverb::completion_queue_ref queue{&native};
  from_plugin<plugin_reserve>("reserve")(&native, 10);
  CHECK(queue.reserved() == 10);
  adverb::failure none_left;
  const adverb::completion_reservation too_many{queue, 7, none_left};
  CHECK(none_left.code() == std::errc::no_buffer_space);
  const adverb::completion_reservation rest{queue, 6};
  CHECK(queue.reserved() == 16);
  from_plugin<plugin_give_back>("give_back")();
  CHECK(queue.reserved() == 6);
}

TEST_CASE("the plugin and the program share one completion category") {
  CHECK(from_plugin<plugin_completion_category>("completion_category")() ==
        &adverb::completion_category());
}

TEST_CASE("the program catches an adverb::error that the plugin throws") {
  CHECK_THROWS_AS(from_plugin<plugin_throw_error>("throw_error")(), adverb::error);
}
