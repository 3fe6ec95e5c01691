// SPDX-License-Identifier: MIT
// Provider buffers, with headers of rdma-core that have them. The functions of later libraries are
// defined here.
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <infiniband/verbs.h>

#include <adverb/adverb.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

#include "made_device.hpp"

using namespace adverb;

struct ibv_buf {
  ibv_pd* domain = nullptr;
  int descriptor = -1;
};

namespace {

struct registered {
  ibv_pd* domain;
  ibv_buf* buffer;
  void* address;
  std::size_t length;
  int access;
};

alignas(4096) std::array<std::byte, 8192> memory;
ibv_buf only_buffer;
ibv_mr only_region;
int failing = 0;
int allocated = 0;
int freed = 0;
registered last;

struct fixture : made_device {
  fixture() {
    failing = allocated = freed = 0;
    only_buffer.descriptor = -1;
  }
};

}  // namespace

extern "C" {
void* ibv_alloc_buf(ibv_pd* domain, std::size_t size, ibv_buf** buffer) {
  if (failing != 0) return failed(nullptr, failing);
  ++allocated;
  REQUIRE(size <= memory.size());
  only_buffer.domain = domain;
  *buffer = &only_buffer;
  return memory.data();
}
void ibv_free_buf(ibv_buf* buffer) {
  CHECK(buffer == &only_buffer);
  ++freed;
}
ibv_mr* ibv_reg_buf_mr(ibv_pd* domain, ibv_buf* buffer, void* address, std::size_t length,
                       int access) {
  if (failing != 0) return failed(nullptr, failing);
  last = {domain, buffer, address, length, access};
  only_region = {};
  only_region.pd = domain;
  only_region.context = domain->context;
  only_region.length = length;
  only_region.lkey = 0x33;
  return &only_region;
}
int ibv_export_buf_dmabuf_fd(ibv_buf* buffer) {
  return buffer->descriptor < 0 ? failed(-1, ENODATA) : buffer->descriptor;
}

// There is no device.
int ibv_dereg_mr(ibv_mr*) { return 0; }
}

TEST_CASE_METHOD(fixture, "A provider buffer is allocated and freed once",
                 "[ibv_alloc_buf][ibv_free_buf]") {
  {
    provider_buffer buffer{domain, 4096};
    CHECK(buffer.native_handle() == &only_buffer);
    CHECK(buffer.protection_domain() == domain);
    CHECK(buffer.bytes().data() == memory.data());
    CHECK(buffer.bytes().size() == 4096);
    CHECK(only_buffer.domain == &native_domain);

    provider_buffer moved = std::move(buffer);
    CHECK(buffer.bytes().empty());
    CHECK(freed == 0);
    buffer = std::move(moved);
    CHECK(detail::lifetime_registry::instance()
              .children_of(&native_domain)
              .of[static_cast<std::size_t>(object_kind::provider_buffer)] == 1);
  }
  CHECK(allocated == 1);
  CHECK(freed == 1);
  CHECK(detail::lifetime_registry::instance().children_of(&native_domain).none());

  const auto bytes = std::span{memory}.first(64);
  provider_buffer adopted{adopt, &only_buffer, domain, bytes};
  CHECK(adopted.release() == &only_buffer);
  CHECK(detail::lifetime_registry::instance().children_of(&native_domain).none());
  CHECK(freed == 1);

  CHECK(std::string{reported([] { failing = ENOMEM; },
                             [&](auto&... policy) {
                               const provider_buffer none{domain, 64, policy...};
                               CHECK(!none);
                             })
                        .what()} == "ibv_alloc_buf on made0: ENOMEM (Cannot allocate memory)");
}

TEST_CASE_METHOD(fixture, "A provider buffer is registered in its domain", "[ibv_reg_buf_mr]") {
  const provider_buffer buffer{domain, 8192};
  const memory_region region = memory_region::of_provider_buffer(
      buffer, access_right::local_write | access_right::remote_read);
  CHECK(last.domain == &native_domain);
  CHECK(last.buffer == &only_buffer);
  CHECK(last.address == memory.data());
  CHECK(last.length == 8192);
  CHECK(last.access == (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ));
  // The C struct of a dma-buf has an offset as its address.
  CHECK(region.device_address() == reinterpret_cast<std::uintptr_t>(memory.data()));
  CHECK(region.slice(16, 8).key() == lkey{0x33});

  CHECK(std::string{reported([] { failing = EINVAL; },
                             [&](auto&... policy) {
                               (void)memory_region::of_provider_buffer(
                                   buffer, access_right::remote_write, policy...);
                             })
                        .what()} ==
        "ibv_reg_buf_mr on made0: EINVAL (Invalid argument); remote_write needs local_write too");
}

TEST_CASE_METHOD(fixture, "A provider buffer is exported if it is a dma-buf",
                 "[ibv_export_buf_dmabuf_fd]") {
  const provider_buffer buffer{domain, 64};
  CHECK(std::string{reported([&](auto&... policy) {
                      const int descriptor = buffer.export_dmabuf(policy...);
                      CHECK(descriptor == -1);
                    }).what()} ==
        "ibv_export_buf_dmabuf_fd on made0: ENODATA (No data available); the provider allocated "
        "ordinary memory, not a dma-buf");
  only_buffer.descriptor = 7;
  CHECK(buffer.export_dmabuf() == 7);
  const provider_buffer_ref viewed{adopt, &only_buffer, domain, {}};
  std::error_code code;
  CHECK(viewed.export_dmabuf(code) == 7);
  CHECK(!code);
}
