// SPDX-License-Identifier: MIT
// Device memory: allocated, copied to and from, registered.
#include <array>
#include <cerrno>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <adverb/memory/memory_region.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

#include "fake.hpp"
#include "log.hpp"

namespace {

namespace called = fake::called;
using adverb::access_right;
using adverb::device_memory;
using adverb::memory_region;

struct fixture {
  fake::machine machine;
  adverb::context context = adverb::open_device();
  adverb::protection_domain domain{context};
};

}  // namespace

TEST_CASE_METHOD(fixture, "device memory is allocated and freed", "[ibv_alloc_dm][ibv_free_dm]") {
  {
    const device_memory memory{context, 4096, {.alignment = 64}};
    CHECK(memory.size() == 4096);
    CHECK(memory.context().native_handle() == context.native_handle());
    CHECK(memory.handle() == adverb::device_memory_handle{memory.native_handle()->handle});
    // The program requests no alignment here.
    const device_memory plain{context, 16};
  }
  CHECK_THAT((machine.lines<called::alloc_dm, called::free_dm>()), is_log(R"(
    ibv_alloc_dm ctx0 length=4096 log_align_req=6
    ibv_alloc_dm ctx0 length=16 log_align_req=0
    ibv_free_dm dm1
    ibv_free_dm dm0)"));
}

TEST_CASE_METHOD(fixture, "a context that is closed before its device memories names them") {
  const device_memory first{context, 16};
  const device_memory second{context, 16};
  adverb::failure why;
  context.close(why);
  CHECK(why.explanation() ==
        "still in use by 1 protection domain, 2 device memories; destroy these first");
}

TEST_CASE_METHOD(fixture, "allocating device memory fails with a reason") {
  const auto said = [&](int error, std::size_t size, std::size_t alignment = 1) {
    return std::string{reported([&] { machine.fail<called::alloc_dm>(error); },
                                [&](auto&&... policy) {
                                  const device_memory made{
                                      context, size, {.alignment = alignment}, policy...};
                                  CHECK(!made);
                                })
                           .explanation()};
  };
  CHECK(said(EINVAL, 2U << 20) == "the size is 2097152, the device allows 1048576");
  CHECK(said(EINVAL, 0) == "the size is 0");
  CHECK(said(ENOMEM, 4096) == "the device has 1048576 bytes in total, for all its users");
  CHECK(said(EINVAL, 4096).empty());
  const std::size_t calls = machine.count<called::alloc_dm>();
  CHECK(said(EINVAL, 4096, 48) == "the alignment is not a power of two");
  CHECK(said(EINVAL, 4096, 0) == "the alignment is not a power of two");
  CHECK(machine.count<called::alloc_dm>() == calls);
  machine.fail_nothing();

  machine.devices[0].extended.max_dm_size = 0;
  CHECK(said(EOPNOTSUPP, 4096) == "fake0 has no device memory");
  CHECK(machine.live_objects() == 2);
}

TEST_CASE_METHOD(fixture, "store and load copy values to device memory and back",
                 "[ibv_memcpy_to_dm][ibv_memcpy_from_dm]") {
  const device_memory memory{context, 64};
  const std::vector<std::uint32_t> values{1, 2, 3};
  std::array<std::uint32_t, 3> found{};
  machine.name("values", values);
  machine.name("found", found);
  machine.forget_calls();
  memory.store(8, values);
  memory.load(8, found);
  CHECK(std::vector<std::uint32_t>(found.begin(), found.end()) == values);
  CHECK_THAT(machine.lines(), is_log(R"(
    ibv_memcpy_to_dm dm0 dm_offset=8 host_addr=values length=12
    ibv_memcpy_from_dm host_addr=found dm0 dm_offset=8 length=12)"));

  adverb::failure why;
  memory.load(12, std::span{found}.first(1), why);
  CHECK_FALSE(why);
  CHECK(found[0] == 2);
}

TEST_CASE_METHOD(fixture, "a copy beyond the device memory fails without a call") {
  const device_memory memory{context, 64};
  std::array<std::uint64_t, 2> values{};
  CHECK(std::string{
            reported([&](auto&&... policy) { memory.store(56, values, policy...); }).what()} ==
        "ibv_memcpy_to_dm on fake0 dm 2: ERANGE (Numerical result out of range); "
        "16 bytes from 56 are not inside the 64 bytes of the device memory");
  CHECK(reported([&](auto&&... policy) { memory.load(UINT64_MAX, values, policy...); }).code() ==
        std::errc::result_out_of_range);
  CHECK(machine.count<called::memcpy_to_dm>() + machine.count<called::memcpy_from_dm>() == 0);
  memory.store(48, values);
}

TEST_CASE_METHOD(fixture, "a refused copy of partial words is explained") {
  const device_memory memory{context, 64};
  const std::array<std::byte, 3> bytes{};
  CHECK(reported([&] { machine.fail<called::memcpy_to_dm>(EINVAL); },
                 [&](auto&&... policy) { memory.store(4, bytes, policy...); })
            .explanation() == "possible causes: this device copies only whole words of 4 bytes");
  const std::array<std::uint32_t, 3> words{};
  CHECK(reported([&] { machine.fail<called::memcpy_to_dm>(EIO); },
                 [&](auto&&... policy) { memory.store(4, words, policy...); })
            .explanation()
            .empty());
}

TEST_CASE_METHOD(fixture,
                 "handle fails with a reason on a provider without numbers of device memory") {
  const device_memory memory{context, 64};
  memory.native_handle()->comp_mask = 0;
  const adverb::failure why = reported([&](auto&&... policy) { (void)memory.handle(policy...); });
  CHECK(std::string{why.what()} ==
        "device_memory::handle on fake0 dm: EOPNOTSUPP (Operation not supported); "
        "the provider does not report the handle for an import");
}

TEST_CASE_METHOD(fixture, "operations on empty device memory fail with a reason") {
  const device_memory none;
  std::array<std::byte, 4> bytes{};
  const std::string empty = "the device memory is empty: moved from, closed, or never created";
  CHECK(reported([&](auto&&... policy) { none.store(0, bytes, policy...); }).explanation() ==
        empty);
  CHECK(reported([&](auto&&... policy) { none.load(0, bytes, policy...); }).explanation() == empty);
  CHECK(reported([&](auto&&... policy) { (void)none.handle(policy...); }).explanation() == empty);
  CHECK(reported([&](auto&&... policy) {
          (void)memory_region::of_device_memory(domain, none, access_right::local_write, policy...);
        }).explanation() == empty);
}

TEST_CASE_METHOD(fixture, "a region of device memory is addressed from 0", "[ibv_reg_dm_mr]") {
  const device_memory memory{context, 4096};
  const auto region = memory_region::of_device_memory(
      domain, memory, 1024, 512, access_right::local_write | access_right::remote_read);
  CHECK(region.size() == 512);
  CHECK(region.slice(16, 8).address() == 16);
  CHECK(region.remote<std::byte, access_right::remote_read>().address() == 0);

  const auto whole = memory_region::of_device_memory(domain, memory);
  CHECK(whole.size() == 4096);
  CHECK_THAT(machine.lines<called::reg_dm_mr>(), is_log(R"(
    ibv_reg_dm_mr pd0 dm0 dm_offset=1024 length=512 access=LOCAL_WRITE|REMOTE_READ|ZERO_BASED
    ibv_reg_dm_mr pd0 dm0 dm_offset=0 length=4096 access=LOCAL_WRITE|ZERO_BASED)"));
}

TEST_CASE_METHOD(fixture, "registering beyond the device memory is refused") {
  const device_memory memory{context, 4096};
  const adverb::failure why = reported([&](auto&&... policy) {
    (void)memory_region::of_device_memory(domain, memory, 4000, 97, access_right::local_write,
                                          policy...);
  });
  CHECK(std::string{why.what()} ==
        "ibv_reg_dm_mr on fake0: ERANGE (Numerical result out of range); "
        "97 bytes from 4000 are not inside the 4096 bytes of the device memory");
  CHECK(machine.count<called::reg_dm_mr>() == 0);
  CHECK(reported([&] { machine.fail<called::reg_dm_mr>(EINVAL); },
                 [&](auto&&... policy) {
                   (void)memory_region::of_device_memory(domain, memory, access_right::remote_write,
                                                         policy...);
                 })
            .explanation() == "remote_write needs local_write too");
}

TEST_CASE_METHOD(fixture, "device memory of C can be adopted or referenced with its size") {
  ibv_alloc_dm_attr attributes{};
  attributes.length = 64;
  device_memory adopted{adverb::adopt, ibv_alloc_dm(context.native_handle(), &attributes), 64};
  const adverb::device_memory_ref reference = adopted;
  CHECK(reference.size() == 64);
  CHECK(reference.native_handle() == adopted.native_handle());
  const adverb::device_memory_ref viewed{adverb::adopt, adopted.native_handle(), 32};
  std::array<std::byte, 33> bytes{};
  std::error_code code;
  viewed.load(0, bytes, code);
  CHECK(code == std::errc::result_out_of_range);

  const adverb::failure why = reported([&] { machine.fail<called::free_dm>(EBUSY); },
                                       [&](auto&&... policy) { adopted.close(policy...); });
  CHECK(std::string{why.what()} ==
        "ibv_free_dm on fake0 dm 2: EBUSY (Device or resource busy); "
        "a memory region of it is still registered: destroy that first");
}
