// SPDX-License-Identifier: MIT
// Pages for registered memory.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

#include <adverb/pool/detail/pages.hpp>
#include <support/catch.hpp>

using namespace adverb::detail;

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// A device whose folder in sysfs is this one.
struct described_device {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("adverb_pages_" + std::to_string(getpid()));
  ibv_device device{};

  described_device() {
    std::filesystem::create_directories(folder / "device");
    std::strncpy(device.ibdev_path, folder.c_str(), sizeof device.ibdev_path - 1);
  }
  described_device(const described_device&) = delete;
  described_device& operator=(const described_device&) = delete;
  ~described_device() { std::filesystem::remove_all(folder); }

  void write(const std::string& text) const {
    std::ofstream{folder / "device" / "numa_node"} << text;
  }
};

}  // namespace

TEST_CASE("Reserved addresses get memory and return it any number of times") {
  reserved_addresses addresses;
  REQUIRE(addresses.reserve(8 * mebibyte, 4 * mebibyte) == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(addresses.begin()) % (4 * mebibyte) == 0);
  for (int round = 0; round < 3; ++round) {
    std::byte* const second = addresses.begin() + 4 * mebibyte;
    const page_mapping made = map_pages(second, 4 * mebibyte, 4 * mebibyte, round != 0);
    REQUIRE(made.error == 0);
    CHECK(second[0] == std::byte{0});
    second[4 * mebibyte - 1] = std::byte{1};
    second[0] = std::byte{1};
    unmap_pages(second, 4 * mebibyte, made.is_huge);
  }
}

TEST_CASE("Reserving more addresses than there are fails with ENOMEM") {
  reserved_addresses addresses;
  CHECK(addresses.reserve(std::numeric_limits<std::size_t>::max() - 1, 4096) == ENOMEM);
  CHECK(addresses.reserve(std::size_t{1} << 60, 4096) == ENOMEM);
}

TEST_CASE("Pages beyond the limit of the process fail with ENOMEM, and succeed afterwards") {
  reserved_addresses addresses;
  REQUIRE(addresses.reserve(4 * mebibyte, 2 * mebibyte) == 0);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_DATA, &before) == 0);
  // 0 has a special meaning.
  const rlimit none{4096, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_DATA, &none) == 0);
  const page_mapping refused = map_pages(addresses.begin(), 2 * mebibyte, 2 * mebibyte, false);
  REQUIRE(setrlimit(RLIMIT_DATA, &before) == 0);
  CHECK(refused.error == ENOMEM);
  CHECK_FALSE(refused.is_lost);
  CHECK(map_pages(addresses.begin(), 2 * mebibyte, 2 * mebibyte, false).error == 0);
}

TEST_CASE("The NUMA node of a device is read from sysfs, if there is one") {
  const described_device described;
  CHECK(numa_node_of(&described.device) == std::nullopt);
  described.write("3\n");
  CHECK(numa_node_of(&described.device) == 3);
  described.write("-1\n");
  CHECK(numa_node_of(&described.device) == std::nullopt);
  described.write("");
  CHECK(numa_node_of(&described.device) == std::nullopt);
}

TEST_CASE("A NUMA node that does not exist is refused") {
  reserved_addresses addresses;
  REQUIRE(addresses.reserve(2 * mebibyte, 2 * mebibyte) == 0);
  CHECK_FALSE(prefer_numa_node(addresses.begin(), 2 * mebibyte, -1));
  CHECK_FALSE(prefer_numa_node(addresses.begin(), 2 * mebibyte, 1000));
  CHECK_FALSE(prefer_numa_node(addresses.begin(), 2 * mebibyte, 1'000'000));
}
