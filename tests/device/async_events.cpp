// SPDX-License-Identifier: MIT
// Events that the real device raises by itself. Soft-RoCE raises those of its ports, of errors of
// queue pairs and completion queues, and of shared receive queues.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include <poll.h>

#include "support.hpp"

using namespace adverb;
using namespace std::chrono_literals;

namespace {

/// The next event of a device; fails the test when none comes within ten seconds.
async_event next_event(context_ref device) {
  pollfd waited{device.async_file_descriptor(), POLLIN, 0};
  REQUIRE(::poll(&waited, 1, 10'000) == 1);
  CHECK(device.has_async_event());
  std::optional<async_event> event = device.next_async_event();
  REQUIRE(event);
  return std::move(*event);
}

/// The next one of a type, whatever comes before it.
async_event next_event(context_ref device, async_event_type type) {
  for (;;) {
    async_event event = next_event(device);
    INFO(to_string(event));
    if (event.type() == type) return event;
  }
}

/// Sets the network interface below the device up or down. False where that is not to be done: on
/// a host of somebody.
bool set_link(const char* state) {
  const char* const interface = std::getenv("SOFTRDMA_INTERFACE");
  const char* const topology = std::getenv("SOFTRDMA_TOPOLOGY");
  if (interface == nullptr || topology == nullptr || std::string{topology} == "host") return false;
  const std::string command = std::string{"/sbin/ip link set "} + interface + " " + state;
  return std::system(command.c_str()) == 0;
}

/// A completion queue for one completion with a pair that overruns it, once.
struct overrun {
  loopback<transport::rc> link;
  completion_queue queue{link.context, 1};
  queue_pair<transport::rc, qp_state::reset> fresh = queue_pair<transport::rc>::create(
      link.domain, {.send_cq = queue, .recv_cq = queue, .max_send_wr = 4});
  queue_pair<transport::rc, qp_state::init> waiting = initialised(fresh);
  queue_pair<transport::rc> pair = connect_to_itself();

  /// The queue has room for `capacity` completions, and gets one more.
  void overflow() {
    for (std::uint32_t count = 0; count <= queue.capacity(); ++count)
      pair.post(write(link.far_end.remote(), link.near_end.region.slice(0, 8)).signaled()).check();
  }

 private:
  queue_pair<transport::rc> connect_to_itself() {
    const endpoint itself = waiting.endpoint();
    return waiting.connect(itself, unhurried());
  }
};

}  // namespace

TEST_CASE("next_async_event of a non-blocking device returns none if there is no event") {
  const context device = open_device();
  CHECK(!device.has_async_event());
  device.set_async_non_blocking(true);
  CHECK(!device.next_async_event());
}

TEST_CASE("A port that goes down and comes up raises events",
          "[ibv_get_async_event][ibv_ack_async_event][optional]") {
  const context device = open_device();
  if (!set_link("down")) return tell_skip("port events", "no link that may be taken down");
  {
    const async_event event = next_event(device, async_event_type::port_error);
    CHECK(event.port() == first_port);
    CHECK(to_string(event) == "port error on " + std::string{device.device().name()} + ":1");
    CHECK(device.query_port(first_port).state() == port_state::down);
  }
  REQUIRE(set_link("up"));
  const async_event event = next_event(device, async_event_type::port_active);
  CHECK(event.port() == first_port);
}

TEST_CASE("An overflow event names the completion queue",
          "[ibv_get_async_event][ibv_ack_async_event]") {
  overrun test;
  test.overflow();
  const async_event event = next_event(test.link.context);
  CHECK(event.type() == async_event_type::completion_queue_error);
  CHECK(event.severity() == async_event_severity::fatal);
  CHECK(event.completion_queue() == test.queue);
  CHECK(!event.queue_pair());
  CHECK(to_string(event).find("completion queue error on ") == 0);
}

TEST_CASE("An object is not destroyed before its event is acknowledged",
          "[ibv_get_async_event][ibv_ack_async_event]") {
  overrun test;
  test.overflow();
  async_event event = next_event(test.link.context);
  REQUIRE(event.completion_queue() == test.queue);
  test.pair.close();

  std::atomic<bool> destroyed = false;
  std::thread destroyer{[&] {
    test.queue.close();
    destroyed = true;
  }};
  std::this_thread::sleep_for(200ms);
  const bool early = destroyed;
  event.acknowledge();
  destroyer.join();
  CHECK(!early);
  CHECK(!test.queue);
}

TEST_CASE("A drained send queue raises an event on request",
          "[ibv_get_async_event][ibv_ack_async_event]") {
  const loopback<transport::rc> link;
  ibv_qp_attr draining{};
  draining.qp_state = IBV_QPS_SQD;
  draining.en_sqd_async_notify = 1;
  REQUIRE(ibv_modify_qp(link.near_pair.native_handle(), &draining,
                        IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY) == 0);
  const async_event event = next_event(link.context);
  CHECK(event.type() == async_event_type::send_queue_drained);
  CHECK(event.queue_pair() == link.near_pair);
  CHECK(event.severity() == async_event_severity::notice);
}

TEST_CASE("Soft-RoCE raises no event for a queue pair error", "[optional]") {
  loopback<transport::rc> link{{.far_grants = access_right::local_write}};
  if (!holds(device_facts::no_event_of_queue_pair_error, link.context))
    return tell_skip("no event of a queue pair error", "this device may raise one");
  link.near_pair.post(write(link.far_end.remote(), link.near_end.region.slice(0, 8)).signaled())
      .check();
  CHECK(next_completion(link.near_end.queue).status() ==
        completion_status::remote_invalid_request_error);
  check_fails_soon(link.far_pair);
  std::this_thread::sleep_for(100ms);
  CHECK(!link.context.has_async_event());
}

namespace {

/// A shared receive queue of C, as long as it lives.
class shared_receives {
 public:
  explicit shared_receives(protection_domain_ref domain) {
    ibv_srq_init_attr attributes{};
    attributes.attr.max_wr = 16;
    attributes.attr.max_sge = 1;
    queue_ = ibv_create_srq(domain.native_handle(), &attributes);
    REQUIRE(queue_ != nullptr);
  }
  shared_receives(const shared_receives&) = delete;
  shared_receives& operator=(const shared_receives&) = delete;
  ~shared_receives() { ibv_destroy_srq(queue_); }

  [[nodiscard]] ibv_srq* get() const { return queue_; }

  void post(mutable_buffer buffer) {
    ibv_sge element = buffer.native();
    ibv_recv_wr request{};
    request.sg_list = &element;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    REQUIRE(ibv_post_srq_recv(queue_, &request, &bad) == 0);
  }
  void set_limit(std::uint32_t limit) {
    ibv_srq_attr attributes{};
    attributes.srq_limit = limit;
    REQUIRE(ibv_modify_srq(queue_, &attributes, IBV_SRQ_LIMIT) == 0);
  }

 private:
  ibv_srq* queue_ = nullptr;
};

/// A pair that sends, and one that is not ready to send and takes its receives from a shared queue.
struct shared_receiver {
  loopback<transport::rc> link;
  shared_receives receives{link.domain};
  queue_pair<transport::rc, qp_state::reset> near_fresh = queue_pair<transport::rc>::create(
      link.domain, {.send_cq = link.near_end.queue, .recv_cq = link.near_end.queue});
  queue_pair<transport::rc, qp_state::reset> far_fresh = queue_pair<transport::rc>::create(
      link.domain,
      {.send_cq = link.far_end.queue, .recv_cq = link.far_end.queue, .srq = receives.get()});
  queue_pair<transport::rc, qp_state::init> near_waiting = initialised(near_fresh);
  queue_pair<transport::rc, qp_state::init> far_waiting = initialised(far_fresh);
  endpoint near_endpoint = near_waiting.endpoint();
  endpoint far_endpoint = far_waiting.endpoint();
  queue_pair<transport::rc> near_pair = near_waiting.connect(far_endpoint, unhurried());
  queue_pair<transport::rc, qp_state::rtr> far_pair =
      far_waiting.rtr().remote(near_endpoint).apply();

  void send_one() {
    near_pair.post(send(link.near_end.region.slice(0, 8)).signaled()).check();
    next_success(link.near_end.queue);
  }
};

}  // namespace

TEST_CASE("A shared receive queue below its limit raises an event",
          "[ibv_get_async_event][ibv_ack_async_event]") {
  shared_receiver test;
  for (int count = 0; count < 4; ++count) test.receives.post(test.link.far_end.region.slice(0, 64));
  test.receives.set_limit(3);
  test.send_one();
  CHECK(!test.link.context.has_async_event());
  test.send_one();
  const async_event event = next_event(test.link.context);
  CHECK(event.type() == async_event_type::shared_receive_queue_limit_reached);
  CHECK(event.srq().native_handle() == test.receives.get());
}

TEST_CASE("Soft-RoCE raises no event for the first message or the last receive", "[optional]") {
  shared_receiver test;
  if (!holds(device_facts::no_event_of_last_receive, test.link.context))
    return tell_skip("no event of a last receive", "this device may raise one");
  test.receives.post(test.link.far_end.region.slice(0, 64));
  test.send_one();
  const auto failed = test.far_pair.error();
  std::this_thread::sleep_for(100ms);
  CHECK(!test.link.context.has_async_event());
}

TEST_CASE("A pair on a shared receive queue raises an event after its last receive",
          "[optional][ibv_get_async_event]") {
  shared_receiver test;
  if (holds(device_facts::no_event_of_last_receive, test.link.context))
    return tell_skip("the event of a last receive", "Soft-RoCE before Linux 6.5 raises none");
  test.receives.post(test.link.far_end.region.slice(0, 64));
  test.send_one();
  const auto failed = test.far_pair.error();
  const async_event event = next_event(test.link.context);
  CHECK(event.type() == async_event_type::last_work_request_reached);
  CHECK(event.queue_pair().native_handle() == failed.native_handle());
}
