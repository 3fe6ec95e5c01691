// SPDX-License-Identifier: MIT
// Work queues, flows, flow actions and counters on a device that has none of them: their failures.
// A device that has them is reported, and not tested here.
#include <array>
#include <cstddef>
#include <string>
#include <system_error>

#include "support.hpp"

using namespace adverb;

namespace {

/// Expects the failure of a device without the feature, or reports that it has it.
template <class Make>
void check_missing(context_ref device, const char* test, const char* verb, const char* feature,
                   const Make& make) {
  failure why;
  make(why);
  if (!why) {
    tell_skip(test, std::string{"the device has "} + feature);
    return;
  }
  CHECK(why.verb() == verb);
  CHECK(why.code() == std::errc::operation_not_supported);
  CHECK(why.explanation() == std::string{device.device().name()} + " has no " + feature);
}

struct steering_bench {
  context device = open_device();
  protection_domain domain{device};
  completion_queue queue{device, 16};
};

}  // namespace

TEST_CASE_METHOD(steering_bench, "A device without work queues reports the lack", "[optional]") {
  check_missing(device, "work queues", "ibv_create_wq", "work queues", [&](failure& why) {
    (void)work_queue<>::create(domain, {.completion_queue = queue}, why);
  });
}

TEST_CASE_METHOD(steering_bench, "A device without flow steering reports the lack", "[optional]") {
  const auto pair = queue_pair<transport::ud>::create(domain, {.send_cq = queue, .recv_cq = queue});
  check_missing(device, "flow steering", "ibv_create_flow", "flow steering", [&](failure& why) {
    const flow none{pair, flow_rule{{.port = first_port}, match_ethernet{.ether_type = 0x0800}},
                    why};
  });
  const std::array<flow_specification, 1> list{match_udp{.destination_port = 4791}};
  check_missing(device, "flow steering", "ibv_create_flow", "flow steering",
                [&](failure& why) { const flow none{pair, {.port = first_port}, list, why}; });
}

TEST_CASE_METHOD(steering_bench, "A device without ESP flow actions reports the lack",
                 "[optional]") {
  check_missing(device, "flow actions", "ibv_create_flow_action_esp", "ESP flow actions",
                [&](failure& why) {
                  const std::array<std::byte, 16> key{};
                  const flow_action none{device, {.key = {key, {}}}, why};
                });
}

TEST_CASE_METHOD(steering_bench, "A device without counters reports the lack", "[optional]") {
  check_missing(device, "counters", "ibv_create_counters", "counters",
                [&](failure& why) { const counters none{device, why}; });
}
