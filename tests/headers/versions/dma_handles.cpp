// SPDX-License-Identifier: MIT
// DMA handles, regions that use them, and exported device memory, with headers of rdma-core that
// have these. The functions of later libraries are defined here.
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <infiniband/verbs.h>

#include <adverb/adverb.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

#include "made_device.hpp"

using namespace adverb;

namespace {

ibv_dmah only_handle;
ibv_mr only_region;
int failing = 0;
int freed = 0;
ibv_dmah_init_attr hints;
ibv_mr_init_attr registered;

struct fixture : made_device {
  fixture() { failing = freed = 0; }
};

}  // namespace

extern "C" {
ibv_dmah* ibv_alloc_dmah(ibv_context* context, ibv_dmah_init_attr* attributes) {
  if (failing != 0) return failed<ibv_dmah*>(nullptr, failing);
  hints = *attributes;
  only_handle.context = context;
  return &only_handle;
}
int ibv_dealloc_dmah(ibv_dmah* handle) {
  CHECK(handle == &only_handle);
  if (failing != 0) return failing;
  ++freed;
  return 0;
}
ibv_mr* ibv_reg_mr_ex(ibv_pd* domain, ibv_mr_init_attr* attributes) {
  if (failing != 0) return failed<ibv_mr*>(nullptr, failing);
  registered = *attributes;
  only_region = {};
  only_region.pd = domain;
  only_region.context = domain->context;
  only_region.addr = attributes->addr;
  only_region.length = attributes->length;
  only_region.lkey = 0x44;
  return &only_region;
}
int ibv_dm_export_dmabuf_fd(ibv_dm*) { return failing != 0 ? failed(-1, failing) : 9; }

// There is no device.
int ibv_dereg_mr(ibv_mr*) { return 0; }
}

TEST_CASE_METHOD(fixture, "A DMA handle has the hints that are given",
                 "[ibv_alloc_dmah][ibv_dealloc_dmah]") {
  {
    dma_handle handle{context};
    CHECK(handle.context() == context);
    CHECK(hints.comp_mask == 0);
    const dma_handle moved = std::move(handle);
    CHECK(!handle);
    CHECK(detail::lifetime_registry::instance()
              .children_of(&native_context)
              .of[static_cast<std::size_t>(object_kind::dma_handle)] == 1);
  }
  CHECK(freed == 1);
  CHECK(detail::lifetime_registry::instance().children_of(&native_context).none());

  const dma_handle handle{context,
                          {.processor = 3,
                           .processing_hint = std::uint8_t{2},
                           .memory = hinted_memory::persistent_memory}};
  CHECK(hints.comp_mask == 7);
  CHECK(hints.cpu_id == 3);
  CHECK(hints.ph == 2);
  CHECK(hints.tph_mem_type == 1);
  const dma_handle of_processor{context, {.processor = 1}};
  CHECK(hints.comp_mask == 1);
}

TEST_CASE_METHOD(fixture, "A DMA handle that is not allocated or in use has a reason",
                 "[ibv_alloc_dmah][ibv_dealloc_dmah]") {
  const auto refused = [&](int error) {
    return std::string{reported([error] { failing = error; },
                                [&](auto&... policy) {
                                  const dma_handle none{context, policy...};
                                  CHECK(!none);
                                })
                           .what()};
  };
  CHECK(refused(EOPNOTSUPP) ==
        "ibv_alloc_dmah on made0: EOPNOTSUPP (Operation not supported); made0 has no DMA handles");
  CHECK(refused(EINVAL) ==
        "ibv_alloc_dmah on made0: EINVAL (Invalid argument); possible causes: the device does not "
        "take one of the hints; there is no such processor");
  failing = 0;
  dma_handle handle{context};
  CHECK(std::string{
            reported([] { failing = EBUSY; }, [&](auto&... policy) { handle.close(policy...); })
                .what()} ==
        "ibv_dealloc_dmah on made0 dmah: EBUSY (Device or resource busy); possible causes: a "
        "memory region uses it: destroy that first");
  failing = 0;
}

TEST_CASE_METHOD(fixture, "Memory is registered with a DMA handle", "[ibv_reg_mr_ex]") {
  const dma_handle handle{context};
  std::vector<std::uint64_t> numbers(8);
  const memory_region region = memory_region::with_dma_handle(
      domain, numbers, handle, access_right::local_write | access_right::remote_read);
  CHECK(registered.comp_mask == (1 | 2 | 16));
  CHECK(registered.addr == numbers.data());
  CHECK(registered.iova == reinterpret_cast<std::uintptr_t>(numbers.data()));
  CHECK(registered.length == 64);
  CHECK(registered.access == (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ));
  CHECK(registered.dmah == &only_handle);
  CHECK(region.device_address() == registered.iova);
  CHECK(region.slice(8, 8).key() == lkey{0x44});

  (void)memory_region::with_dma_handle(domain, numbers, handle,
                                       access_right::local_write | access_right::zero_based);
  CHECK(registered.addr == numbers.data());
  CHECK(registered.iova == 0);

  const memory_region of_dmabuf = memory_region::with_dma_handle(
      domain,
      dmabuf_range{.file_descriptor = 5, .offset = 4096, .length = 128, .device_address = 0x10000},
      handle);
  CHECK(registered.comp_mask == (1 | 4 | 8 | 16));
  CHECK(registered.fd == 5);
  CHECK(registered.fd_offset == 4096);
  CHECK(registered.length == 128);
  CHECK(of_dmabuf.device_address() == 0x10000);
}

TEST_CASE_METHOD(fixture, "A refused registration with a DMA handle has a reason",
                 "[ibv_reg_mr_ex]") {
  const dma_handle handle{context};
  std::array<std::byte, 64> bytes{};
  const auto refused = [&](int error, access_rights rights) {
    return std::string{reported([error] { failing = error; },
                                [&](auto&... policy) {
                                  (void)memory_region::with_dma_handle(domain, bytes, handle,
                                                                       rights, policy...);
                                })
                           .what()};
  };
  CHECK(refused(EINVAL, access_right::remote_write) ==
        "ibv_reg_mr_ex on made0: EINVAL (Invalid argument); remote_write needs local_write too");
  CHECK(refused(EOPNOTSUPP, access_right::local_write) ==
        "ibv_reg_mr_ex on made0: EOPNOTSUPP (Operation not supported); made0 has no registration "
        "with DMA handles");
  failing = 0;
  CHECK(reported([&](auto&... policy) {
          (void)memory_region::with_dma_handle(domain, bytes, dma_handle_ref{},
                                               access_right::local_write, policy...);
        }).explanation() == "the DMA handle is empty: moved from, closed, or never created");
}

TEST_CASE_METHOD(fixture, "Device memory is exported as a dma-buf", "[ibv_dm_export_dmabuf_fd]") {
  ibv_dm native{};
  native.context = &native_context;
  const device_memory_ref memory{adopt, &native, 64};
  CHECK(memory.export_dmabuf() == 9);
  CHECK(std::string{reported([] { failing = EOPNOTSUPP; },
                             [&](auto&... policy) {
                               const int none = memory.export_dmabuf(policy...);
                               CHECK(none == -1);
                             })
                        .what()} ==
        "ibv_dm_export_dmabuf_fd on made0 dm: EOPNOTSUPP (Operation not supported); made0 has no "
        "device memory that can be exported");
  failing = 0;
}
