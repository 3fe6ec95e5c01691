// SPDX-License-Identifier: MIT
// Memory windows of type 2 through the extended calls: bound, used by the peer, and taken back.
#include <cstdint>

#include "memory_windows.hpp"
#include "support.hpp"

using namespace adverb;

namespace {

constexpr send_operations operations =
    basic_operations(transport::rc) | send_operation::bind_window |
    send_operation::local_invalidate | send_operation::send_with_invalidate;

loopback_options<transport::rc> with_windows() {
  loopback_options<transport::rc> options;
  options.pair.send_operations = operations;
  return options;
}

/// The far side grants access through windows, all of it by its extended sender.
struct extended_window_link : loopback<transport::rc> {
  extended_window_link() : loopback{with_windows()} {}

  memory_region region{domain, far_end.bytes, window_rights};
  memory_window<window_type::two> window{domain};
  extended_sender<transport::rc, operations> near_sender = near_pair.extended<operations>();
  extended_sender<transport::rc, operations> far_sender = far_pair.extended<operations>();

  template <class Remote>
  [[nodiscard]] completion_status write_to(const Remote& remote) {
    near_end.fill(0, 32, 5);
    near_sender.post(write(remote, near_end.region.slice(0, 32)).signaled()).check();
    return next_completion(near_end.queue).status();
  }
};

}  // namespace

TEST_CASE("A window is bound, used and invalidated through the extended calls",
          "[ibv_wr_bind_mw][ibv_wr_local_inv]") {
  extended_window_link link;
  const auto grant =
      link.window.prepare<std::byte, access_right::remote_write>(link.region, 512, 32);
  link.far_sender.post(bind_window(grant).signaled().id(1)).check();
  const completion bound = next_success(link.far_end.queue);
  CHECK(bound.id() == 1);
  CHECK(bound.success().opcode() == completion_opcode::bind_window);
  CHECK(link.write_to(grant.remote()) == completion_status::success);
  CHECK(link.far_end.holds(512, 32, 5));

  link.far_sender.post(local_invalidate(grant).signaled().id(2)).check();
  const completion invalidated = next_success(link.far_end.queue);
  CHECK(invalidated.id() == 2);
  CHECK(invalidated.success().opcode() == completion_opcode::local_invalidate);
  CHECK(link.write_to(grant.remote()) == completion_status::remote_access_error);
}

TEST_CASE("A window is invalidated by the peer through the extended calls", "[ibv_wr_send_inv]") {
  extended_window_link link;
  const auto grant =
      link.window.prepare<std::byte, access_right::remote_write>(link.region, 512, 32);
  link.far_sender.post(bind_window(grant).signaled()).check();
  next_success(link.far_end.queue);
  link.far_pair.post(receive(link.far_end.region.slice(0, 64))).check();
  link.near_end.fill(100, 16, 7);
  link.near_sender
      .post(send_with_invalidate(grant.remote(), link.near_end.region.slice(100, 16)).signaled())
      .check();
  next_success(link.near_end.queue);
  const completion received = next_success(link.far_end.queue);
  CHECK(received.success().receive().length() == 16);
  // Soft-RoCE gives the key without the flag for it.
  CHECK(received.native().invalidated_rkey == static_cast<std::uint32_t>(grant.key()));
  CHECK(link.far_end.holds(0, 16, 7));
  CHECK(link.write_to(grant.remote()) == completion_status::remote_access_error);
}
