// SPDX-License-Identifier: MIT
// Protection domains and memory registration on the real device.
#include <array>
#include <cerrno>
#include <string>

#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <support/reported.hpp>

#include "support.hpp"

using namespace adverb;

namespace {

constexpr std::size_t page = 4096;

/// This process without the capability to lock any amount of memory, and with a low limit for it.
class low_memlock {
 public:
  explicit low_memlock(rlim_t bytes) {
    REQUIRE(getrlimit(RLIMIT_MEMLOCK, &limit_) == 0);
    const rlimit low{.rlim_cur = bytes, .rlim_max = limit_.rlim_max};
    active_ = set_ipc_lock(false) && setrlimit(RLIMIT_MEMLOCK, &low) == 0;
  }
  ~low_memlock() {
    setrlimit(RLIMIT_MEMLOCK, &limit_);
    set_ipc_lock(true);
  }
  low_memlock(const low_memlock&) = delete;
  low_memlock& operator=(const low_memlock&) = delete;

  [[nodiscard]] bool active() const noexcept { return active_; }

 private:
  static bool set_ipc_lock(bool effective) noexcept {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, 2> sets{};
    if (syscall(SYS_capget, &header, sets.data()) != 0) return false;
    const std::uint32_t bit = 1U << CAP_IPC_LOCK;
    sets[0].effective =
        effective ? sets[0].effective | (sets[0].permitted & bit) : sets[0].effective & ~bit;
    return syscall(SYS_capset, &header, sets.data()) == 0;
  }

  rlimit limit_{};
  bool active_ = false;
};

}  // namespace

TEST_CASE("Many protection domains can exist at once", "[ibv_alloc_pd]") {
  const context device = open_device();
  std::vector<protection_domain> domains;
  for (int index = 0; index < 100; ++index) domains.emplace_back(device);
  for (const protection_domain& domain : domains) CHECK(domain);
}

TEST_CASE("Memory can be registered with every legal set of rights",
          "[ibv_reg_mr][ibv_reg_mr_iova2]") {
  const context device = open_device();
  const protection_domain domain{device};
  std::vector<std::byte> bytes(3 * page);
  using enum access_right;
  for (const access_rights rights :
       {access_rights{}, access_rights{local_write}, access_rights{remote_read},
        local_write | remote_write, local_write | remote_atomic, local_write | remote_read,
        local_write | remote_write | remote_read | remote_atomic}) {
    const memory_region region{domain, bytes, rights};
    CHECK(region.rights() == rights);
    CHECK(region.size() == bytes.size());
    CHECK(region.device_address() == reinterpret_cast<std::uintptr_t>(bytes.data()));
  }
}

TEST_CASE("A remote write right without local_write fails with an explanation") {
  const context device = open_device();
  const protection_domain domain{device};
  std::vector<std::byte> bytes(page);
  const auto said = [&](access_rights rights) {
    return std::string{reported([&](auto&&... policy) {
                         const memory_region region{domain, bytes, rights, policy...};
                         CHECK(!region);
                       }).explanation()};
  };
  using enum access_right;
  CHECK(said(remote_write) == "remote_write needs local_write too");
  CHECK(said(remote_atomic | remote_read) == "remote_atomic needs local_write too");
  CHECK(said(remote_atomic | remote_write) == "remote_write|remote_atomic needs local_write too");
}

TEST_CASE("A registration of unmapped memory fails with EFAULT") {
  const context device = open_device();
  const protection_domain domain{device};
  void* const mapped =
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  REQUIRE(munmap(static_cast<std::byte*>(mapped) + page, page) == 0);
  const std::span<std::byte> bytes{static_cast<std::byte*>(mapped), 2 * page};
  failure why;
  const memory_region region{domain, bytes, access_right::local_write, why};
  CHECK(!region);
  CHECK(why.verb() == "ibv_reg_mr");
  CHECK(why.code() == std::errc::bad_address);
  CHECK(why.explanation() ==
        "no memory is mapped at byte " + std::to_string(page) + " of " + std::to_string(2 * page));
  munmap(mapped, page);
}

TEST_CASE("A registration of memory that cannot be written fails with EFAULT") {
  const context device = open_device();
  const protection_domain domain{device};
  void* const mapped = mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  const std::span<std::byte> bytes{static_cast<std::byte*>(mapped), page};
  failure why;
  const memory_region region{domain, bytes, access_right::local_write, why};
  CHECK(why.code() == std::errc::bad_address);
  CHECK(why.explanation() == "byte 0 of " + std::to_string(page) + " is mapped for reading only");
  munmap(mapped, page);
}

TEST_CASE("const memory can be registered for sending but not for writing") {
  const context device = open_device();
  const protection_domain domain{device};
  static constexpr std::array<std::uint32_t, 4> numbers{1, 2, 3, 4};
  const memory_region region{domain, numbers, access_right::remote_read};
  CHECK(region.const_buffer().size() == sizeof numbers);
  std::error_code code;
  const memory_region writable{domain, numbers, access_right::local_write, code};
  CHECK(!writable);
  CHECK(code == std::errc::invalid_argument);
}

TEST_CASE("The same memory can be registered twice with different keys") {
  const context device = open_device();
  const protection_domain domain{device};
  std::vector<std::byte> bytes(page);
  const memory_region first{domain, bytes};
  const memory_region second{domain, bytes, access_right::remote_read};
  CHECK(first.lkey() != second.lkey());
}

TEST_CASE("Registering volatile memory for flushes to persistence fails",
          "[optional][ibv_reg_mr]") {
  const context device = open_device();
  if (!device.query_device().capabilities().contains(device_capability::flush_persistent)) {
    tell_skip("memory that does not persist", "the device has no flushes to persistence");
    return;
  }
  const protection_domain domain{device};
  std::vector<std::byte> bytes(page);
  failure why;
  const memory_region region{domain, bytes,
                             access_right::local_write | access_right::flush_persistent, why};
  CHECK(!region);
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation() ==
        "flush_persistent requires persistent memory, such as device DAX (/dev/dax0.0)");
}

TEST_CASE("A failed registration names the limit on locked memory and a remedy", "[optional]") {
  const context device = open_device();
  const protection_domain domain{device};
  std::vector<std::byte> bytes(4 << 20);
  failure why;
  {
    const low_memlock low{65536};
    if (!low.active()) {
      tell_skip("a limit for locked memory that is too low",
                "this process cannot give up its right to lock memory");
      return;
    }
    const memory_region region{domain, bytes, access_right::local_write, why};
    CHECK(!region);
  }
  CHECK(why.code() == std::errc::not_enough_memory);
  CHECK(why.explanation().starts_with("4194304 bytes were requested"));
  CHECK(why.explanation().find(", and this process may lock 65536 in all: raise the limit with ") !=
        std::string_view::npos);
}
