// SPDX-License-Identifier: MIT
// Atomic writes: the number arrives whole and after earlier writes, or is refused.
#include <array>
#include <atomic>

#include "extended_operations.hpp"

using namespace adverb;

namespace {

using remote_number = remote_buffer<std::uint64_t, access_right::remote_write>;
using request_type = decltype(atomic_write(remote_number{}, 1));

constexpr std::array<std::uint64_t, 3> before{10, 20, 30};

/// Three numbers of the far side.
struct atomic_write_link : extended_link<send_operation::atomic_write> {
  using extended_link::extended_link;

  std::array<std::uint64_t, 3> there = before;
  memory_region region{domain, there, every_right};

  /// A number that the peer did not hand out.
  [[nodiscard]] static remote_number claimed(const memory_region& region,
                                             std::uint64_t offset = 0) {
    return {adopt, region.device_address() + offset, 1, region.rkey()};
  }
};

[[nodiscard]] bool is_there(std::string_view test) {
  return has_operation<atomic_write_link, request_type>(device_capability::atomic_write, test);
}

}  // namespace

TEST_CASE("An atomic write replaces one number of the peer", "[optional][ibv_wr_atomic_write]") {
  if (!is_there("an atomic write")) return;
  const atomic_write_link link;
  const auto remote = link.region.remote<std::uint64_t, access_right::remote_write>();
  link.post(atomic_write(remote.at(1), 0x1122334455667788).id(7).signaled());
  const completion done = next_success(link.near_end.queue);
  CHECK(done.id() == 7);
  CHECK(done.success().opcode() == completion_opcode::atomic_write);
  CHECK(link.there == std::array<std::uint64_t, 3>{10, 0x1122334455667788, 30});
}

TEST_CASE("An atomic write arrives after the writes before it", "[optional][ibv_wr_atomic_write]") {
  if (!is_there("an atomic write after other writes")) return;
  atomic_write_link link;
  constexpr std::size_t size = 16384;
  const auto flag = link.region.remote<std::uint64_t, access_right::remote_write>().at(0);
  const std::atomic_ref<std::uint64_t> seen{link.there[0]};
  for (unsigned round = 1; round <= 20; ++round) {
    link.near_end.fill(0, size, round);
    link.post(write(link.far_end.remote().slice(0, size), link.near_end.region.slice(0, size)));
    link.post(atomic_write(flag, round).signaled());
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    while (seen.load() != round)
      if (std::chrono::steady_clock::now() > deadline) FAIL("no number within ten seconds");
    CHECK(link.far_end.holds(0, size, round));
    next_success(link.near_end.queue);
  }
}

TEST_CASE("The peer refuses an atomic write to an unaligned address",
          "[optional][ibv_wr_atomic_write]") {
  if (!is_there("an unaligned atomic write")) return;
  const atomic_write_link link;
  CHECK(link.status_of(atomic_write(link.claimed(link.region, 4), 1)) ==
        completion_status::remote_invalid_request_error);
  CHECK(link.there == before);
}

TEST_CASE("The peer refuses an atomic write beyond its region", "[optional][ibv_wr_atomic_write]") {
  if (!is_there("an atomic write beyond a region")) return;
  const atomic_write_link link;
  CHECK(link.status_of(atomic_write(link.claimed(link.region, sizeof before), 1)) ==
        completion_status::remote_access_error);
}

TEST_CASE("The peer refuses an atomic write without the right to write",
          "[optional][ibv_wr_atomic_write]") {
  if (!is_there("an atomic write without the right")) return;
  SECTION("the right of the region") {
    atomic_write_link link;
    const memory_region region{link.domain, link.there,
                               access_right::local_write | access_right::remote_read};
    CHECK(link.status_of(atomic_write(link.claimed(region), 1)) ==
          completion_status::remote_access_error);
    CHECK(link.there == before);
  }
  SECTION("the right of the queue pair") {
    const atomic_write_link link{access_right::remote_read};
    CHECK(link.status_of(atomic_write(link.claimed(link.region), 1)) ==
          completion_status::remote_invalid_request_error);
    CHECK(link.there == before);
  }
}
