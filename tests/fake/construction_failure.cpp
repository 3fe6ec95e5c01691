// SPDX-License-Identifier: MIT
// Whatever fails on the way up, everything that was made before it is destroyed again.
#include <array>
#include <cerrno>
#include <cstddef>
#include <system_error>

#include <adverb/completion/completion_queue.hpp>
#include <adverb/memory/memory_region.hpp>
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
        channel{context, policy...},
        queue{context, 16, {.channel = channel}, policy...},
        polled{context, 16, policy...} {}

 private:
  adverb::context context;
  adverb::protection_domain domain;
  adverb::memory_region region;
  adverb::memory_region shifted;
  adverb::completion_channel channel;
  adverb::completion_queue queue;
  adverb::completion_queue polled;
};

// Calls that can fail: the device list, opening, and the six objects.
constexpr std::size_t steps = 8;

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
    CHECK(machine.live_objects() == 7);
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
