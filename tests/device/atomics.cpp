// SPDX-License-Identifier: MIT
// Both atomic operations, on the real device.
#include "support.hpp"

using namespace adverb;

namespace {

constexpr access_rights atomic_right = access_right::remote_atomic;

/// Numbers of the far side, and where results arrive on the near one.
struct atomic_link : loopback<transport::rc> {
  using loopback::loopback;

  std::array<std::uint64_t, 4> counters{};
  std::array<std::uint64_t, 4> results{};
  memory_region counter_region{domain, counters, every_right};
  memory_region result_region{domain, results};
  remote_buffer<std::uint64_t, atomic_right> remote =
      counter_region.remote<std::uint64_t, atomic_right>();
};

}  // namespace

TEST_CASE("Fetch-and-add adds at the peer and returns the previous value") {
  atomic_link link;
  link.counters[1] = 40;
  link.near_pair
      .post(fetch_and_add(link.remote.at(1), 2, link.result_region.slice(0, 8)).signaled())
      .check();
  const completion done = next_success(link.near_end.queue);
  CHECK(done.success().opcode() == completion_opcode::fetch_and_add);
  CHECK(link.results[0] == 40);
  CHECK(link.counters[1] == 42);
  CHECK(link.counters[0] == 0);
  CHECK(link.counters[2] == 0);
}

TEST_CASE("Fetch-and-add wraps around at 64 bits") {
  atomic_link link;
  link.counters[0] = ~std::uint64_t{0};
  link.near_pair.post(fetch_and_add(link.remote, 5, link.result_region.slice(8, 8)).signaled())
      .check();
  next_success(link.near_end.queue);
  CHECK(link.results[1] == ~std::uint64_t{0});
  CHECK(link.counters[0] == 4);
}

TEST_CASE("Compare-and-swap replaces only the expected value") {
  atomic_link link;
  link.counters[0] = 0x1122334455667788;
  link.near_pair
      .post(compare_and_swap(link.remote, {.expected = 1, .desired = 2},
                             link.result_region.slice(0, 8))
                .signaled())
      .check();
  const completion done = next_success(link.near_end.queue);
  CHECK(done.success().opcode() == completion_opcode::compare_and_swap);
  CHECK(link.results[0] == 0x1122334455667788);
  CHECK(link.counters[0] == 0x1122334455667788);

  link.near_pair
      .post(compare_and_swap(link.remote, {.expected = 0x1122334455667788, .desired = 2},
                             link.result_region.slice(8, 8))
                .signaled())
      .check();
  next_success(link.near_end.queue);
  CHECK(link.results[1] == 0x1122334455667788);
  CHECK(link.counters[0] == 2);
}

TEST_CASE("Each atomic of a chain uses the result of the one before") {
  atomic_link link;
  link.near_pair
      .post(fetch_and_add(link.remote, 1, link.result_region.slice(0, 8)),
            fetch_and_add(link.remote, 1, link.result_region.slice(8, 8)),
            compare_and_swap(link.remote, {.expected = 2, .desired = 100},
                             link.result_region.slice(16, 8))
                .signaled())
      .check();
  next_success(link.near_end.queue);
  CHECK(link.results[0] == 0);
  CHECK(link.results[1] == 1);
  CHECK(link.results[2] == 2);
  CHECK(link.counters[0] == 100);
}

TEST_CASE("A pair that does not allow atomics refuses them") {
  loopback_options<transport::rc> options;
  options.far_grants = access_right::remote_read | access_right::remote_write;
  atomic_link link{options};
  link.near_pair.post(fetch_and_add(link.remote, 1, link.result_region.slice(0, 8)).signaled())
      .check();
  CHECK(next_completion(link.near_end.queue).status() ==
        completion_status::remote_invalid_request_error);
  CHECK(link.counters[0] == 0);
}

TEST_CASE("A region that does not allow atomics refuses them") {
  atomic_link link;
  std::array<std::uint64_t, 1> number{};
  const memory_region region{link.domain, number,
                             access_right::local_write | access_right::remote_write};
  const remote_buffer<std::uint64_t, atomic_right> claimed{adopt, region.device_address(), 1,
                                                           region.rkey()};
  link.near_pair.post(fetch_and_add(claimed, 1, link.result_region.slice(0, 8)).signaled()).check();
  CHECK(next_completion(link.near_end.queue).status() == completion_status::remote_access_error);
  CHECK(number[0] == 0);
}
