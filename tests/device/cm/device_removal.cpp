// SPDX-License-Identifier: MIT
// The device goes away while it is used: each object says so, everything is closed, and once the
// device is back everything works again.
#include <cstdlib>
#include <future>
#include <optional>
#include <string>

#include <poll.h>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>
#include <support/skip.hpp>

#include "cm/support.hpp"

using namespace adverb;
using namespace cm_test;

namespace {

/// Removes the device, in a process of its own: this waits until nothing uses the device. Brings it
/// back when it dies.
class removal {
 public:
  removal()
      : removing_{std::async(std::launch::async, [this] {
          return std::system(("timeout 20 rdma link delete " + device_).c_str());
        })} {}
  removal(const removal&) = delete;
  removal& operator=(const removal&) = delete;
  ~removal() noexcept(false) {
    CHECK(removing_.get() == 0);
    const std::string kind = on_iwarp() ? "siw" : "rxe";
    const std::string interface{environment("SOFTRDMA_INTERFACE")};
    REQUIRE(std::system(
                ("rdma link add " + device_ + " type " + kind + " netdev " + interface).c_str()) ==
            0);
    // Addresses come to the table of the device a little later.
    for (int turn = 0; turn < 50; ++turn) {
      auto start = cm::connector<transport::rc>::create();
      failure why;
      if (start.resolve_address(device_address(1), {}, why)) return;
      static_cast<void>(::poll(nullptr, 0, 100));
    }
    FAIL("the device did not come back");
  }

 private:
  std::string device_{environment("SOFTRDMA_DEVICE")};
  std::future<int> removing_;
};

[[nodiscard]] bool device_is_virtual() {
  if (!environment("SOFTRDMA_INTERFACE").empty() && environment("SOFTRDMA_TOPOLOGY") == "loop")
    return true;
  tell_skip("device removal", "the device is not this test's to remove");
  return false;
}

void check_works() {
  const auto listener = rc_listener::create(device_address());
  auto accepted = std::async(std::launch::async, [&] { return next_ready(listener).accept(); });
  CHECK(ready_for(device_address(listener.port())).connect());
  CHECK(accepted.get());
}

}  // namespace

TEST_CASE("The device is removed from a listener on its address", "[rdma_get_cm_event]") {
  if (!device_is_virtual()) return;
  {
    std::optional<removal> removing;
    const auto listener = rc_listener::create(device_address());
    removing.emplace();
    failure why;
    CHECK(!listener.next_request(timeout::seconds(10), why));
    INFO(why.what());
    CHECK(why.code() == std::errc::no_such_device);
    CHECK(why.explanation() == "the device was removed");
  }
  check_works();
}

TEST_CASE("The device is removed while a connection is asked for", "[rdma_connect]") {
  if (!device_is_virtual()) return;
  {
    std::optional<removal> removing;
    // One on every address outlives the device.
    const auto listener = rc_listener::create(every_address());
    auto ready = ready_for(device_address(listener.port()));
    removing.emplace();
    failure why;
    CHECK(!ready.connect({}, timeout::seconds(10), why));
    INFO(why.what());
    CHECK(why.code() == std::errc::no_such_device);
  }
  check_works();
}

TEST_CASE("The device is removed from a connection", "[rdma_get_cm_event]") {
  if (!device_is_virtual()) return;
  {
    std::optional<removal> removing;
    const auto listener = rc_listener::create(every_address());
    auto accepted = std::async(std::launch::async, [&] { return next_ready(listener).accept(); });
    auto near = ready_for(device_address(listener.port())).connect();
    auto far = accepted.get();
    removing.emplace();
    for (rc_connection* const side : {&near, &far}) {
      pollfd watched{side->file_descriptor(), POLLIN, 0};
      REQUIRE(::poll(&watched, 1, 10'000) == 1);
      const auto event = side->next_event();
      REQUIRE(event);
      CHECK(event->type() == cm::event_type::device_removal);
      CHECK(side->has_ended());
    }
    near.close();
    far.close();
  }
  check_works();
}
