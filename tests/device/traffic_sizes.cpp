// SPDX-License-Identifier: MIT
// Messages of all sizes.
#include <algorithm>

#include "support.hpp"

using namespace adverb;

namespace {

constexpr std::size_t largest = 1U << 20;

/// More memory than a loopback has by itself.
struct large_memory {
  explicit large_memory(protection_domain_ref domain, access_rights rights = every_right)
      : region{domain, bytes, rights} {}

  std::vector<std::byte> bytes = std::vector<std::byte>(largest + 4096);
  memory_region region;

  void fill(std::size_t length, unsigned seed) {
    for (std::size_t index = 0; index < length; ++index)
      bytes[index] = static_cast<std::byte>(seed + index * 13 + index / 251);
  }
};

std::vector<std::size_t> sizes(std::size_t mtu) {
  return {0, 1, mtu - 1, mtu, mtu + 1, 3 * mtu + 7, largest};
}

/// Sends this much, and finds it there whole, with nothing written behind it.
template <transport Transport>
void check_message(const loopback<Transport>& link, large_memory& near, large_memory& far,
                   std::size_t size) {
  CAPTURE(size);
  near.fill(size, static_cast<unsigned>(size));
  std::fill(far.bytes.begin(), far.bytes.end(), std::byte{0xee});
  link.far_pair.post(receive(far.region.buffer()).id(size)).check();
  link.near_pair.post(send(near.region.slice(0, size)).id(size).signaled()).check();
  CHECK(next_success(link.near_end.queue).id() == size);
  const completion received = next_success(link.far_end.queue);
  CHECK(received.id() == size);
  CHECK(received.success().receive().length() == size);
  const auto end = near.bytes.begin() + static_cast<std::ptrdiff_t>(size);
  CHECK(std::equal(near.bytes.begin(), end, far.bytes.begin()));
  CHECK(far.bytes[size] == std::byte{0xee});
}

template <transport Transport>
void check_sizes() {
  const loopback<Transport> link;
  large_memory near{link.domain};
  large_memory far{link.domain};
  for (const std::size_t size : sizes(bytes_of(link.near_endpoint.mtu)))
    check_message(link, near, far, size);
}

template <transport Transport>
void check_writes() {
  const loopback<Transport> link;
  large_memory near{link.domain};
  large_memory far{link.domain};
  for (const std::size_t size : sizes(bytes_of(link.near_endpoint.mtu))) {
    CAPTURE(size);
    near.fill(size, 7);
    std::fill(far.bytes.begin(), far.bytes.end(), std::byte{0xee});
    const auto remote = far.region.template remote<std::byte, access_right::remote_write>();
    // The announcement comes after the data, and both arrive in order.
    link.far_pair.post(receive()).check();
    link.near_pair
        .post(write(remote, near.region.slice(0, size)),
              write_with_immediate(remote, immediate{1}).signaled())
        .check();
    next_success(link.near_end.queue);
    CHECK(next_success(link.far_end.queue).success().receive().announces_write());
    const auto end = near.bytes.begin() + static_cast<std::ptrdiff_t>(size);
    CHECK(std::equal(near.bytes.begin(), end, far.bytes.begin()));
    CHECK(far.bytes[size] == std::byte{0xee});
  }
}

/// Datagrams have to fit into one packet.
void check_datagram(const loopback<transport::ud>& link, const datagram_destination& there,
                    large_memory& near, large_memory& far, std::size_t size) {
  CAPTURE(size);
  near.fill(size, static_cast<unsigned>(size));
  std::fill(far.bytes.begin(), far.bytes.end(), std::byte{0xee});
  link.far_pair.post(receive(far.region.slice(0, 8192)).id(size)).check();
  link.near_pair.post(send(near.region.slice(0, size)).to(there).id(size).signaled()).check();
  CHECK(next_success(link.near_end.queue).id() == size);
  const completion received = next_success(link.far_end.queue);
  CHECK(received.id() == size);
  CHECK(received.success().receive().length() == size + 40);
  const auto end = near.bytes.begin() + static_cast<std::ptrdiff_t>(size);
  CHECK(std::equal(near.bytes.begin(), end, far.bytes.begin() + 40));
  CHECK(far.bytes[size + 40] == std::byte{0xee});
}

/// Every right, and the hint that the order of bytes does not matter.
constexpr access_rights relaxed = every_right | access_right::relaxed_ordering;

}  // namespace

TEST_CASE("RC messages of every size arrive completely",
          "[ibv_post_send][ibv_post_recv][ibv_poll_cq]") {
  check_sizes<transport::rc>();
}

TEST_CASE("UC messages of every size arrive completely",
          "[ibv_post_send][ibv_post_recv][ibv_poll_cq]") {
  check_sizes<transport::uc>();
}

TEST_CASE("RC writes of every size arrive completely before their announcement") {
  check_writes<transport::rc>();
}

TEST_CASE("UC writes of every size arrive completely before their announcement") {
  check_writes<transport::uc>();
}

TEST_CASE("RC reads of every size arrive completely") {
  const loopback<transport::rc> link;
  large_memory near{link.domain};
  large_memory far{link.domain};
  for (const std::size_t size : sizes(bytes_of(link.near_endpoint.mtu))) {
    CAPTURE(size);
    far.fill(size, 3);
    std::fill(near.bytes.begin(), near.bytes.end(), std::byte{0xee});
    link.near_pair
        .post(read(far.region.remote<std::byte, access_right::remote_read>(),
                   near.region.slice(0, size))
                  .signaled())
        .check();
    CHECK(next_success(link.near_end.queue).success().opcode() == completion_opcode::read);
    const auto end = far.bytes.begin() + static_cast<std::ptrdiff_t>(size);
    CHECK(std::equal(far.bytes.begin(), end, near.bytes.begin()));
    CHECK(near.bytes[size] == std::byte{0xee});
  }
}

TEST_CASE("UD messages of up to one packet arrive completely",
          "[ibv_post_send][ibv_post_recv][ibv_poll_cq]") {
  const loopback<transport::ud> link;
  const address_handle way{link.domain, link.to_far};
  const datagram_destination there{way, link.far_endpoint.number, link.far_endpoint.queue_key};
  large_memory near{link.domain};
  large_memory far{link.domain};
  const std::size_t mtu = bytes_of(link.near_endpoint.mtu);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, mtu - 1, mtu})
    check_datagram(link, there, near, far, size);
}

TEST_CASE("A UD message of more than one packet is not sent") {
  const loopback<transport::ud> link;
  const address_handle way{link.domain, link.to_far};
  const datagram_destination there{way, link.far_endpoint.number, link.far_endpoint.queue_key};
  const std::size_t mtu = bytes_of(link.near_endpoint.mtu);
  link.far_pair.post(receive(link.far_end.region.slice(0, 8192)).id(1)).check();
  link.near_pair.post(send(link.near_end.region.slice(0, mtu + 1)).to(there).signaled()).check();
  const completion sent = next_completion(link.near_end.queue);
  if (holds(device_facts::too_long_datagram_is_not_reported, link.context))
    CHECK(sent.success());
  else
    CHECK((sent.success() || sent.status() == completion_status::local_length_error));
  if (!sent.success()) return;
  link.near_pair.post(send(link.near_end.region.slice(0, 5)).to(there).signaled()).check();
  next_success(link.near_end.queue);
  CHECK(next_success(link.far_end.queue).success().receive().length() == 45);
}

TEST_CASE("RC messages arrive between regions of relaxed ordering") {
  const loopback<transport::rc> link;
  large_memory near{link.domain, relaxed};
  large_memory far{link.domain, relaxed};
  for (const std::size_t size : {std::size_t{1}, std::size_t{5000}, largest})
    check_message(link, near, far, size);
}

TEST_CASE("UD messages arrive between regions of relaxed ordering") {
  const loopback<transport::ud> link;
  const address_handle way{link.domain, link.to_far};
  const datagram_destination there{way, link.far_endpoint.number, link.far_endpoint.queue_key};
  large_memory near{link.domain, relaxed};
  large_memory far{link.domain, relaxed};
  for (const std::size_t size : {std::size_t{1}, std::size_t{1000}})
    check_datagram(link, there, near, far, size);
}
