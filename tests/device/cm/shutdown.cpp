// SPDX-License-Identifier: MIT
// The end of connections: nothing that had arrived is lost, and everything that was posted comes
// back.
#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include <poll.h>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>

#include "cm/guest.hpp"
#include "cm/support.hpp"

using namespace adverb;
using namespace cm_test;

namespace {

/// The completions that a drain returned.
struct drained {
  std::vector<std::uint64_t> succeeded;
  std::vector<std::uint64_t> flushed;

  void operator()(const completion& each) {
    if (each.status() == completion_status::success)
      succeeded.push_back(each.id());
    else if (each.status() == completion_status::flushed)
      flushed.push_back(each.id());
    else
      each.check();
  }
};

using ids = std::vector<std::uint64_t>;

template <class Ready>
void post_receives(Ready& ready, const memory_region& region, std::uint64_t from, int count) {
  for (int posted = 0; posted < count; ++posted)
    ready.queue_pair().post(receive(region.slice(0, 8)).id(from + unsigned(posted))).check();
}

/// Sends so many messages, one after another.
void send_messages(rc_connection& connection, const memory_region& region, int count) {
  for (int sent = 0; sent < count; ++sent) {
    connection.queue_pair().post(send(region.slice(0, 8)).signaled()).check();
    next_success(connection.send_cq());
  }
}

}  // namespace

TEST_CASE("Both sides drain the messages that arrived and the posted receives",
          "[rdma_disconnect][rdma_get_cm_event]") {
  two_sides(
      [](const rc_listener& listener) {
        auto ready = next_ready(listener);
        std::array<std::byte, 8> bytes{};
        memory_region region{ready.protection_domain(), bytes, access_right::local_write};
        post_receives(ready, region, 1, 5);
        auto connection = ready.accept();
        connection.wait_disconnected(std::chrono::seconds{10});
        expect(connection.has_ended(), "the end was heard of");
        connection.disconnect();
        drained left;
        expect(connection.drain(left) == 5, "all five receives came back");
        expect(left.succeeded == ids{1, 2, 3}, "the three messages had arrived");
        expect(left.flushed == ids{4, 5}, "the other receives were flushed");
      },
      [](const cm::socket_address& address) {
        auto ready = ready_for(address);
        std::array<std::byte, 8> bytes{};
        memory_region region{ready.protection_domain(), bytes, access_right::local_write};
        post_receives(ready, region, 1, 2);
        auto connection = ready.connect();
        for (int sent = 0; sent < 3; ++sent)
          connection.queue_pair().post(send(region.slice(0, 8)).signaled().id(9)).check();
        for (int sent = 0; sent < 3; ++sent) next_success(connection.send_cq());
        connection.disconnect();
        CHECK(connection.has_ended());
        drained left;
        CHECK(connection.drain(left) == 2);
        CHECK(left.succeeded.empty());
        CHECK(left.flushed == ids{1, 2});
      });
}

TEST_CASE("Requests without a receive are flushed, and full queues can be drained",
          "[rdma_disconnect][optional]") {
  if (on_iwarp()) return tell_skip("flushed sends", "an unexpected send ends the connection");
  two_sides(
      [](const rc_listener& listener) {
        auto connection = next_ready(listener).accept();
        connection.wait_disconnected(std::chrono::seconds{10});
      },
      [](const cm::socket_address& address) {
        auto ready = ready_for(address);
        std::array<std::byte, 8> bytes{};
        memory_region region{ready.protection_domain(), bytes, access_right::local_write};
        post_receives(ready, region, 100, 8);
        auto connection = ready.connect();
        // The peer has no receives, so that none of these is done. All have a completion then.
        ids posted;
        while (connection.queue_pair().post(send(region.slice(0, 8)).id(posted.size())))
          posted.push_back(posted.size());
        REQUIRE(posted.size() >= 8);
        connection.disconnect();
        drained left;
        connection.drain(left);
        CHECK(left.succeeded.empty());
        ids sends;
        ids receives;
        for (const std::uint64_t id : left.flushed) (id < 100 ? sends : receives).push_back(id);
        CHECK(sends == posted);
        CHECK(receives == ids{100, 101, 102, 103, 104, 105, 106, 107});
        // Nothing is left, so nothing comes.
        CHECK(connection.drain(left) == 0);
      });
}

TEST_CASE("The queue pair flushes requests that are posted after the end",
          "[rdma_disconnect][optional]") {
  if (on_iwarp())
    return tell_skip("posted after the end", "iWARP devices need not flush what is posted in ERR");
  two_sides(
      [](const rc_listener& listener) {
        auto connection = next_ready(listener).accept();
        connection.wait_disconnected(std::chrono::seconds{10});
      },
      [](const cm::socket_address& address) {
        auto connection = ready_for(address).connect();
        connection.disconnect();
        connection.queue_pair().post(send().id(7)).check();
        connection.queue_pair().post(receive().id(8)).check();
        drained left;
        CHECK(connection.drain(left) == 2);
        CHECK(left.flushed.size() == 2);
      });
}

TEST_CASE("Both sides can disconnect at once and repeatedly", "[rdma_disconnect]") {
  two_sides(
      [](const rc_listener& listener) {
        auto connection = next_ready(listener).accept();
        connection.disconnect();
        connection.disconnect();
        drained left;
        expect(connection.drain(left) == 0, "nothing was posted");
      },
      [](const cm::socket_address& address) {
        auto connection = ready_for(address).connect();
        connection.disconnect();
        connection.disconnect();
        connection.wait_disconnected(std::chrono::seconds{1});
        drained left;
        CHECK(connection.drain(left) == 0);
      });
}

TEST_CASE("Destroying a connection ends it for the other side", "[rdma_destroy_id]") {
  two_sides([](const rc_listener& listener) { auto connection = next_ready(listener).accept(); },
            [](const cm::socket_address& address) {
              auto connection = ready_for(address).connect();
              connection.wait_disconnected(std::chrono::seconds{10});
              connection.disconnect();
              drained left;
              CHECK(connection.drain(left) == 0);
            });
}

TEST_CASE("A wait for messages returns earlier messages and then ends with the connection",
          "[rdma_get_cm_event][ibv_get_cq_event]") {
  two_sides(
      [&](const rc_listener& listener) {
        auto ready = next_ready(listener);
        std::array<std::byte, 8> bytes{};
        memory_region region{ready.protection_domain(), bytes, access_right::local_write};
        post_receives(ready, region, 1, 3);
        auto connection = ready.accept();
        drained seen;
        std::array<completion, 1> one;
        while (true) {
          const auto found = connection.wait(connection.recv_cq(), one, std::chrono::seconds{10});
          if (found.empty()) break;
          seen(found[0]);
        }
        expect(connection.has_ended(), "the peer has left");
        expect(seen.succeeded == ids{1, 2}, "both messages had arrived");
        // Requests on iWARP are flushed before the connection has ended.
        connection.disconnect();
        connection.drain(seen);
        expect(seen.flushed == ids{3}, "the receive that was left came back");
      },
      [&](const cm::socket_address& address) {
        auto ready = ready_for(address);
        std::array<std::byte, 8> bytes{};
        memory_region region{ready.protection_domain(), bytes, access_right::local_write};
        post_receives(ready, region, 1, 1);
        auto connection = ready.connect();
        std::array<completion, 1> one;
        send_messages(connection, region, 2);
        CHECK(connection.wait(connection.recv_cq(), one, std::chrono::milliseconds{1}).empty());
        CHECK_FALSE(connection.has_ended());
        connection.disconnect();
      });
}

TEST_CASE("One loop waits for events and completions", "[rdma_get_cm_event][ibv_get_cq_event]") {
  two_sides(
      [&](const rc_listener& listener) {
        auto ready = next_ready(listener);
        std::array<std::byte, 8> bytes{};
        memory_region region{ready.protection_domain(), bytes, access_right::local_write};
        post_receives(ready, region, 0, 2);
        auto connection = ready.accept();
        const completion_queue_ref queue = connection.recv_cq();
        const completion_channel_ref channel{queue.native_handle()->channel};
        channel.set_non_blocking(true);

        std::size_t received = 0;
        const auto handle = [&](const completion& each) {
          each.check();
          ++received;
        };
        queue.arm_and_poll(up_to<4>, handle);
        std::array<pollfd, 2> watched{pollfd{connection.file_descriptor(), POLLIN, 0},
                                      pollfd{channel.file_descriptor(), POLLIN, 0}};
        while (!connection.has_ended()) {
          expect(::poll(watched.data(), watched.size(), 10'000) > 0, "something happens");
          while (auto ready_queue = channel.next_event())
            ready_queue->arm_and_poll(up_to<4>, handle);
          while (auto event = connection.next_event())
            expect(event->type() == cm::event_type::disconnected, "the end is the only event");
        }
        connection.disconnect();
        connection.drain(handle);
        expect(received == 2, "both messages arrived");
      },
      [&](const cm::socket_address& address) {
        auto ready = ready_for(address);
        std::array<std::byte, 8> bytes{};
        memory_region region{ready.protection_domain(), bytes, access_right::local_write};
        auto connection = ready.connect();
        send_messages(connection, region, 2);
        connection.disconnect();
      });
}

TEST_CASE("An event reports the end of the timewait", "[rdma_get_cm_event][optional]") {
  if (on_iwarp()) return tell_skip("timewait", "iWARP's connection manager tells nothing of it");
  two_sides(
      [](const rc_listener& listener) {
        auto connection = next_ready(listener).accept();
        connection.wait_disconnected(std::chrono::seconds{10});
        connection.disconnect();
      },
      [](const cm::socket_address& address) {
        auto connection = ready_for(address).connect();
        connection.disconnect();
        pollfd watched{connection.file_descriptor(), POLLIN, 0};
        REQUIRE(::poll(&watched, 1, 30'000) == 1);
        const auto event = connection.next_event();
        REQUIRE(event);
        CHECK(event->type() == cm::event_type::timewait_exit);
      });
}

TEST_CASE("A connection outlasts a change of the neighbour's hardware address",
          "[rdma_get_cm_event][optional]") {
  if (!on_two_hosts() || on_iwarp())
    return tell_skip("a change of the neighbour", "it needs two machines with RoCE");
  two_sides(
      [](const rc_listener& listener) {
        auto ready = next_ready(listener);
        std::array<std::byte, 8> bytes{};
        memory_region region{ready.protection_domain(), bytes, access_right::local_write};
        post_receives(ready, region, 1, 1);
        auto connection = ready.accept();
        next_success(connection.recv_cq());
        connection.wait_disconnected(std::chrono::seconds{20});
        connection.disconnect();
      },
      [](const cm::socket_address& address) {
        auto connection = ready_for(address).connect();
        std::array<std::byte, 8> bytes{};
        memory_region region{connection.protection_domain(), bytes, access_right::local_write};
        const std::string neighbour = std::string{environment("SOFTRDMA_PEER_ADDRESS")} + " dev " +
                                      environment("SOFTRDMA_INTERFACE");
        // The address of the peer moves to another machine, and the event follows.
        REQUIRE(in_guest("ip neigh replace lladdr 02:00:00:00:00:99 nud reachable " + neighbour));
        pollfd waiting{connection.file_descriptor(), POLLIN, 0};
        REQUIRE(::poll(&waiting, 1, 10'000) == 1);
        failure why;
        connection.wait_disconnected(std::chrono::milliseconds{300}, why);
        CHECK(why.code() == std::errc::timed_out);
        CHECK(!connection.has_ended());
        REQUIRE(in_guest("ip neigh del " + neighbour));
        send_messages(connection, region, 1);
        connection.disconnect();
        CHECK(connection.has_ended());
      });
}
