// SPDX-License-Identifier: MIT
// Whatever fails on the way to a flow that is spread, counted and decrypted, everything that was
// made before it is destroyed again.
#include <array>
#include <cerrno>
#include <cstddef>
#include <system_error>

#include <adverb/adverb.hpp>
#include <support/catch.hpp>
#include <support/told_failures.hpp>

#include "fake.hpp"

namespace {

using namespace adverb;

constexpr receive_hash hash = receive_hash::over<ipv4_fields>(toeplitz_key{});

/// One of everything, made in the order in which each needs the others.
class everything {
 public:
  template <class... Policy>
  explicit everything(Policy&... policy)
      : device{open_device("fake0", policy...)},
        domain{device, policy...},
        queue{device, 16, policy...},
        fresh{work_queue<>::create(domain, {.completion_queue = queue}, policy...)},
        ready{fresh.ready(policy...)},
        queues{ready},
        table{queues, policy...},
        pair{create_receive_side_scaling_pair(domain, table, hash, policy...)},
        traffic{device, policy...},
        decrypt{device, esp_options{.key = {std::array<std::byte, 16>{}, {}}}, policy...},
        steered{pair, flow_rule{{}, action_handle{decrypt}, action_count{traffic}}, policy...},
        listed{pair, {}, specifications, policy...} {}

 private:
  static inline const std::array<flow_specification, 1> specifications{match_ethernet{}};

  context device;
  protection_domain domain;
  completion_queue queue;
  work_queue<work_queue_state::reset> fresh;
  work_queue<> ready;
  std::array<reference<ibv_wq>, 1> queues;
  indirection_table table;
  queue_pair<transport::raw_packet, qp_state::reset> pair;
  counters traffic;
  flow_action decrypt;
  flow steered;
  flow listed;
};

// Calls that can fail: the device list, opening, nine objects, and the change of a state.
constexpr std::size_t steps = 12;
constexpr std::size_t objects = 10;

}  // namespace

TEST_CASE("a failure at any step of steering leaks nothing") {
  for (std::size_t step = 1; step <= steps; ++step) {
    CAPTURE(step);
    const told_failures told;
    fake::machine machine;
    machine.fail_any(ENOMEM, step);
    try {
      const everything all;
      FAIL("nothing was thrown");
    } catch (const error& why) {
      CHECK(why.code() == std::errc::not_enough_memory);
    }
    CHECK(machine.live_objects() == 0);
    CHECK(told.messages().empty());
  }
}

TEST_CASE("without a failure all parts of steering are made, and destroyed in order") {
  const told_failures told;
  fake::machine machine;
  machine.fail_any(ENOMEM, steps + 1);
  {
    const everything all;
    machine.fail_nothing();
    CHECK(machine.live_objects() == objects);
  }
  CHECK(machine.live_objects() == 0);
  CHECK(told.messages().empty());
}

TEST_CASE("going on with a part of steering that could not be made calls no C function with it") {
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
