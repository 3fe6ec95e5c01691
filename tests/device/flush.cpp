// SPDX-License-Identifier: MIT
// Flushes: they complete after the writes before them, or are refused.
#include "extended_operations.hpp"

using namespace adverb;

namespace {

constexpr access_rights flush_rights = access_right::remote_write | access_right::flush_global;
using remote_bytes = remote_buffer<std::byte, flush_rights>;
using request_type = decltype(flush(remote_bytes{}, placement::global));

/// Memory of the far side that can be flushed.
struct flush_link : extended_link<send_operation::flush> {
  using extended_link::extended_link;

  memory_region region{domain, far_end.bytes, all_rights};
  remote_bytes remote = region.remote<std::byte, flush_rights>();

  /// Bytes that the peer did not hand out.
  [[nodiscard]] static remote_bytes claimed(const memory_region& region, std::size_t length) {
    return {adopt, region.device_address(), length, region.rkey()};
  }
};

[[nodiscard]] bool is_there(std::string_view test) {
  return has_operation<flush_link, request_type>(device_capability::flush_global, test);
}

}  // namespace

TEST_CASE("A flush completes when the writes before it are visible", "[optional][ibv_wr_flush]") {
  if (!is_there("a flush")) return;
  flush_link link;
  constexpr std::size_t size = 16384;
  const auto check_flushed = [&](unsigned seed, const auto& request) {
    link.near_end.fill(0, size, seed);
    link.post(write(link.remote.slice(64, size), link.near_end.region.slice(0, size)));
    link.post(request.id(seed).signaled());
    const completion done = next_success(link.near_end.queue);
    CHECK(done.id() == seed);
    CHECK(done.success().opcode() == completion_opcode::flush);
    CHECK(link.far_end.holds(64, size, seed));
  };
  check_flushed(1, flush(link.remote.slice(64, size), placement::global));
  check_flushed(2, flush_region(link.remote, placement::global));
}

TEST_CASE("The peer refuses a flush beyond its region", "[optional][ibv_wr_flush]") {
  if (!is_there("a flush beyond a region")) return;
  flush_link link;
  const remote_bytes longer = link.claimed(link.region, link.region.size() + 1);
  SECTION("a range") {
    CHECK(link.status_of(flush(longer, placement::global)) ==
          completion_status::remote_access_error);
  }
  SECTION("and takes one of the whole region, whatever its range") {
    link.post(flush_region(longer, placement::global).id(1).signaled());
    CHECK(next_success(link.near_end.queue).id() == 1);
  }
}

TEST_CASE("The peer refuses a flush without the right to flush", "[optional][ibv_wr_flush]") {
  if (!is_there("a flush without the right")) return;
  SECTION("the region") {
    const flush_link link;
    CHECK(link.status_of(flush(link.claimed(link.far_end.region, 8), placement::global)) ==
          completion_status::remote_access_error);
  }
  SECTION("the right of the queue pair") {
    const flush_link link{every_right};
    CHECK(link.status_of(flush(link.remote, placement::global)) ==
          completion_status::remote_invalid_request_error);
  }
}
