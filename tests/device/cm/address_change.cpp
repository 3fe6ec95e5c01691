// SPDX-License-Identifier: MIT
// A machine whose address changes while it has connections.
#include <chrono>
#include <string>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>
#include <support/skip.hpp>

#include "cm/guest.hpp"
#include "cm/support.hpp"

using namespace adverb;
using namespace cm_test;
using namespace std::chrono_literals;

namespace {

constexpr const char* other_address = "10.1.0.77";

/// This machine has another address while this object lives.
class changed_address {
 public:
  changed_address() { change(own_, other_address); }
  changed_address(const changed_address&) = delete;
  changed_address& operator=(const changed_address&) = delete;
  ~changed_address() { change(other_address, own_); }

 private:
  static void change(const std::string& from, const std::string& to) {
    expect(in_guest("ip addr del " + from + "/24 dev $SOFTRDMA_INTERFACE && ip addr add " + to +
                    "/24 dev $SOFTRDMA_INTERFACE"),
           "the address is changed");
  }

  std::string own_{environment("SOFTRDMA_ADDRESS")};
};

constexpr acknowledge_timeout resend_after = 537ms;
constexpr std::uint8_t retries = 3;

void take_message(const rc_connection& connection, const char* what) {
  expect(next_success(connection.recv_cq()).success().receive().length() == 0, what);
}

}  // namespace

TEST_CASE("A peer whose address changes fails the request, and is connected again there",
          "[rdma_connect][ibv_post_send][optional]") {
  if (!on_two_hosts()) return tell_skip("a change of the peer's address", "there is one machine");
  two_sides(
      [&](const rc_listener& listener) {
        auto ready = next_ready(listener);
        ready.queue_pair().post(receive()).check();
        const rc_connection before = ready.accept();
        take_message(before, "a message arrives");
        {
          const changed_address changed;
          meet("address-changed");
          auto again = next_ready(listener);
          again.queue_pair().post(receive()).check();
          rc_connection after = again.accept();
          take_message(after, "a message arrives at the new address");
          after.wait_disconnected(30s);
          after.disconnect();
        }
        meet("address-restored");
      },
      [&](const cm::socket_address& address) {
        auto ready = ready_for(address);
        ready.identifier().set_acknowledge_timeout(resend_after);
        const rc_connection before = ready.connect({.retry_count = retries});
        before.queue_pair().post(send().signaled()).check();
        next_success(before.send_cq());
        meet("address-changed");
        before.queue_pair().post(send().signaled()).check();
        CHECK(next_completion(before.send_cq()).status() == completion_status::retries_exceeded);
        rc_connection after = ready_for(in_numbers(other_address, address.port())).connect();
        after.queue_pair().post(send().signaled()).check();
        next_success(after.send_cq());
        after.disconnect();
        meet("address-restored");
      });
}
