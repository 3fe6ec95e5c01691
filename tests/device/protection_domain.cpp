// SPDX-License-Identifier: MIT
// Protection domains on the real device.
#include <set>
#include <vector>

#include "support.hpp"

using namespace adverb;

TEST_CASE("A protection domain is created and closed", "[ibv_alloc_pd][ibv_dealloc_pd]") {
  const context device = open_device();
  protection_domain domain{device};
  CHECK(domain);
  CHECK(domain.context().native_handle() == device.native_handle());
  domain.close();
  CHECK(!domain);
}

TEST_CASE("Closing a protection domain twice does nothing the second time") {
  const context device = open_device();
  protection_domain domain{device};
  domain.close();
  failure why;
  domain.close(why);
  CHECK(!why);
}

TEST_CASE("Many protection domains can exist at once, each with its own handle",
          "[ibv_alloc_pd][ibv_dealloc_pd]") {
  const context device = open_device();
  std::vector<protection_domain> domains;
  std::set<std::uint32_t> handles;
  for (int count = 0; count < 64; ++count) {
    domains.emplace_back(device);
    CHECK(handles.insert(domains.back().native_handle()->handle).second);
  }
}

TEST_CASE("Closing a protection domain fails while it is in use") {
  const context device = open_device();
  protection_domain domain{device};
  std::vector<std::byte> bytes(64);
  memory_region region{domain, bytes, access_right::local_write};
  failure why;
  domain.close(why);
  CHECK(why.code() == std::errc::device_or_resource_busy);
  CHECK(why.explanation() == "still in use by 1 memory region; destroy these first");
  region.close();
  domain.close();
  CHECK(!domain);
}
