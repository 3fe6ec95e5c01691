// SPDX-License-Identifier: MIT
// Accesses at the bounds of a region, and those of zero bytes.
#include <array>
#include <limits>

#include "refusals.hpp"

using namespace adverb;

namespace {

/// A region in the middle of some memory, the first and last bytes of which nobody may touch.
struct bounded_link : loopback<transport::rc> {
  static constexpr std::size_t margin = 64;
  static constexpr std::size_t size = 44;

  alignas(64) std::array<std::byte, 2 * margin + size> memory{};
  memory_region middle{domain, std::span{memory}.subspan(margin, size), every_right};

  template <access_rights Rights, class T = std::byte>
  [[nodiscard]] remote_buffer<T, Rights> at(std::int64_t offset,
                                            std::uint32_t key_change = 0) const {
    return claimed<Rights, T>(middle, static_cast<std::uint64_t>(offset), key_change);
  }
  [[nodiscard]] mutable_buffer here(std::size_t length) const {
    return near_end.region.slice(0, length);
  }
};

/// Expects that the peer refuses the request, and changes nothing.
template <class Request>
void check_refused(bounded_link& link, const Request& request) {
  link.near_end.fill(0, 8, 3);
  link.near_pair.post(request.id(1)).check();
  const completion refused = next_completion(link.near_end.queue);
  CHECK(refused.id() == 1);
  CHECK(refused.status() == completion_status::remote_access_error);
  check_fails_soon(link.near_pair);
  check_fails_soon(link.far_pair);
  CHECK(link.memory == decltype(link.memory){});
  CHECK(link.near_end.holds(0, 8, 3));
  reconnect(link);
  check_traffic(link);
}

constexpr std::int64_t beyond = bounded_link::size;
constexpr access_rights to_read = access_right::remote_read;
constexpr access_rights to_write = access_right::remote_write;
constexpr access_rights atomic_right = access_right::remote_atomic;

}  // namespace

TEST_CASE("A write and a read are refused if any byte is outside the region") {
  bounded_link link;
  for (const std::int64_t offset :
       {std::int64_t{-64}, std::int64_t{-8}, std::int64_t{-1}, beyond - 7, beyond, beyond + 8}) {
    CAPTURE(offset);
    check_refused(link, write(link.at<to_write>(offset), link.here(8)));
    check_refused(link, read(link.at<to_read>(offset), link.here(8)));
  }
}

TEST_CASE("An access at the last address is refused although its end wraps around") {
  bounded_link link;
  const remote_buffer<> last{adopt, std::numeric_limits<std::uint64_t>::max() - 3, 8,
                             link.middle.rkey()};
  check_refused(link, write(last, link.here(8)));
  check_refused(link, read(last, link.here(8)));
}

TEST_CASE("A write and a read of a whole region succeed, and one byte more is refused") {
  bounded_link link;
  constexpr std::size_t size = bounded_link::size;
  link.near_end.fill(0, size, 5);
  link.near_pair
      .post(write(link.at<to_write>(0), link.here(size)),
            read(link.at<to_read>(0), link.near_end.region.slice(4096, size)).signaled())
      .check();
  next_success(link.near_end.queue);
  CHECK(link.near_end.holds(4096, size, 5));
  CHECK(link.memory[bounded_link::margin - 1] == std::byte{0});
  CHECK(link.memory[bounded_link::margin + size] == std::byte{0});
  link.memory = {};
  check_refused(link, write(link.at<to_write>(0), link.here(size + 1)));
  check_refused(link, read(link.at<to_read>(0), link.here(size + 1)));
}

TEST_CASE("An atomic is refused before the region, across its end and beyond it") {
  bounded_link link;
  // The last aligned number has four bytes in the region.
  for (const std::int64_t offset : {std::int64_t{-8}, beyond - 4, beyond + 4}) {
    CAPTURE(offset);
    const auto number = link.at<atomic_right, std::uint64_t>(offset);
    check_refused(link, fetch_and_add(number, 1, link.here(8)));
    check_refused(link, compare_and_swap(number, {.expected = 0, .desired = 1}, link.here(8)));
  }
}

TEST_CASE("An access of zero bytes succeeds whatever its address and rkey") {
  struct place {
    std::int64_t offset;
    std::uint32_t key_change;
  };
  bounded_link link;
  for (const place where : {place{0, 0}, place{-1, 0}, place{beyond, 0}, place{beyond + 1, 0},
                            place{0, 0xff}, place{0, 0xffffff00}}) {
    CAPTURE(where.offset, where.key_change);
    link.far_pair.post(receive().id(5)).check();
    link.near_pair
        .post(write(link.at<to_write>(where.offset, where.key_change)).id(1).signaled(),
              read(link.at<to_read>(where.offset, where.key_change)).id(2).signaled(),
              write_with_immediate(link.at<to_write>(where.offset, where.key_change), immediate{9})
                  .id(3)
                  .signaled())
        .check();
    for (std::uint64_t id = 1; id <= 3; ++id) CHECK(next_success(link.near_end.queue).id() == id);
    const completion received = next_success(link.far_end.queue);
    CHECK(received.id() == 5);
    CHECK(received.success().receive().length() == 0);
    CHECK(received.success().receive().immediate() == immediate{9});
  }
  CHECK(link.memory == decltype(link.memory){});
}

TEST_CASE("An access of zero bytes still needs the right of the queue pair") {
  for (const bool reading : {true, false}) {
    CAPTURE(reading);
    loopback_options<transport::rc> options;
    options.far_grants = access_right::local_write;
    loopback<transport::rc> link{options};
    if (reading)
      link.near_pair.post(read(link.far_end.remote()).id(1)).check();
    else
      link.near_pair.post(write(link.far_end.remote()).id(1)).check();
    const completion refused = next_completion(link.near_end.queue);
    CHECK(refused.id() == 1);
    CHECK(refused.status() == completion_status::remote_invalid_request_error);
  }
}

TEST_CASE("An access of zero bytes to a deregistered region succeeds") {
  loopback<transport::rc> link;
  std::vector<std::byte> bytes(8);
  memory_region region{link.domain, bytes, every_right};
  const auto remote = region.remote<std::byte, to_read | to_write>();
  region.close();
  link.near_pair.post(write(remote).id(1).signaled(), read(remote).id(2).signaled()).check();
  CHECK(next_success(link.near_end.queue).id() == 1);
  CHECK(next_success(link.near_end.queue).id() == 2);
}
