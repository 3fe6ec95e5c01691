// SPDX-License-Identifier: MIT
// The kinds of registration besides the plain one: what works here is used, and what the device
// lacks is refused with a sentence.
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <adverb/memory/detail/explain_mappings.hpp>
#include <support/reported.hpp>

#include "support.hpp"

using namespace adverb;

namespace {

constexpr std::size_t page = 4096;

/// Two whole pages.
struct alignas(page) pages {
  std::array<std::byte, 2 * page> bytes{};
};

/// Sends 16 bytes from one buffer into another, through the device.
void send_through(loopback<transport::rc>& link, const_buffer from, mutable_buffer into) {
  link.far_pair.post(receive(into)).check();
  link.near_pair.post(send(from).signaled()).check();
  next_success(link.near_end.queue);
  next_success(link.far_end.queue);
}

void fill(pages& memory, unsigned seed) {
  for (std::size_t index = 0; index < memory.bytes.size(); ++index)
    memory.bytes[index] = static_cast<std::byte>(seed + index);
}

}  // namespace

TEST_CASE("A region with another device address supports sends, receives and reads by a peer",
          "[ibv_reg_mr_iova]") {
  loopback<transport::rc> link;
  const auto memory = std::make_unique<pages>();
  fill(*memory, 1);
  const auto region =
      memory_region::with_device_address(link.domain, memory->bytes, 0x7000, every_right);
  send_through(link, region.slice(100, 16), region.slice(page, 16));
  CHECK(std::memcmp(&memory->bytes[100], &memory->bytes[page], 16) == 0);

  const auto remote = region.remote<std::byte, access_right::remote_read>();
  CHECK(remote.address() == 0x7000);
  link.near_pair.post(read(remote.slice(200, 8), link.near_end.region.slice(0, 8)).signaled())
      .check();
  next_success(link.near_end.queue);
  CHECK(std::memcmp(link.near_end.bytes.data(), &memory->bytes[200], 8) == 0);
}

TEST_CASE("Zero-based memory is addressed from 0, locally and by a peer",
          "[optional][ibv_reg_mr_iova]") {
  loopback<transport::rc> link;
  const auto memory = std::make_unique<pages>();
  fill(*memory, 1);
  constexpr access_rights rights = every_right | access_right::zero_based;
  if (holds(device_facts::zero_based_is_refused, link.context)) {
    failure why;
    CHECK(!memory_region{link.domain, memory->bytes, rights, why});
    CHECK(why.code() == std::errc::operation_not_supported);
    return tell_skip("zero-based memory", "Soft-RoCE refuses it");
  }
  const memory_region region{link.domain, memory->bytes, rights};
  CHECK(region.device_address() == 0);
  send_through(link, region.slice(100, 16), region.slice(page, 16));
  CHECK(std::memcmp(&memory->bytes[100], &memory->bytes[page], 16) == 0);

  const auto remote = region.remote<std::byte, access_right::remote_read>();
  CHECK(remote.address() == 0);
  link.near_pair.post(read(remote.slice(200, 8), link.near_end.region.slice(0, 8)).signaled())
      .check();
  next_success(link.near_end.queue);
  CHECK(std::memcmp(link.near_end.bytes.data(), &memory->bytes[200], 8) == 0);
}

TEST_CASE("Soft-RoCE ignores a zero-based flag by itself", "[optional]") {
  loopback<transport::rc> link;
  if (!holds(device_facts::zero_based_flag_is_ignored, link.context))
    return tell_skip("the zero-based flag alone", "the device heeds it");
  const auto memory = std::make_unique<pages>();
  const int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED;
  ibv_mr* const native =
      ibv_reg_mr(link.domain.native_handle(), memory->bytes.data(), memory->bytes.size(), rights);
  REQUIRE(native != nullptr);
  const memory_region region{adopt, native, access_right::local_write | access_right::remote_read,
                             reinterpret_cast<std::uintptr_t>(memory->bytes.data())};
  const auto remote = region.remote<std::byte, access_right::remote_read>();
  link.near_pair.post(read(remote.slice(0, 8), link.near_end.region.slice(0, 8)).signaled())
      .check();
  next_success(link.near_end.queue);
}

TEST_CASE("A device address with another page offset fails with an explanation") {
  const context device = open_device();
  const protection_domain domain{device};
  const auto memory = std::make_unique<pages>();
  const failure why = reported([&](auto&&... policy) {
    const memory_region region{domain, std::span{memory->bytes}.subspan(24, 100),
                               access_right::local_write | access_right::zero_based, policy...};
    CHECK(!region);
  });
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation() ==
        "the offsets within a page differ: 24 bytes for the memory, 0 for its device address");
}

TEST_CASE("Memory with relaxed ordering carries messages", "[ibv_reg_mr]") {
  loopback<transport::rc> link;
  const auto memory = std::make_unique<pages>();
  fill(*memory, 3);
  const memory_region region{link.domain, memory->bytes,
                             every_right | access_right::relaxed_ordering};
  send_through(link, region.slice(0, 16), region.slice(page, 16));
  CHECK(std::memcmp(&memory->bytes[0], &memory->bytes[page], 16) == 0);
}

TEST_CASE("Every illegal combination of access rights is refused, and every legal one accepted") {
  const context device = open_device();
  const protection_domain domain{device};
  std::vector<std::byte> bytes(page);
  using enum access_right;
  const std::array basic{local_write, remote_write, remote_read, remote_atomic, window_bind};
  for (unsigned bits = 0; bits < 1U << basic.size(); ++bits) {
    access_rights rights;
    for (std::size_t index = 0; index < basic.size(); ++index)
      if ((bits >> index & 1) != 0) rights |= basic[index];
    CAPTURE(to_string(rights));
    const bool legal =
        rights.contains(local_write) || !rights.intersects(remote_write | remote_atomic);
    failure why;
    const memory_region region{domain, bytes, rights, why};
    CHECK(static_cast<bool>(region) == legal);
    if (legal) continue;
    CHECK(why.code() == std::errc::invalid_argument);
    CHECK(why.explanation() ==
          to_string(rights & (remote_write | remote_atomic)) + " needs local_write too");
  }
}

TEST_CASE("On-demand memory carries messages or the device explains the lack", "[optional]") {
  loopback<transport::rc> link;
  const auto memory = std::make_unique<pages>();
  failure why;
  const memory_region region{link.domain, memory->bytes, every_right | access_right::on_demand,
                             why};
  if (region) {
    CHECK_FALSE(why);
    send_through(link, region.slice(0, 16), region.slice(page, 16));
    return;
  }
  CHECK(why.explanation() ==
        std::string{link.context.device().name()} + " has no on-demand paging");
  tell_skip("on-demand memory", why.explanation());
}

TEST_CASE("The whole address space registers or the device lacks on-demand paging", "[optional]") {
  loopback<transport::rc> link;
  const auto memory = std::make_unique<pages>();
  failure why;
  const auto region = memory_region::of_whole_address_space(link.domain, every_right, why);
  if (region) {
    CHECK_FALSE(why);
    send_through(link, region.buffer_of(std::span{memory->bytes}.first(16)),
                 region.buffer_of(std::span{memory->bytes}.last(16)));
    return;
  }
  CHECK(std::string{why.explanation()}.find(" has no on-demand paging") != std::string::npos);
  tell_skip("the whole address space", why.explanation());
}

TEST_CASE("Huge pages without on-demand paging fail with an explanation") {
  const context device = open_device();
  const protection_domain domain{device};
  std::vector<std::byte> bytes(page);
  failure why;
  const memory_region region{domain, bytes, access_right::local_write | access_right::huge_pages,
                             why};
  // A provider may as well take it for a hint.
  CHECK((region || why.explanation() == "huge_pages requires on_demand"));
}

TEST_CASE("A region grants flush rights or the device lacks flushes", "[optional]") {
  const context device = open_device();
  const protection_domain domain{device};
  std::vector<std::byte> bytes(page);
  failure why;
  const auto has = device.query_device().capabilities();
  if (has.contains(device_capability::flush_global))
    CHECK(memory_region{domain, bytes, every_right | access_right::flush_global});
  const memory_region region{
      domain, bytes, every_right | access_right::flush_global | access_right::flush_persistent,
      why};
  CHECK(!region);
  const std::string name{device.device().name()};
  if (has.contains(device_capability::flush_persistent)) {
    CHECK(why.code() == std::errc::invalid_argument);
    tell_skip("rights to flush to persistence", "the device demands persistent memory");
    return;
  }
  CHECK(why.explanation() ==
        name + " has no flushes to global visibility; " + name + " has no flushes to persistence");
  tell_skip("rights to flush", why.explanation());
}

TEST_CASE("A null region discards writes and reads as zeros, or the device lacks it",
          "[optional][ibv_alloc_null_mr]") {
  loopback<transport::rc> link;
  failure why;
  const auto region = memory_region::null(link.domain, why);
  if (region) {
    link.far_end.fill(0, 16, 5);
    send_through(link, region.const_slice(0, 16), link.far_end.region.slice(0, 16));
    CHECK(link.far_end.bytes[0] == std::byte{0});
    return;
  }
  CHECK(why.code() == std::errc::operation_not_supported);
  CHECK(why.explanation() ==
        std::string{link.context.device().name()} + " has no null memory regions");
  tell_skip("null memory regions", why.explanation());
}

TEST_CASE("of_dmabuf without a file fails with EBADF or EOPNOTSUPP", "[optional]") {
  const context device = open_device();
  const protection_domain domain{device};
  failure why;
  const auto region = memory_region::of_dmabuf(
      domain, {.file_descriptor = -1, .offset = 0, .length = page}, access_right::local_write, why);
  REQUIRE(!region);
  if (why.code() != std::errc::operation_not_supported) {
    CHECK(why.code() == std::errc::bad_file_descriptor);
    CHECK(why.explanation() == "its descriptor is not open");
    return;
  }
  CHECK(why.explanation() ==
        std::string{device.device().name()} + " has no registration of dma-buf memory");
  tell_skip("memory of a dma-buf", why.explanation());
}

TEST_CASE("The explanation of a range of a dma-buf looks at its size", "[optional]") {
  const int maker = ::open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
  if (maker == -1) {
    CHECK(errno == ENOENT);
    tell_skip("dma-bufs of this kernel's own", "there is no /dev/udmabuf");
    return;
  }
  const int memory = ::memfd_create("pages", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  REQUIRE(memory != -1);
  REQUIRE(::ftruncate(memory, 2 * page) == 0);
  REQUIRE(::fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
  udmabuf_create request{};
  request.memfd = static_cast<std::uint32_t>(memory);
  request.size = 2 * page;
  const int made = ::ioctl(maker, UDMABUF_CREATE, &request);
  REQUIRE(made != -1);
  const auto words = [&](std::uint64_t offset, std::uint64_t length) {
    const static_string<256> text{[&](text_writer& writer) {
      detail::problem_list problems{writer};
      detail::explain_dmabuf(problems, made, offset, length);
    }};
    return std::string{text.view()};
  };
  CHECK(words(page, page).empty());
  CHECK(words(page, page + 1) == "bytes 4096 to 8193 exceed the dma-buf, which has 8192");
  CHECK(words(3 * page, 1) == "bytes 12288 to 12289 exceed the dma-buf, which has 8192");
  for (const int each : {made, memory, maker}) ::close(each);
}

TEST_CASE("Device memory can be written and read, or the device lacks it",
          "[optional][ibv_alloc_dm][ibv_free_dm][ibv_memcpy_to_dm][ibv_memcpy_from_dm]") {
  const context device = open_device();
  const std::array<std::uint32_t, 4> values{1, 2, 3, 4};
  failure why;
  const device_memory memory{device, 64, {.alignment = 8}, why};
  if (!memory) {
    CHECK(why.code() == std::errc::operation_not_supported);
    CHECK(why.explanation() == std::string{device.device().name()} + " has no device memory");
    tell_skip("device memory", why.explanation());
    return;
  }
  memory.store(16, values);
  std::array<std::uint32_t, 4> found{};
  memory.load(16, found);
  CHECK(found == values);
}

TEST_CASE("reregister changes a region, or fails and leaves it unchanged",
          "[optional][ibv_rereg_mr]") {
  loopback<transport::rc> link;
  const context& device = link.context;
  const protection_domain& domain = link.domain;
  std::vector<std::byte> first(page);
  std::vector<std::byte> second(2 * page);
  memory_region region{domain, first};
  failure why;
  region.reregister(second, {.rights = every_right}, why);
  if (!why) {
    CHECK(region.size() == second.size());
    CHECK(region.rights() == every_right);
    return;
  }
  CHECK(why.code() == std::errc::operation_not_supported);
  CHECK(why.explanation() == std::string{device.device().name()} +
                                 " has no re-registration of memory, or none of this kind");
  CHECK(region.size() == first.size());
  CHECK(region.rights() == access_right::local_write);
  first[0] = std::byte{9};
  send_through(link, region.slice(0, 16), region.slice(64, 16));
  CHECK(first[64] == std::byte{9});
  tell_skip("re-registration", why.explanation());
}

TEST_CASE("prefetch advises the device or fails with EOPNOTSUPP", "[optional]") {
  const context device = open_device();
  const protection_domain domain{device};
  std::vector<std::byte> bytes(page);
  // See advice_is_for_on_demand_regions.
  const bool pages_in = device.query_device().on_demand_paging().features.contains(
      paging_feature::explicit_registration);
  const memory_region region{domain, bytes,
                             pages_in ? access_right::local_write | access_right::on_demand
                                      : access_rights{access_right::local_write}};
  const std::array buffers{region.buffer()};
  failure why;
  prefetch(domain, buffers, {.flush = true}, why);
  CHECK((!why || why.code() == std::errc::operation_not_supported));
  if (!why) return;
  CHECK(why.explanation() ==
        std::string{device.device().name()} + " has no advice about memory (on-demand paging)");
  tell_skip("advice about memory", why.explanation());
}

TEST_CASE("Thread and parent domains can be created, or the device lacks them",
          "[optional][ibv_alloc_td][ibv_dealloc_td][ibv_alloc_parent_domain]") {
  const context device = open_device();
  const protection_domain domain{device};
  const std::string name{device.device().name()};
  failure why;
  const thread_domain thread{device, why};
  if (!thread) {
    CHECK(why.code() == std::errc::operation_not_supported);
    CHECK(why.explanation() == name + " has no thread domains");
    tell_skip("thread domains", why.explanation());
  }
  const parent_domain parent{domain, {.thread_domain = thread}, why};
  if (!parent) {
    CHECK(why.code() == std::errc::operation_not_supported);
    CHECK(why.explanation() == name + " has no parent domains");
    tell_skip("parent domains", why.explanation());
    return;
  }
  std::vector<std::byte> bytes(page);
  CHECK(memory_region{parent, bytes});
}

TEST_CASE("The device imports the objects of another process or fails with EOPNOTSUPP",
          "[optional][ibv_import_pd][ibv_unimport_pd][ibv_import_mr][ibv_unimport_mr]") {
  const context device = open_device();
  const protection_domain domain{device};
  const std::string name{device.device().name()};
  failure why;
  const imported_protection_domain imported{device, domain.handle(), why};
  if (!imported) {
    CHECK(why.code() == std::errc::operation_not_supported);
    CHECK(why.explanation() == name + " has no import of protection domains");
    tell_skip("import of protection domains", why.explanation());
  }
  std::vector<std::byte> bytes(page);
  const memory_region region{domain, bytes};
  const imported_memory_region far{domain, region.handle(), region.rights(),
                                   region.device_address(), why};
  if (!far) {
    CHECK(why.code() == std::errc::operation_not_supported);
    CHECK(why.explanation() == name + " has no import of memory regions");
    tell_skip("import of memory regions", why.explanation());
  }
  const imported_device_memory memory{device, device_memory_handle{1}, page, why};
  if (!memory) {
    CHECK(why.code() == std::errc::operation_not_supported);
    CHECK(why.explanation() == name + " has no import of device memory");
    tell_skip("import of device memory", why.explanation());
  }
}
