// SPDX-License-Identifier: MIT
// The device is removed while a process uses it, and added again.
#pragma once

#include <future>
#include <string>

#include <support/catch.hpp>

#include "cm/child_process.hpp"
#include "cm/guest.hpp"

namespace cm_test {

/// Returns false, and prints the skip, if the device is not the test's to remove.
inline bool may_remove_device() {
  if (environment("SOFTRDMA_TOPOLOGY") == "loop") return true;
  tell_skip("device removal", "the device is not this test's to remove");
  return false;
}

/// Removes the device, waits until the process that uses it has ended well, and adds it again.
inline void remove_device_under(child_process& user) {
  auto removed =
      std::async(std::launch::async, [] { return in_guest("rdma link delete $SOFTRDMA_DEVICE"); });
  CHECK(user.wait() == 0);
  REQUIRE(removed.get());
  CHECK_FALSE(in_guest("rdma link show | grep -q $SOFTRDMA_DEVICE"));
  const std::string type = on_iwarp() ? "siw" : "rxe";
  REQUIRE(in_guest("rdma link add $SOFTRDMA_DEVICE type " + type + " netdev $SOFTRDMA_INTERFACE"));
}

}  // namespace cm_test
