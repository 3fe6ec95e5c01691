// SPDX-License-Identifier: MIT
// The order in which objects end, on the real device.
#include <optional>
#include <string>

#include <support/told_failures.hpp>

#include "support.hpp"

using namespace adverb;

TEST_CASE("Closing a domain with a live region fails and names the region", "[ibv_dealloc_pd]") {
  const context device = open_device();
  protection_domain domain{device};
  std::vector<std::byte> bytes(4096);
  std::optional<memory_region> region{std::in_place, domain, bytes};
  failure why;
  domain.close(why);
  CHECK(why.code() == std::errc::device_or_resource_busy);
  CHECK(why.verb() == "ibv_dealloc_pd");
  CHECK(why.explanation() == "still in use by 1 memory region; destroy these first");
  REQUIRE(domain);
  region.reset();
  domain.close(why);
  CHECK(!why);
  CHECK(!domain);
}

TEST_CASE("The kernel refuses to close a domain with an untracked region") {
  const context device = open_device();
  protection_domain domain{device};
  std::vector<std::byte> bytes(4096);
  ibv_mr* const hidden = ibv_reg_mr(domain.native_handle(), bytes.data(), bytes.size(), 0);
  REQUIRE(hidden != nullptr);
  failure why;
  domain.close(why);
  CHECK(why.code() == std::errc::device_or_resource_busy);
  CHECK(why.explanation() == "");
  REQUIRE(domain);
  REQUIRE(ibv_dereg_mr(hidden) == 0);
  domain.close();
}

TEST_CASE("Closing queues, channels and domains of live pairs fails") {
  loopback_options<transport::rc> options;
  options.with_channels = true;
  loopback<transport::rc> link{options};
  failure why;
  link.near_end.queue.close(why);
  CHECK(why.explanation() == "still in use by 1 queue pair; destroy these first");
  link.near_channel.close(why);
  CHECK(why.explanation() == "still in use by 1 completion queue; destroy these first");
  link.domain.close(why);
  CHECK(why.explanation() ==
        "still in use by 2 memory regions, 2 queue pairs; destroy these first");
  link.context.close(why);
  CHECK(why.explanation() ==
        "still in use by 1 protection domain, 2 completion channels, 2 completion queues; destroy "
        "these first");
  // Nothing was harmed.
  link.far_pair.post(receive()).check();
  link.near_pair.post(send().signaled()).check();
  next_success(link.near_end.queue);
}

TEST_CASE("A context destroyed before its children reports a failure and stays open",
          "[ibv_close_device]") {
  const told_failures told;
  protection_domain domain;
  ibv_context* left_open = nullptr;
  {
    const context device = open_device();
    left_open = device.native_handle();
    domain = protection_domain{device};
  }
  REQUIRE(told.messages().size() == 1);
  CHECK(told.messages()[0].find("ibv_close_device on ") == 0);
  CHECK(told.messages()[0].find("still in use by 1 protection domain; destroy these first") !=
        std::string::npos);
  domain.close();
  context adopted{adopt, left_open};
  adopted.close();
}

TEST_CASE("A hundred pairs are created and destroyed in random order") {
  const told_failures told;
  const context device = open_device();
  const protection_domain domain{device};
  const completion_queue queue{device, 16};
  std::vector<queue_pair<transport::rc, qp_state::reset>> pairs;
  for (int index = 0; index < 100; ++index)
    pairs.push_back(
        queue_pair<transport::rc>::create(domain, {.send_cq = queue, .recv_cq = queue}));
  for (std::size_t index = 0; index < pairs.size(); index += 2) pairs[index].close();
  pairs.erase(pairs.begin(), pairs.begin() + 50);
  pairs.clear();
  // A destructor that fails reports here.
  CHECK(told.messages().empty());
}

TEST_CASE("A released pair is not destroyed by its former owner") {
  const context device = open_device();
  const protection_domain domain{device};
  const completion_queue queue{device, 16};
  auto pair = queue_pair<transport::ud>::create(domain, {.send_cq = queue, .recv_cq = queue});
  ibv_qp* const native = pair.release();
  CHECK(!pair);
  CHECK(ibv_destroy_qp(native) == 0);
}

TEST_CASE("Every object can be closed explicitly, children first",
          "[ibv_destroy_qp][ibv_destroy_ah][ibv_dereg_mr][ibv_destroy_cq][ibv_destroy_comp_channel]"
          "[ibv_dealloc_pd][ibv_close_device]") {
  context device = open_device();
  protection_domain domain{device};
  std::vector<std::byte> bytes(4096);
  memory_region region{domain, bytes};
  completion_channel channel{device};
  completion_queue queue{device, 16, {.channel = channel}};
  auto fresh = queue_pair<transport::ud>::create(domain, {.send_cq = queue, .recv_cq = queue});
  auto pair = initialised(fresh);
  address_handle way{domain, pair.address_of(pair.endpoint())};
  pair.close();
  way.close();
  region.close();
  queue.close();
  channel.close();
  domain.close();
  device.close();
  CHECK(!pair);
  CHECK(!way);
  CHECK(!region);
  CHECK(!queue);
  CHECK(!channel);
  CHECK(!domain);
  CHECK(!device);
}
