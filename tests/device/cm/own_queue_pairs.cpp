// SPDX-License-Identifier: MIT
// Connections whose queue pairs the program makes itself: librdmacm only provides their attributes.
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <system_error>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>

#include "cm/support.hpp"

using namespace adverb;

namespace {

using fresh_pair = queue_pair<transport::rc, qp_state::reset>;

/// The objects that one side makes by itself: all of them on a context that the program has opened.
struct own_side {
  context device = open_device();
  protection_domain domain{device};
  completion_queue queue{device, 16};
  std::array<std::byte, 64> bytes{};
  memory_region region{domain, bytes, access_right::local_write};

  [[nodiscard]] fresh_pair make(on_failure policy = throwing{}) {
    return queue_pair<transport::rc>::create(
        domain, {.send_cq = queue, .recv_cq = queue, .max_send_wr = 4, .max_recv_wr = 4}, policy);
  }
};

using route_resolved = cm::connector<transport::rc, cm::step::route_resolved>;

[[nodiscard]] route_resolved route_to(std::uint16_t port) {
  auto start = cm::connector<transport::rc>::create();
  auto near = start.resolve_address(cm_test::device_address(port));
  return near.resolve_route();
}

/// On the device's address: a listener of soft-iWARP on that of every interface gets no request.
[[nodiscard]] cm::listener<transport::rc> listen() {
  return cm::listener<transport::rc>::create(cm_test::device_address());
}

/// On iWARP the kernel connects the pair. A pair of soft-iWARP (siw of Linux 6.1) that was
/// connected or rejected once connects no more, although it lets itself be put into RESET.
[[nodiscard]] bool is_iwarp() {
  return open_device().device().transport_type() == transport_type::iwarp;
}

void check_reset(const fresh_pair& pair) {
  const context device = open_device();
  if (holds(device_facts::reports_own_state, device) ||
      holds(device_facts::leaves_state_unwritten, device))
    return;
  CHECK(pair.query().state() == qp_state::reset);
}

/// Sends five bytes one way and five back.
void talk_first(const queue_pair_ref<transport::rc>& pair, own_side& side) {
  pair.post(send(side.region.slice(0, 5)).signaled()).check();
  next_success(side.queue);
  next_success(side.queue);
}
/// The other side leaves with the answer, before rxe acknowledges it perhaps.
void answer(const queue_pair_ref<transport::rc>& pair, own_side& side) {
  CHECK(next_success(side.queue).success().receive().length() == 5);
  pair.post(send(side.region.slice(0, 5))).check();
}

constexpr auto rights_of_peer =
    access_right::local_write | access_right::remote_read | access_right::remote_write;

}  // namespace

TEST_CASE("Both sides connect their own queue pairs and reuse them for a second connection",
          "[rdma_init_qp_attr][rdma_establish][rdma_connect][rdma_accept][rdma_get_peer_addr]") {
  const int rounds = is_iwarp() ? 1 : 2;
  auto listener = listen();
  auto served = std::async(std::launch::async, [&] {
    own_side side;
    fresh_pair fresh = side.make();
    const qp_number number = fresh.number();
    for (int round = 0; round < rounds; ++round) {
      auto request = listener.next_request(std::chrono::seconds{10});
      auto ready = request.use_queue_pair(std::move(fresh));
      CHECK_FALSE(request);
      ready.queue_pair().post(receive(side.region.buffer())).check();
      auto connection = ready.accept({.private_data = cm::private_data::of(number)});
      if (!is_iwarp()) {
        const auto attributes = connection.queue_pair().query();
        CHECK(attributes.max_destination_read_atomic() == 2);
        CHECK(attributes.max_initiator_read_atomic() == 4);
        CHECK(attributes.rnr_timer() == std::chrono::microseconds{640});
      }
      answer(connection.queue_pair(), side);
      connection.wait_disconnected(std::chrono::seconds{10});
      connection.drain([](const completion&) {});
      fresh = connection.take_queue_pair();
      CHECK_FALSE(connection);
    }
  });

  own_side side;
  fresh_pair fresh = side.make();
  for (int round = 0; round < rounds; ++round) {
    auto far = route_to(listener.port());
    auto ready = far.use_queue_pair(std::move(fresh));
    CHECK_FALSE(far);
    ready.queue_pair().post(receive(side.region.buffer())).check();
    auto connection = ready.connect({.max_destination_read_atomic = 4,
                                     .max_initiator_read_atomic = 2,
                                     .rnr_timer = std::chrono::milliseconds{10}});
    CHECK(connection.peer_address() == cm_test::device_address(listener.port()));
    const auto number = connection.private_data().as<qp_number>();
    REQUIRE(number);
    // iWARP has no number of the peer's pair.
    if (!is_iwarp()) {
      CHECK(connection.parameters().queue_pair_number == *number);
      CHECK(connection.queue_pair().query().remote_queue_pair() == *number);
      CHECK(connection.queue_pair().query().rnr_timer() == std::chrono::milliseconds{10});
    }
    talk_first(connection.queue_pair(), side);
    connection.disconnect();
    if (!is_iwarp()) CHECK(connection.queue_pair().query().state() == qp_state::error);
    fresh = connection.take_queue_pair();
  }
  served.get();
}

TEST_CASE("Each side can read and write the other's memory",
          "[rdma_init_qp_attr][rdma_accept][rdma_connect]") {
  struct open_side : own_side {
    std::array<std::uint32_t, 4> words{};
    memory_region shared{domain, words, rights_of_peer};

    /// Adds to the first word of the peer.
    void change(const queue_pair_ref<transport::rc>& pair, const remote_buffer<>& peer) {
      pair.post(read(peer.slice(0, 4), shared.slice(8, 4)).signaled()).check();
      next_success(queue);
      words[2] += words[1];
      pair.post(write(peer.slice(0, 4), shared.slice(8, 4)).signaled()).check();
      next_success(queue);
    }
  };
  auto listener = listen();
  auto served = std::async(std::launch::async, [&] {
    open_side side;
    side.words = {100, 11, 0, 0};
    auto request = listener.next_request(std::chrono::seconds{10});
    const auto peer = request.private_data().as<remote_buffer<>>();
    auto ready = request.use_queue_pair(side.make());
    ready.queue_pair().post(receive(side.region.buffer())).check();
    auto connection = ready.accept({.private_data = cm::private_data::of(side.shared.remote())});
    // The client has changed this side's word.
    next_success(side.queue);
    side.change(connection.queue_pair(), *peer);
    connection.queue_pair().post(send(side.region.slice(0, 5))).check();
    connection.wait_disconnected(std::chrono::seconds{10});
    return side.words[0];
  });
  open_side side;
  side.words = {200, 22, 0, 0};
  auto far = route_to(listener.port());
  auto ready = far.use_queue_pair(side.make());
  ready.queue_pair().post(receive(side.region.buffer())).check();
  auto connection = ready.connect({.private_data = cm::private_data::of(side.shared.remote())});
  const auto peer = connection.private_data().as<remote_buffer<>>();
  REQUIRE(peer);
  side.change(connection.queue_pair(), *peer);
  connection.queue_pair().post(send(side.region.slice(0, 5)).signaled()).check();
  next_success(side.queue);
  // The server has changed this side's word.
  next_success(side.queue);
  CHECK(side.words[0] == 211);
  connection.disconnect();
  CHECK(served.get() == 122);
}

TEST_CASE("A disconnect flushes the requests of the program's own queue pair",
          "[rdma_disconnect][optional]") {
  auto listener = listen();
  auto served = std::async(std::launch::async, [&] {
    own_side side;
    auto request = listener.next_request(std::chrono::seconds{10});
    auto ready = request.use_queue_pair(side.make());
    auto connection = ready.accept();
    connection.wait_disconnected(std::chrono::seconds{10});
    // Soft-iWARP refuses what is posted then (EPERM).
    if (is_iwarp()) return;
    connection.flush();
    connection.queue_pair().post(send(side.region.slice(0, 5)).signaled()).check();
    CHECK(next_completion(side.queue).status() == completion_status::flushed);
  });
  own_side side;
  auto far = route_to(listener.port());
  auto ready = far.use_queue_pair(side.make());
  auto connection = ready.connect();
  connection.disconnect();
  if (is_iwarp()) {
    served.get();
    return tell_skip("flushed sends", "soft-iWARP refuses what is posted after the end");
  }
  connection.queue_pair().post(send(side.region.slice(0, 5)).signaled()).check();
  CHECK(next_completion(side.queue).status() == completion_status::flushed);
  served.get();
}

TEST_CASE("A rejected queue pair can be taken back and connected elsewhere",
          "[rdma_reject][rdma_init_qp_attr][optional]") {
  auto listener = listen();
  auto served = std::async(std::launch::async, [&] {
    own_side side;
    auto unwelcome = listener.next_request(std::chrono::seconds{10});
    auto refused = unwelcome.use_queue_pair(side.make());
    fresh_pair fresh = refused.reject(cm::private_data::of(std::uint32_t{9}));
    check_reset(fresh);
    if (is_iwarp()) return;

    auto request = listener.next_request(std::chrono::seconds{10});
    auto ready = request.use_queue_pair(std::move(fresh));
    ready.queue_pair().post(receive(side.region.buffer())).check();
    auto connection = ready.accept();
    answer(connection.queue_pair(), side);
    connection.wait_disconnected(std::chrono::seconds{10});
  });
  own_side side;
  auto far = route_to(listener.port());
  auto ready = far.use_queue_pair(side.make());
  failure why;
  auto none = ready.connect({}, std::chrono::seconds{10}, why);
  CHECK_FALSE(none);
  CHECK(why.code() == (is_iwarp() ? std::errc::connection_reset : std::errc::connection_refused));
  REQUIRE(ready.rejection());
  CHECK(ready.rejection()->private_data.as<std::uint32_t>() == 9);
  fresh_pair fresh = ready.take_queue_pair();
  check_reset(fresh);
  CHECK_FALSE(ready);
  if (is_iwarp()) {
    served.get();
    return tell_skip("a connection after a rejection", "iWARP rejects the pair along with it");
  }

  far = route_to(listener.port());
  auto again = far.use_queue_pair(std::move(fresh));
  again.queue_pair().post(receive(side.region.buffer())).check();
  auto connection = again.connect();
  talk_first(connection.queue_pair(), side);
  connection.disconnect();
  served.get();
}

TEST_CASE("use_queue_pair refuses an empty queue pair and leaves the connector usable",
          "[rdma_init_qp_attr]") {
  auto listener = listen();
  auto far = route_to(listener.port());
  failure why;
  auto none = far.use_queue_pair(fresh_pair{}, why);
  CHECK_FALSE(none);
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(far);
}

TEST_CASE("Enhancements arrive with a request and can be refused by reject_ece",
          "[rdma_set_local_ece][rdma_get_remote_ece][rdma_reject_ece]") {
  constexpr ece offered{.vendor_id = 0x1405, .options = 0x10};
  auto listener = listen();
  auto served = std::async(std::launch::async, [&] {
    auto request = listener.next_request(std::chrono::seconds{10});
    // iWARP has no place for them.
    const bool travels = !is_iwarp();
    CHECK(request.identifier().remote_ece() == (travels ? offered : ece{}));
    request.identifier().reject_ece(cm::private_data::of(std::uint8_t{3}));
  });
  own_side side;
  auto far = route_to(listener.port());
  auto ready = far.use_queue_pair(side.make());
  failure why;
  ready.identifier().set_local_ece({}, why);
  CHECK(why.code() == std::errc::invalid_argument);
  ready.offer_ece(offered);
  auto none = ready.connect({}, std::chrono::seconds{10}, why);
  CHECK_FALSE(none);
  REQUIRE(ready.rejection());
  CHECK(ready.rejection()->reason ==
        (is_iwarp() ? cm::reject_reason::by_the_program : cm::reject_reason::ece_not_supported));
  CHECK(ready.rejection()->private_data.as<std::uint8_t>() == 3);
  served.get();
}

TEST_CASE("notify establishes a connection whose confirmation is missing", "[rdma_notify]") {
  auto listener = listen();
  own_side side;
  auto far = route_to(listener.port());
  auto silent = far.use_queue_pair(side.make());
  silent.identifier().connect({.queue_pair_number = silent.queue_pair().number()});
  auto request = listener.next_request(std::chrono::seconds{10});
  auto ready = request.create_queue_pair();
  ready.identifier().accept({});
  const auto answered = silent.identifier().channel().next_event(std::chrono::seconds{10});
  REQUIRE(answered);
  // On iWARP there is nothing to confirm.
  if (!is_iwarp()) {
    CHECK(answered->type() == cm::event_type::connect_response);
    CHECK_FALSE(ready.identifier().channel().has_event());
  }
  ready.identifier().notify(async_event_type::communication_established);
  const auto event = ready.identifier().channel().next_event(std::chrono::seconds{10});
  REQUIRE(event);
  CHECK(event->type() == cm::event_type::established);
}

namespace {

/// Returns how many pairs a context makes, of a hundred, after a completion queue of a size.
[[nodiscard]] std::size_t pairs_beside(std::size_t completions) {
  own_side side;
  const completion_queue first{side.device, completions};
  std::vector<fresh_pair> made;
  std::error_code code;
  while (!code && made.size() < 100) {
    fresh_pair pair = side.make(code);
    if (pair) made.push_back(std::move(pair));
  }
  return made.size();
}

}  // namespace

TEST_CASE("One context creates a hundred queue pairs", "[ibv_create_qp]") {
  const context device = open_device();
  const bool fails = holds(device_facts::takes_a_page_for_no_page, device);
  CHECK((pairs_beside(16) < 100) == fails);
  CHECK(pairs_beside(completions_for_many_pairs()) == 100);
}
