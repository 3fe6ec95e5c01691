// SPDX-License-Identifier: MIT
// The kinds of registration besides the plain one, and why any of them fails.
#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include <adverb/memory/advice.hpp>
#include <adverb/memory/memory_region.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

#include "fake.hpp"
#include "log.hpp"

namespace {

namespace called = fake::called;
using adverb::access_right;
using adverb::access_rights;
using adverb::memory_region;

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

struct alignas(4096) page_of_memory {
  std::array<std::byte, 4096> bytes{};
};
page_of_memory whole_page;

struct fixture {
  fake::machine machine;
  adverb::context context = adverb::open_device();
  adverb::protection_domain domain{context};
  std::span<std::byte> memory{whole_page.bytes};

  fixture() { machine.name("page", whole_page.bytes); }

  /// The explanation of a registration that the device answers with this errno.
  [[nodiscard]] std::string said(int error, access_rights rights) {
    return said(error, rights, memory);
  }
  [[nodiscard]] std::string said(int error, access_rights rights, std::span<std::byte> range) {
    return std::string{reported([&] { machine.fail<called::reg_mr>(error); },
                                [&](auto&&... policy) {
                                  const memory_region region{domain, range, rights, policy...};
                                })
                           .explanation()};
  }
};

}  // namespace

TEST_CASE_METHOD(fixture, "zero-based memory has the device address 0", "[ibv_reg_mr_iova]") {
  const memory_region region{domain, memory, access_right::local_write | access_right::zero_based};
  CHECK(machine.line() ==
        "ibv_reg_mr pd0 addr=page length=4096 iova=0x0 access=LOCAL_WRITE|ZERO_BASED");
  CHECK(region.device_address() == 0);
  CHECK(region.slice(8, 8).address() == 8);
}

TEST_CASE_METHOD(fixture, "the whole address space can be registered with on-demand paging",
                 "[ibv_reg_mr]") {
  const auto region = memory_region::of_whole_address_space(
      domain, access_right::local_write | access_right::remote_read);
  CHECK(machine.line() ==
        "ibv_reg_mr pd0 addr=null length=18446744073709551615 "
        "access=LOCAL_WRITE|REMOTE_READ|ON_DEMAND");

  std::vector<std::uint32_t> values(4);
  const adverb::mutable_buffer buffer = region.buffer_of(std::span{values}.subspan(1));
  CHECK(buffer.address() == address_of(&values[1]));
  CHECK(buffer.size() == 12);
  CHECK(buffer.key() == region.lkey());
  const auto remote = region.remote<std::byte, access_right::remote_read>();
  CHECK(remote.slice(address_of(values.data()), 16).address() == address_of(values.data()));
}

TEST_CASE_METHOD(fixture, "buffer_of accepts only memory inside the region") {
  const auto region =
      memory_region::with_device_address(domain, memory, 0x7000, access_right::local_write);
  CHECK(region.buffer_of(memory.subspan(16, 8)).address() == 0x7010);
  CHECK(region.const_buffer_of(std::span<const std::byte>{memory}.subspan(16, 8)).address() ==
        0x7010);
  std::array<std::byte, 8> elsewhere{};
  CHECK(reported([&](auto&&... policy) {
          (void)region.buffer_of(std::span{elsewhere}, policy...);
        }).code() == std::errc::result_out_of_range);
  const auto second_half = memory_region{domain, memory.subspan(2048)};
  CHECK(reported([&](auto&&... policy) {
          (void)second_half.buffer_of(memory.subspan(2032, 32), policy...);
        }).explanation() ==
        "32 bytes from 16 before its start are not inside the 2048 bytes of the region");
  CHECK(reported([&](auto&&... policy) {
          (void)region.const_buffer_of(std::span{memory.data(), 4097}, policy...);
        }).explanation() == "4097 bytes from 0 are not inside the 4096 bytes of the region");
  CHECK(reported([&](auto&&... policy) {
          (void)memory_region{}.buffer_of(memory, policy...);
        }).explanation() == "the memory region is empty: moved from, closed, or never created");
}

TEST_CASE_METHOD(fixture, "memory of a dma-buf can be registered", "[ibv_reg_dmabuf_mr]") {
  const auto region = memory_region::of_dmabuf(
      domain, {.file_descriptor = 7, .offset = 8192, .length = 4096, .device_address = 0x10000},
      access_right::local_write | access_right::remote_write);
  CHECK(region.size() == 4096);
  CHECK(region.slice(16, 8).address() == 0x10010);

  const auto plain =
      memory_region::of_dmabuf(domain, {.file_descriptor = 7, .offset = 8192, .length = 4096});
  CHECK_THAT(machine.lines<called::reg_dmabuf_mr>(), is_log(R"(
    ibv_reg_dmabuf_mr pd0 offset=8192 length=4096 iova=0x10000 fd=7
      access=LOCAL_WRITE|REMOTE_WRITE
    ibv_reg_dmabuf_mr pd0 offset=8192 length=4096 iova=0x2000 fd=7 access=LOCAL_WRITE)"));
  CHECK(plain.slice(0, 8).address() == 8192);
}

TEST_CASE_METHOD(fixture, "a failed registration of a dma-buf is explained") {
  const auto said_of = [&](int error, const adverb::dmabuf_range& range) {
    return std::string{reported([&] { machine.fail<called::reg_dmabuf_mr>(error); },
                                [&](auto&&... policy) {
                                  (void)memory_region::of_dmabuf(
                                      domain, range, access_right::local_write, policy...);
                                })
                           .what()};
  };
  CHECK(said_of(EOPNOTSUPP, {.file_descriptor = 7, .offset = 0, .length = 64}) ==
        "ibv_reg_dmabuf_mr on fake0: EOPNOTSUPP (Operation not supported); "
        "fake0 has no registration of dma-buf memory");
  CHECK(said_of(EINVAL, {.file_descriptor = 7, .offset = 8, .length = 64, .device_address = 0}) ==
        "ibv_reg_dmabuf_mr on fake0: EINVAL (Invalid argument); "
        "the offsets within a page differ: 8 bytes for the memory, 0 for its device address");
}

TEST_CASE_METHOD(fixture, "a null region has no memory", "[ibv_alloc_null_mr]") {
  const auto region = memory_region::null(domain);
  CHECK(machine.line() == "ibv_alloc_null_mr pd0");
  CHECK(region.slice(0, 4096).address() == 0);
  CHECK(region.slice(0, 4096).key() == region.lkey());
  CHECK(reported([&](auto&&... policy) { (void)region.remote(policy...); }).code() ==
        std::errc::permission_denied);

  CHECK(
      std::string{reported([&] { machine.fail<called::alloc_null_mr>(EOPNOTSUPP); },
                           [&](auto&&... policy) { (void)memory_region::null(domain, policy...); })
                      .what()} ==
      "ibv_alloc_null_mr on fake0: EOPNOTSUPP (Operation not supported); "
      "fake0 has no null memory regions");
}

TEST_CASE_METHOD(fixture, "a failed registration names the features that the device lacks") {
  machine.devices[0].extended.odp_caps.general_caps = 0;
  machine.devices[0].attributes.atomic_cap = IBV_ATOMIC_NONE;
  machine.devices[0].attributes.device_cap_flags = 0;
  using enum access_right;
  CHECK(said(EOPNOTSUPP, on_demand) == "fake0 has no on-demand paging");
  CHECK(said(EINVAL, window_bind) == "fake0 has no memory windows");
  CHECK(said(EINVAL, local_write | remote_atomic) == "fake0 has no atomic operations");
  CHECK(said(EINVAL, flush_global) == "fake0 has no flushes to global visibility");
  CHECK(said(EINVAL, flush_persistent | on_demand) ==
        "fake0 has no on-demand paging; fake0 has no flushes to persistence");
  CHECK(said(EINVAL, local_write).empty());

  machine.devices[0].extended.device_cap_flags_ex =
      static_cast<std::uint64_t>(adverb::device_capability::flush_persistent);
  CHECK(said(EINVAL, flush_persistent) ==
        "flush_persistent requires persistent memory, such as device DAX (/dev/dax0.0)");
}

TEST_CASE_METHOD(fixture, "a failed registration names no feature that the device has") {
  machine.devices[0].attributes.device_cap_flags = IBV_DEVICE_MEM_WINDOW_TYPE_2B;
  using enum access_right;
  CHECK(said(EINVAL, on_demand | window_bind | remote_atomic | local_write | huge_pages).empty());
}

TEST_CASE_METHOD(fixture, "a failure distinguishes on-demand paging of whole address spaces") {
  machine.devices[0].extended.odp_caps.general_caps = IBV_ODP_SUPPORT;
  CHECK(reported([&] { machine.fail<called::reg_mr>(EINVAL); },
                 [&](auto&&... policy) {
                   (void)memory_region::of_whole_address_space(domain, access_right::local_write,
                                                               policy...);
                 })
            .explanation() == "fake0 has no on-demand paging of the whole address space");
}

TEST_CASE_METHOD(fixture, "a failed registration names a length beyond the device's limit") {
  machine.devices[0].attributes.max_mr_size = 4095;
  CHECK(said(EINVAL, access_right::local_write) == "the length is 4096, the device allows 4095");
}

TEST_CASE_METHOD(fixture, "a failed registration names the limit on the number of regions") {
  machine.devices[0].attributes.max_mr = 2;
  const memory_region first{domain, memory};
  const std::string with_one = said(ENOMEM, access_right::local_write);
  const memory_region second{domain, memory};
  CHECK(said(ENOMEM, access_right::local_write) ==
        "the domain has 2 memory regions, and the device allows 2 in all");
  CHECK(said(EINVAL, access_right::local_write).empty());
  CHECK(with_one.find("regions") == std::string::npos);
}

TEST_CASE_METHOD(fixture, "a failed registration names a different page offset") {
  CHECK(said(EINVAL, access_right::zero_based, memory.subspan(24)) ==
        "the offsets within a page differ: 24 bytes for the memory, 0 for its device address");
}

TEST_CASE_METHOD(fixture, "a failed registration names several problems") {
  CHECK(said(EINVAL, access_right::remote_write | access_right::huge_pages, memory.first(0)) ==
        "the length is 0; remote_write needs local_write too; "
        "huge_pages requires on_demand");
}

TEST_CASE_METHOD(fixture, "prefetch passes the advice for the memory", "[ibv_advise_mr]") {
  const memory_region region{domain, memory, access_right::local_write | access_right::on_demand};
  const std::array buffers{region.slice(0, 16), region.slice(64, 32)};
  prefetch(domain, buffers);
  prefetch_for_writing(domain, std::span{buffers}.first(1), {.flush = true});
  prefetch_without_faulting(domain, std::vector{region.const_slice(8, 8)});

  CHECK_THAT(machine.lines<called::advise_mr>(), is_log(R"(
    ibv_advise_mr pd0 PREFETCH flags=0 [mr0+0 16][mr0+64 32]
    ibv_advise_mr pd0 PREFETCH_WRITE flags=FLUSH [mr0+0 16]
    ibv_advise_mr pd0 PREFETCH_NO_FAULT flags=0 [mr0+8 8])"));
}

TEST_CASE_METHOD(fixture, "a failed prefetch is explained") {
  const memory_region region{domain, memory};
  const std::array buffers{region.slice(0, 16)};
  const auto refused_with = [&](int error) {
    return reported([&] { machine.fail<called::advise_mr>(error); },
                    [&](auto&&... policy) { prefetch(domain, buffers, {}, policy...); });
  };
  CHECK(std::string{refused_with(EFAULT).what()} ==
        "ibv_advise_mr on fake0 pd 1: EFAULT (Bad address); possible causes: a buffer is not "
        "inside its region or "
        "not mapped, or its region is not on_demand");
  CHECK(refused_with(EPERM).explanation() ==
        "possible causes: a buffer belongs to another domain, or its region lacks local_write for "
        "a write");
  CHECK(refused_with(ENOENT).explanation() ==
        "possible causes: the region of a buffer is not on_demand, or no longer exists");
  CHECK(refused_with(EOPNOTSUPP).explanation() ==
        "fake0 has no advice about memory (on-demand paging)");
  const adverb::protection_domain none;
  CHECK(reported([&](auto&&... policy) { prefetch(none, buffers, {}, policy...); }).explanation() ==
        "the protection domain is empty: moved from, closed, or never created");
}
