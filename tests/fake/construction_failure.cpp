// SPDX-License-Identifier: MIT
// Whatever fails on the way up, everything that was made before it is destroyed again.
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

/// One of everything that is memory or a completion queue, made in the order in which each needs
/// the others.
class memory_and_completions {
 public:
  static constexpr std::size_t objects = 18;
  /// Calls that can fail: the device list, and one for each object.
  static constexpr std::size_t steps = objects + 1;

  template <class... Policy>
  explicit memory_and_completions(Policy&... policy)
      : device{open_device("fake0", policy...)},
        domain{device, policy...},
        region{domain, memory, access_right::local_write, policy...},
        shifted{memory_region::with_device_address(domain, memory, 0, access_right::local_write,
                                                   policy...)},
        granting{domain, policy...},
        thread{device, policy...},
        parent{domain, {.thread_domain = thread}, policy...},
        on_device{device, 64, {}, policy...},
        of_device{memory_region::of_device_memory(domain, on_device, access_right::local_write,
                                                  policy...)},
        of_dmabuf{memory_region::of_dmabuf(domain,
                                           {.file_descriptor = 7, .offset = 0, .length = 64},
                                           access_right::local_write, policy...)},
        null{memory_region::null(domain, policy...)},
        imported{device, protection_domain_handle{1}, policy...},
        imported_region{imported, memory_region_handle{2}, access_right::local_write, 0, policy...},
        channel{device, policy...},
        queue{device, 16, {.channel = channel}, policy...},
        polled{device, 16, policy...},
        single_threaded{device, 16, {.single_threaded = true}, policy...},
        extended{device, 16, {.channel = channel}, policy...} {}

 private:
  static inline std::array<std::byte, 64> memory;

  context device;
  protection_domain domain;
  memory_region region;
  memory_region shifted;
  memory_window<window_type::two> granting;
  thread_domain thread;
  parent_domain parent;
  device_memory on_device;
  memory_region of_device;
  memory_region of_dmabuf;
  memory_region null;
  imported_protection_domain imported;
  imported_memory_region imported_region;
  completion_channel channel;
  completion_queue queue;
  completion_queue polled;
  completion_queue single_threaded;
  extended_completion_queue<> extended;
};

/// A flow that is spread, counted and decrypted.
class steering {
 public:
  static constexpr std::size_t objects = 10;
  /// Calls that can fail: the device list, the objects, and the change of a state.
  static constexpr std::size_t steps = objects + 2;

  template <class... Policy>
  explicit steering(Policy&... policy)
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
  static constexpr receive_hash hash = receive_hash::over<ipv4_fields>(toeplitz_key{});
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

/// One of everything that XRC and tag matching have.
class xrc_and_tag_matching {
 public:
  static constexpr std::size_t objects = 9;
  /// Calls that can fail: the device list, and one for each object.
  static constexpr std::size_t steps = objects + 1;

  template <class... Policy>
  explicit xrc_and_tag_matching(Policy&... policy)
      : device{open_device("fake0", policy...)},
        domain{device, policy...},
        queue{device, 16, policy...},
        shared{domain, {}, policy...},
        xrc{device, policy...},
        far{domain, xrc, queue, {}, policy...},
        tags{domain, queue, {}, policy...},
        target{queue_pair<transport::xrc_recv>::create(xrc, {}, policy...)},
        again{queue_pair<transport::xrc_recv>::open(xrc, qp_number{0x11}, {}, policy...)} {}

 private:
  context device;
  protection_domain domain;
  completion_queue queue;
  shared_receive_queue shared;
  xrc_domain xrc;
  xrc_shared_receive_queue far;
  tag_matching_queue tags;
  queue_pair<transport::xrc_recv, qp_state::reset> target;
  queue_pair<transport::xrc_recv, qp_state::any> again;
};

/// Goes up on machines of which the first call fails, then the second and so on; checks that
/// nothing is left.
template <class All, class Go>
void check_each_step(const Go& go) {
  for (std::size_t step = 1; step <= All::steps; ++step) {
    CAPTURE(step);
    const told_failures told;
    fake::machine machine;
    machine.fail_any(ENOMEM, step);
    go();
    CHECK(machine.live_objects() == 0);
    CHECK(told.messages().empty());
  }
}

}  // namespace

TEMPLATE_TEST_CASE("a failure of any construction step leaks nothing", "", memory_and_completions,
                   steering, xrc_and_tag_matching) {
  check_each_step<TestType>([] {
    try {
      const TestType all;
      FAIL("nothing was thrown");
    } catch (const error& why) {
      CHECK(why.code() == std::errc::not_enough_memory);
    }
  });
}

TEMPLATE_TEST_CASE("objects whose construction failed are not passed to C and leak nothing", "",
                   memory_and_completions, steering, xrc_and_tag_matching) {
  check_each_step<TestType>([] {
    std::error_code code;
    const TestType all{code};
  });
}

TEMPLATE_TEST_CASE("all objects are created and destroyed in order if nothing fails",
                   "[ibv_alloc_pd][ibv_dealloc_pd][ibv_create_comp_channel]"
                   "[ibv_destroy_comp_channel][ibv_destroy_cq][ibv_dereg_mr][ibv_close_device]",
                   memory_and_completions, steering, xrc_and_tag_matching) {
  const told_failures told;
  fake::machine machine;
  machine.fail_any(ENOMEM, TestType::steps + 1);
  {
    const TestType all;
    machine.fail_nothing();
    CHECK(machine.live_objects() == TestType::objects);
  }
  CHECK(machine.live_objects() == 0);
  CHECK(told.messages().empty());
}
