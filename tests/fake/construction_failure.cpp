// SPDX-License-Identifier: MIT
// Whatever fails on the way up, everything that was made before it is destroyed again.
#include <array>
#include <cerrno>
#include <cstddef>
#include <system_error>

#include <adverb/completion/completion_queue.hpp>
#include <adverb/completion/extended_completion_queue.hpp>
#include <adverb/memory/imported.hpp>
#include <adverb/memory/memory_region.hpp>
#include <adverb/memory/memory_window.hpp>
#include <adverb/memory/parent_domain.hpp>
#include <support/catch.hpp>
#include <support/told_failures.hpp>

#include "fake.hpp"

namespace {

std::array<std::byte, 64> memory;

/// One of everything, made in the order in which each needs the others.
class everything {
 public:
  template <class... Policy>
  explicit everything(Policy&... policy)
      : context{adverb::open_device("fake0", policy...)},
        domain{context, policy...},
        region{domain, memory, adverb::access_right::local_write, policy...},
        shifted{adverb::memory_region::with_device_address(
            domain, memory, 0, adverb::access_right::local_write, policy...)},
        granting{domain, policy...},
        thread{context, policy...},
        parent{domain, {.thread_domain = thread}, policy...},
        device_memory{context, 64, {}, policy...},
        of_device{adverb::memory_region::of_device_memory(
            domain, device_memory, adverb::access_right::local_write, policy...)},
        of_dmabuf{adverb::memory_region::of_dmabuf(
            domain, {.file_descriptor = 7, .offset = 0, .length = 64},
            adverb::access_right::local_write, policy...)},
        null{adverb::memory_region::null(domain, policy...)},
        imported{context, adverb::protection_domain_handle{1}, policy...},
        imported_region{imported, adverb::memory_region_handle{2},
                        adverb::access_right::local_write, 0, policy...},
        channel{context, policy...},
        queue{context, 16, {.channel = channel}, policy...},
        polled{context, 16, policy...},
        single_threaded{context, 16, {.single_threaded = true}, policy...},
        extended{context, 16, {.channel = channel}, policy...} {}

 private:
  adverb::context context;
  adverb::protection_domain domain;
  adverb::memory_region region;
  adverb::memory_region shifted;
  adverb::memory_window<adverb::window_type::two> granting;
  adverb::thread_domain thread;
  adverb::parent_domain parent;
  adverb::device_memory device_memory;
  adverb::memory_region of_device;
  adverb::memory_region of_dmabuf;
  adverb::memory_region null;
  adverb::imported_protection_domain imported;
  adverb::imported_memory_region imported_region;
  adverb::completion_channel channel;
  adverb::completion_queue queue;
  adverb::completion_queue polled;
  adverb::completion_queue single_threaded;
  adverb::extended_completion_queue<> extended;
};

// All that is made beside the context.
constexpr std::size_t objects = 17;
// Calls that can fail: the device list, opening, and one for each object.
constexpr std::size_t steps = objects + 2;

}  // namespace

TEST_CASE("a failure at any step leaks nothing") {
  for (std::size_t step = 1; step <= steps; ++step) {
    CAPTURE(step);
    const told_failures told;
    fake::machine machine;
    machine.fail_any(ENOMEM, step);
    try {
      const everything all;
      FAIL("nothing was thrown");
    } catch (const adverb::error& error) {
      CHECK(error.code() == std::errc::not_enough_memory);
    }
    CHECK(machine.live_objects() == 0);
    CHECK(told.messages().empty());
  }
}

TEST_CASE("without a failure all is made, and destroyed in order",
          "[ibv_alloc_pd][ibv_dealloc_pd][ibv_create_comp_channel][ibv_destroy_comp_channel][ibv_"
          "destroy_cq][ibv_dereg_mr][ibv_close_device]") {
  const told_failures told;
  fake::machine machine;
  machine.fail_any(ENOMEM, steps + 1);
  {
    const everything all;
    machine.fail_nothing();
    CHECK(machine.live_objects() == objects + 1);
  }
  CHECK(machine.live_objects() == 0);
  CHECK(told.messages().empty());
}

TEST_CASE("going on with what could not be made calls no C function with it, and leaks nothing") {
  for (std::size_t step = 1; step <= steps; ++step) {
    CAPTURE(step);
    const told_failures told;
    fake::machine machine;
    machine.fail_any(ENOMEM, step);
    {
      std::error_code code;
      const everything all{code};
    }
    CHECK(machine.live_objects() == 0);
    CHECK(told.messages().empty());
  }
}
