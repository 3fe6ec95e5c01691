// SPDX-License-Identifier: MIT
// Registering memory, and cutting buffers from it.
#include <array>
#include <cerrno>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>
#include <vector>

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

constexpr access_rights everything = access_right::local_write | access_right::remote_read |
                                     access_right::remote_write | access_right::remote_atomic;

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

struct fixture {
  fake::machine machine;
  adverb::context context = adverb::open_device();
  adverb::protection_domain domain{context};
  alignas(8) std::array<std::byte, 64> memory{};

  fixture() { machine.name("memory", memory); }
};

}  // namespace

TEST_CASE_METHOD(fixture, "memory is registered with its address, length and rights",
                 "[ibv_reg_mr][ibv_reg_mr_iova2]") {
  std::vector<std::uint32_t> numbers(16);
  machine.name("numbers", numbers);
  const memory_region region{domain, numbers, everything};

  CHECK(machine.line() ==
        "ibv_reg_mr pd0 addr=numbers length=64 "
        "access=LOCAL_WRITE|REMOTE_WRITE|REMOTE_READ|REMOTE_ATOMIC");
  CHECK(region.size() == 64);
  CHECK(region.device_address() == address_of(numbers.data()));
  CHECK(region.rights() == everything);
  CHECK(region.lkey() == adverb::lkey{region.native_handle()->lkey});
  CHECK(region.rkey() == adverb::rkey{region.native_handle()->rkey});
}

TEST_CASE_METHOD(fixture, "a region has local_write by default") {
  const memory_region region{domain, memory};
  CHECK(region.rights() == access_right::local_write);
  CHECK(machine.line() == "ibv_reg_mr pd0 addr=memory length=64 access=LOCAL_WRITE");

  adverb::failure why;
  const memory_region with_policy{domain, memory, why};
  CHECK(with_policy.rights() == access_right::local_write);
}

TEST_CASE_METHOD(fixture, "arrays, spans and strings can be registered") {
  int plain[4] = {};
  CHECK(memory_region{domain, plain}.size() == sizeof plain);
  CHECK(memory_region{domain, std::span{memory}.first(10)}.size() == 10);
  std::string text = "hello";
  CHECK(memory_region{domain, text}.size() == 5);
}

TEST_CASE_METHOD(fixture, "const memory can be registered for reading but not for writing") {
  const std::vector<std::byte> constant(64);
  const memory_region region{domain, constant, access_right::remote_read};
  CHECK(region.const_buffer().address() == address_of(constant.data()));

  const adverb::failure why = reported([&](auto&&... policy) {
    const memory_region refused{domain, constant,
                                access_right::remote_read | access_right::local_write, policy...};
  });
  CHECK(std::string{why.what()} ==
        "ibv_reg_mr on fake0: EINVAL (Invalid argument); "
        "the memory is const, and local_write would change it");
  CHECK(machine.count<called::reg_mr>() == 1);
}

TEST_CASE_METHOD(fixture, "with_device_address registers memory at another device address",
                 "[ibv_reg_mr_iova]") {
  const memory_region region =
      memory_region::with_device_address(domain, memory, 0x10000, access_right::local_write);
  CHECK(machine.line() == "ibv_reg_mr pd0 addr=memory length=64 iova=0x10000 access=LOCAL_WRITE");
  CHECK(region.device_address() == 0x10000);
  CHECK(region.slice(8, 8).address() == 0x10008);
}

TEST_CASE_METHOD(fixture, "a failed registration is reported and explained") {
  CHECK(std::string{reported([&] { machine.fail<called::reg_mr>(EFAULT); },
                             [&](auto&&... policy) {
                               const memory_region region{domain, memory, access_right::local_write,
                                                          policy...};
                             })
                        .what()} ==
        "ibv_reg_mr on fake0: EFAULT (Bad address); "
        "possible causes: a page lies behind the end of its file, or is memory of a device, which "
        "needs a dma-buf");
  CHECK(reported([&] { machine.fail<called::reg_mr>(EINVAL); },
                 [&](auto&&... policy) {
                   (void)memory_region::with_device_address(domain, memory,
                                                            address_of(memory.data()),
                                                            access_right::remote_write, policy...);
                 })
            .explanation() == "remote_write needs local_write too");
}

TEST_CASE_METHOD(fixture, "registering in an empty domain fails") {
  const adverb::protection_domain none;
  const adverb::failure why = reported([&](auto&&... policy) {
    const memory_region region{none, memory, access_right::local_write, policy...};
  });
  CHECK(why.explanation() ==
        "the protection domain is empty: moved from, closed, or never created");
  CHECK(machine.count<called::reg_mr>() == 0);
}

TEST_CASE_METHOD(fixture, "a slice has its own address and length, and the region's key") {
  const memory_region region{domain, memory};
  const adverb::mutable_buffer slice = region.slice(16, 8);
  CHECK(slice.address() == address_of(memory.data() + 16));
  CHECK(slice.size() == 8);
  CHECK(slice.key() == region.lkey());
  CHECK(region.const_slice(16, 8).address() == slice.address());
  CHECK(region.buffer().size() == 64);
  CHECK(region.const_buffer().size() == 64);
  CHECK(region.slice(64, 0).size() == 0);
  CHECK(region.unchecked_slice(16, 8).address() == slice.address());
  CHECK(region.unchecked_slice(16, 8).size() == 8);
}

TEST_CASE_METHOD(fixture, "a slice beyond the region fails with ERANGE") {
  const memory_region region{domain, memory};
  const adverb::failure why =
      reported([&](auto&&... policy) { (void)region.slice(60, 5, policy...); });
  CHECK(std::string{why.what()} == "memory_region::slice on fake0 mr " +
                                       std::string{to_text(region.lkey()).view()} +
                                       ": ERANGE (Numerical result out of range); "
                                       "5 bytes from 60 are not inside the 64 bytes of the region");
  std::error_code code;
  CHECK(region.slice(65, 0, code).size() == 0);
  CHECK(code == std::errc::result_out_of_range);
  CHECK(region.slice(1, SIZE_MAX, code).size() == 0);
  CHECK(code == std::errc::result_out_of_range);
  CHECK(region.const_slice(SIZE_MAX, 1, code).size() == 0);
  CHECK(code == std::errc::result_out_of_range);
  CHECK(region.slice(0, 64, code).size() == 64);
  CHECK_FALSE(code);
}

TEST_CASE_METHOD(fixture, "a region without local_write refuses mutable buffers") {
  const memory_region region{domain, memory, access_right::remote_read};
  const adverb::failure why = reported([&](auto&&... policy) { (void)region.buffer(policy...); });
  CHECK(why.code() == std::errc::permission_denied);
  CHECK(why.explanation() ==
        "the region was registered without local_write and cannot receive: use const_buffer() or "
        "const_slice() to send from it");
  CHECK(region.const_buffer().size() == 64);
}

TEST_CASE_METHOD(fixture, "a length of more than 32 bits is refused, not truncated") {
  const std::size_t huge = (std::size_t{1} << 32) + 8;
  // Only its address is used.
  const memory_region region{domain, std::span{memory.data(), huge}};
  CHECK(reported([&](auto&&... policy) { (void)region.buffer(policy...); }).explanation() ==
        "4294967304 bytes exceed the limit of one buffer (4 GiB - 1)");
  CHECK(region.slice(8, huge - 9).size() == UINT32_MAX);
}

TEST_CASE_METHOD(fixture, "blocks divide the region from its beginning") {
  const memory_region region{domain, memory};
  const auto blocks = region.blocks(24);
  REQUIRE(blocks.size() == 2);
  CHECK(blocks.block_size() == 24);
  CHECK(blocks[0].address() == address_of(memory.data()));
  CHECK(blocks[1].address() == address_of(memory.data() + 24));
  CHECK(blocks[1].size() == 24);
  CHECK(blocks[1].key() == region.lkey());
  CHECK(adverb::buffer_blocks<adverb::mutable_buffer>{}.size() == 0);
}

TEST_CASE_METHOD(fixture, "a region of const memory has no rights by default") {
  const std::array<std::byte, 8> constant{};
  const memory_region region{domain, constant};
  CHECK(region.rights() == access_rights{});
  const auto blocks = region.const_blocks(4);
  CHECK(blocks.size() == 2);
  CHECK(blocks[1].address() == address_of(constant.data()) + 4);
}

TEST_CASE_METHOD(fixture, "operations on an empty region fail with a reason") {
  const memory_region region;
  const std::string empty = "the memory region is empty: moved from, closed, or never created";
  CHECK(reported([&](auto&&... policy) { (void)region.slice(0, 1, policy...); }).explanation() ==
        empty);
  CHECK(region.slice(0, 0).size() == 0);
  CHECK(reported([&](auto&&... policy) { (void)region.buffer(policy...); }).explanation() == empty);
  CHECK(reported([&](auto&&... policy) { (void)region.blocks(8, policy...); }).explanation() ==
        empty);
  CHECK(reported([&](auto&&... policy) { (void)region.remote(policy...); }).explanation() == empty);
}

TEST_CASE_METHOD(fixture, "an empty region that once had rights fails with a reason") {
  const auto check_empty = [](const adverb::memory_region_ref& region) {
    const auto explained = [](const auto& call) {
      return std::string{reported(call).explanation()};
    };
    const std::string empty = "the memory region is empty: moved from, closed, or never created";
    CHECK(explained([&](auto&&... policy) { (void)region.slice(0, 1, policy...); }) == empty);
    CHECK(explained([&](auto&&... policy) { (void)region.const_slice(0, 1, policy...); }) == empty);
    CHECK(explained([&](auto&&... policy) { (void)region.buffer(policy...); }) == empty);
    CHECK(explained([&](auto&&... policy) { (void)region.blocks(8, policy...); }) == empty);
    CHECK(explained([&](auto&&... policy) { (void)region.blocks(0, policy...); }) == empty);
    CHECK(explained([&](auto&&... policy) { (void)region.const_blocks(0, policy...); }) == empty);
  };
  memory_region region{domain, memory};
  const memory_region other = std::move(region);
  check_empty(region);
  memory_region closed{domain, memory};
  closed.close();
  check_empty(closed);
  check_empty(
      adverb::memory_region_ref{adverb::adopt, nullptr, adverb::access_right::local_write, 0});
}

TEST_CASE_METHOD(fixture, "blocks of size 0 are refused") {
  const memory_region region{domain, memory};
  CHECK(reported([&](auto&&... policy) { (void)region.blocks(0, policy...); }).explanation() ==
        "blocks need at least one byte");
}

TEST_CASE_METHOD(fixture, "a block that is larger than the region is refused") {
  const memory_region region{domain, memory};
  CHECK(reported([&](auto&&... policy) { (void)region.blocks(65, policy...); }).code() ==
        std::errc::result_out_of_range);
}

TEST_CASE_METHOD(fixture, "remote returns a buffer with the registered rights") {
  const memory_region region{domain, memory, everything};
  const auto whole = region.remote();
  CHECK(whole.address() == address_of(memory.data()));
  CHECK(whole.size() == 64);
  CHECK(whole.key() == region.rkey());

  const auto numbers = region.remote<std::uint64_t, access_right::remote_atomic>();
  CHECK(numbers.size() == 8);
  CHECK(numbers.size_bytes() == 64);
}

TEST_CASE_METHOD(fixture, "remote refuses rights that the region lacks") {
  const memory_region region{domain, memory, access_right::local_write | access_right::remote_read};
  const adverb::failure why = reported([&](auto&&... policy) { (void)region.remote(policy...); });
  CHECK(why.code() == std::errc::permission_denied);
  CHECK(why.explanation() ==
        "the region was registered with local_write|remote_read, "
        "which does not grant remote_write");
  CHECK(region.remote<std::byte, access_right::remote_read>().size() == 64);
}

TEST_CASE_METHOD(fixture, "remote_readable and remote_writable grant one right each") {
  const memory_region readable{domain, memory, access_right::remote_read};
  CHECK(readable.remote_readable() == readable.remote<std::byte, access_right::remote_read>());
  CHECK(readable.remote_readable<std::uint64_t>().size() == 8);
  CHECK(reported([&](auto&&... policy) {
          (void)readable.remote_writable(policy...);
        }).explanation() ==
        "the region was registered with remote_read, which does not grant remote_write");

  const memory_region writable{domain, memory, everything};
  CHECK(writable.remote_writable() == writable.remote<std::byte, access_right::remote_write>());
  CHECK(writable.remote_writable<std::uint64_t>().size() == 8);
  const memory_region unshared{domain, memory};
  CHECK(reported([&](auto&&... policy) {
          (void)unshared.remote_readable(policy...);
        }).explanation() ==
        "the region was registered with local_write, which does not grant remote_read");
}

TEST_CASE_METHOD(fixture, "remote refuses atomic rights for unaligned memory") {
  const memory_region region{domain, std::span{memory}.subspan(4), everything};
  const adverb::failure why = reported([&](auto&&... policy) {
    (void)region.remote<std::uint64_t, access_right::remote_atomic>(policy...);
  });
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation() == "atomic operations need an address that is a multiple of 8");
  CHECK(region.remote().size() == 60);
}

TEST_CASE_METHOD(fixture, "a region of the C API is adopted with its rights and device address") {
  const int rights = IBV_ACCESS_LOCAL_WRITE;
  ibv_mr* const native = ibv_reg_mr(domain.native_handle(), memory.data(), memory.size(), rights);
  {
    memory_region region{adverb::adopt, native, access_right::local_write};
    CHECK(region.device_address() == address_of(memory.data()));
    CHECK(region.buffer().size() == 64);
    const memory_region shifted{adverb::adopt, region.release(), access_right::local_write, 0x40};
    CHECK(shifted.buffer().address() == 0x40);
  }
  CHECK(machine.count<called::dereg_mr>() == 1);
}

TEST_CASE_METHOD(fixture, "assigning a region deregisters the previous one at once",
                 "[ibv_dereg_mr]") {
  memory_region target{domain, memory};
  memory_region source{domain, memory, everything};
  ibv_mr* const kept = source.native_handle();
  target = std::move(source);
  CHECK(machine.count<called::dereg_mr>() == 1);
  CHECK(target.native_handle() == kept);
  CHECK(target.rights() == everything);
  CHECK_FALSE(source);  // NOLINT(bugprone-use-after-move)
}
