// SPDX-License-Identifier: MIT
// Messages over paths of every MTU.
#include <cstddef>
#include <cstdint>
#include <optional>

#include "support.hpp"

using namespace adverb;

namespace {

namespace traffic_mtus {

/// The number of packets that Soft-RoCE has sent.
[[nodiscard]] std::optional<std::uint64_t> packets_sent(context_ref context) {
  return device_counters(context, {"sent_pkts"});
}

template <transport Transport>
void check_mtu(mtu path) {
  const auto size = static_cast<std::size_t>(bytes_of(path));
  INFO("an MTU of " << size);
  loopback_options<Transport> options;
  options.connect.path_mtu = path;
  loopback<Transport> link{options};
  CHECK(link.near_pair.query().path_mtu() == path);
  unsigned seed = 0;
  for (const std::size_t length : {std::size_t{1}, size - 1, size, size + 1, 3 * size + 5}) {
    INFO(length << " bytes");
    const auto from = link.near_end.region.slice(0, length);
    link.near_end.fill(0, length, ++seed);
    link.far_pair.post(receive(link.far_end.region.slice(0, length))).check();
    link.near_pair.post(send(from).signaled()).check();
    next_success(link.near_end.queue);
    CHECK(next_success(link.far_end.queue).success().receive().length() == length);
    CHECK(link.far_end.holds(0, length, seed));

    link.near_end.fill(0, length, ++seed);
    link.far_pair.post(receive()).check();
    link.near_pair
        .post(write_with_immediate(link.far_end.remote().slice(16384, length), immediate{3}, from)
                  .signaled())
        .check();
    next_success(link.near_end.queue);
    next_success(link.far_end.queue);
    CHECK(link.far_end.holds(16384, length, seed));
    if constexpr (Transport == transport::rc) {
      link.near_pair
          .post(read(link.far_end.remote().slice(16384, length),
                     link.near_end.region.slice(16384, length))
                    .signaled())
          .check();
      next_success(link.near_end.queue);
      CHECK(link.near_end.holds(16384, length, seed));
    }
  }
  const auto before = packets_sent(link.context);
  if constexpr (Transport == transport::uc) {
    link.near_pair
        .post(write(link.far_end.remote().slice(0, 8192), link.near_end.region.slice(0, 8192))
                  .signaled())
        .check();
    next_success(link.near_end.queue);
    const auto after = packets_sent(link.context);
    if (before && after) CHECK(*after - *before == 8192 / size);
  }
}

template <transport Transport>
void check_every_mtu() {
  const mtu active = open_device().query_port(first_port).active_mtu();
  for (const mtu each :
       {mtu::bytes_256, mtu::bytes_512, mtu::bytes_1024, mtu::bytes_2048, mtu::bytes_4096})
    if (each <= active) check_mtu<Transport>(each);
}

}  // namespace traffic_mtus

}  // namespace

TEST_CASE("RC messages, writes and reads around the size of a packet arrive over every MTU") {
  traffic_mtus::check_every_mtu<transport::rc>();
}

TEST_CASE("UC messages and writes are cut into packets of the MTU of the path") {
  traffic_mtus::check_every_mtu<transport::uc>();
}
