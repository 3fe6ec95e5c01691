// SPDX-License-Identifier: MIT
// Memory that the provider allocates. Soft-RoCE takes the default of rdma-core 64 and later, which
// is ordinary memory.
#include <algorithm>
#include <system_error>

#include <unistd.h>

#include "support.hpp"

using namespace adverb;

TEST_CASE("A peer writes into a provider buffer",
          "[optional][ibv_alloc_buf][ibv_free_buf][ibv_reg_buf_mr]"
          "[ibv_export_buf_dmabuf_fd]") {
  loopback<transport::rc> link;
  std::error_code code;
  const provider_buffer buffer{link.domain, 4096, code};
  if (code == std::errc::operation_not_supported) {
    tell_skip("provider buffers", "the headers of rdma-core lack them");
    return;
  }
  REQUIRE(!code);
  const memory_region region = memory_region::of_provider_buffer(buffer, every_right);
  link.near_end.fill(0, 4096, 5);
  link.near_pair
      .post(write(region.remote<std::byte, access_right::remote_write>(),
                  link.near_end.region.slice(0, 4096))
                .signaled())
      .check();
  next_success(link.near_end.queue);
  CHECK(std::equal(buffer.bytes().begin(), buffer.bytes().end(), link.near_end.bytes.begin()));

  const int descriptor = buffer.export_dmabuf(code);
  if (is_soft_roce(link.context)) CHECK(code == std::errc::no_message_available);
  if (descriptor >= 0) CHECK(close(descriptor) == 0);
}
