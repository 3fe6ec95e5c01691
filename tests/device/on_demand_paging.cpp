// SPDX-License-Identifier: MIT
// Regions whose pages the device takes when it needs them, and advice to take them before.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <support/skip.hpp>

#include "extended_operations.hpp"

using namespace adverb;

namespace {

const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
constexpr access_rights on_demand_rights = every_right | access_right::on_demand;

/// Anonymous memory of which no page is present before it is used.
class lazy_pages {
 public:
  explicit lazy_pages(std::size_t count)
      : bytes_{static_cast<std::byte*>(mmap(nullptr, count * page, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)),
               count * page} {
    REQUIRE(bytes_.data() != MAP_FAILED);
    // A huge page would make its neighbours present, too.
    madvise(bytes_.data(), bytes_.size(), MADV_NOHUGEPAGE);
  }
  ~lazy_pages() { munmap(bytes_.data(), bytes_.size()); }
  lazy_pages(const lazy_pages&) = delete;
  lazy_pages& operator=(const lazy_pages&) = delete;

  [[nodiscard]] std::span<std::byte> all() const { return bytes_; }
  [[nodiscard]] std::span<std::byte> operator[](std::size_t index) const {
    return bytes_.subspan(index * page, page);
  }
  /// The indices of the pages that are present.
  [[nodiscard]] std::vector<std::size_t> present() const {
    std::vector<unsigned char> states(bytes_.size() / page);
    REQUIRE(mincore(bytes_.data(), bytes_.size(), states.data()) == 0);
    std::vector<std::size_t> found;
    for (std::size_t index = 0; index < states.size(); ++index)
      if ((states[index] & 1) != 0) found.push_back(index);
    return found;
  }
  /// Replaces the pages by fresh ones, which hold zeros.
  void drop() const { REQUIRE(madvise(bytes_.data(), bytes_.size(), MADV_DONTNEED) == 0); }
  void unmap(std::size_t index) const { REQUIRE(munmap((*this)[index].data(), page) == 0); }

 private:
  std::span<std::byte> bytes_;
};

/// Returns whether the device pages in memory on demand for these operations; reports a skip if
/// not.
[[nodiscard]] bool is_there(paged_operations operations, std::string_view test,
                            transport service = transport::rc) {
  const context device = open_device();
  const on_demand_paging paging = device.query_device().on_demand_paging();
  if (paging.features.contains(paging_feature::explicit_registration) &&
      paging.operations(service).contains(operations))
    return true;
  tell_skip(test, "the device has no on-demand paging for it");
  return false;
}

/// Returns whether the provider passes advice on (librxe: from rdma-core 59 on); reports a skip if
/// not.
[[nodiscard]] bool takes_advice(std::string_view test) {
  if (!is_there(paged_operation::write, test)) return false;
  const context device = open_device();
  const protection_domain domain{device};
  const lazy_pages memory{1};
  const memory_region region{domain, memory.all(), on_demand_rights};
  std::error_code code;
  prefetch_without_faulting(domain, std::array{region.buffer()}, {}, code);
  if (code != std::errc::operation_not_supported) return true;
  tell_skip(test, "the provider has no advice about memory");
  return false;
}

/// Writes 8 bytes of the near side, which begin with `seed`, to a region.
template <class Link>
[[nodiscard]] completion_status write_to(Link& link, const memory_region& region,
                                         std::size_t offset, unsigned seed) {
  link.near_end.fill(0, 8, seed);
  link.near_pair
      .post(write(region.remote<std::byte, access_right::remote_write>().slice(offset, 8),
                  link.near_end.region.slice(0, 8))
                .signaled())
      .check();
  return next_completion(link.near_end.queue).status();
}

/// The first bytes of memory that write_to filled.
[[nodiscard]] bool holds(std::span<const std::byte> bytes, unsigned seed) {
  for (std::size_t index = 0; index < 8; ++index)
    if (bytes[index] != static_cast<std::byte>(seed + index * 7)) return false;
  return true;
}

}  // namespace

TEST_CASE("A peer writes into a gigabyte of which no page is present",
          "[optional][ibv_reg_mr][ibv_query_device_ex]") {
  using enum paged_operation;
  if (!is_there(paged_operations{write} | read, "a large on-demand region")) return;
  loopback<transport::rc> link;
  const std::size_t count = (std::size_t{1} << 30) / page;
  const lazy_pages memory{count};
  const memory_region region{link.domain, memory.all(), on_demand_rights};
  CHECK(memory.present().empty());

  CHECK(write_to(link, region, (count - 5) * page, 3) == completion_status::success);
  CHECK(memory.present() == std::vector{count - 5});
  CHECK(holds(memory[count - 5], 3));

  // Over the border of two pages.
  CHECK(write_to(link, region, 10 * page - 4, 4) == completion_status::success);
  CHECK(memory.present() == std::vector<std::size_t>{9, 10, count - 5});

  link.near_end.fill(0, 8, 9);
  link.near_pair
      .post(adverb::read(
                region.remote<std::byte, access_right::remote_read>().slice((count - 5) * page, 8),
                link.near_end.region.slice(0, 8))
                .signaled())
      .check();
  next_success(link.near_end.queue);
  CHECK(link.near_end.holds(0, 8, 3));
}

TEST_CASE("Data arrives at the right offset of a page and continues in the next page",
          "[optional][ibv_reg_mr]") {
  constexpr std::string_view test = "places within on-demand pages";
  if (!is_there(paged_operation::write, test)) return;
  loopback<transport::rc> link;
  const lazy_pages memory{3};
  const memory_region region{link.domain, memory.all(), on_demand_rights};
  CHECK(write_to(link, region, 64, 1) == completion_status::success);
  CHECK(write_to(link, region, 2 * page - 4, 2) == completion_status::success);
  const bool in_place = holds(memory.all().subspan(64), 1);
  const bool goes_on = holds(memory.all().subspan(2 * page - 4), 2);
  if (holds(device_facts::on_demand_data_goes_to_start_of_page, link.context)) {
    CHECK(!in_place);
    CHECK(!goes_on);
    CHECK(holds(memory[0], 1));
    tell_skip(test, "this Soft-RoCE copies to the start of each on-demand page");
    return;
  }
  CHECK(in_place);
  CHECK(goes_on);
}

TEST_CASE("Messages are sent from and received into absent pages", "[optional][ibv_reg_mr]") {
  using enum paged_operation;
  if (!is_there(paged_operations{send} | receive, "messages in on-demand memory")) return;
  loopback<transport::rc> link;
  const lazy_pages memory{4};
  const memory_region region{link.domain, memory.all(), on_demand_rights};
  memory[0][0] = std::byte{5};
  link.far_pair.post(adverb::receive(region.slice(2 * page, 2 * page))).check();
  link.near_pair.post(adverb::send(region.slice(0, 2 * page)).signaled()).check();
  next_success(link.near_end.queue);
  next_success(link.far_end.queue);
  CHECK(memory[2][0] == std::byte{5});
  CHECK(std::ranges::equal(memory[1], memory[3]));
  CHECK(memory.present() == std::vector<std::size_t>{0, 1, 2, 3});
}

TEST_CASE("Datagrams arrive in absent pages", "[optional][ibv_reg_mr]") {
  using enum paged_operation;
  if (!is_there(paged_operations{send} | receive, "datagrams in on-demand memory", transport::ud))
    return;
  loopback<transport::ud> link;
  const address_handle way{link.domain, link.to_far};
  const lazy_pages memory{2};
  const memory_region region{link.domain, memory.all(), on_demand_rights};
  memory[0][0] = std::byte{6};
  link.far_pair.post(adverb::receive(region.slice(page, page))).check();
  link.near_pair
      .post(adverb::send(region.slice(0, 8))
                .to({way, link.far_endpoint.number, link.far_endpoint.queue_key})
                .signaled())
      .check();
  next_success(link.near_end.queue);
  CHECK(next_success(link.far_end.queue).success().receive().length() == 48);
  // Behind the global route header.
  const bool moved = holds(device_facts::on_demand_data_goes_to_start_of_page, link.context);
  CHECK(memory[1][moved ? 0 : 40] == std::byte{6});
}

TEST_CASE("Atomic operations change absent pages", "[optional][ibv_reg_mr]") {
  if (!is_there(paged_operation::atomic, "atomic operations in on-demand memory")) return;
  loopback<transport::rc> link;
  const lazy_pages memory{2};
  const memory_region region{link.domain, memory.all(), on_demand_rights};
  const auto numbers = region.remote<std::uint64_t, access_right::remote_atomic>();
  link.near_pair
      .post(fetch_and_add(numbers.at(page / 8), 7, link.near_end.region.slice(0, 8)).signaled())
      .check();
  next_success(link.near_end.queue);
  CHECK(memory.present() == std::vector<std::size_t>{1});
  CHECK(memory[1][0] == std::byte{7});
}

TEST_CASE("An atomic write changes an absent page", "[optional][ibv_wr_atomic_write]") {
  using link_type = extended_link<send_operation::atomic_write>;
  using remote_type = remote_buffer<std::uint64_t, access_right::remote_write>;
  constexpr std::string_view test = "an atomic write to on-demand memory";
  if (!is_there(paged_operation::atomic_write, test)) return;
  if (!has_operation<link_type, decltype(atomic_write(remote_type{}, 1))>(
          device_capability::atomic_write, test))
    return;
  const link_type link;
  const lazy_pages memory{2};
  const memory_region region{link.domain, memory.all(), on_demand_rights};
  const auto numbers = region.remote<std::uint64_t, access_right::remote_write>();
  link.post(atomic_write(numbers.at(page / 8), 8).signaled());
  next_success(link.near_end.queue);
  CHECK(memory.present() == std::vector<std::size_t>{1});
  CHECK(memory[1][0] == std::byte{8});
}

TEST_CASE("A flush to persistence completes", "[optional][ibv_wr_flush]") {
  using link_type = extended_link<send_operation::flush>;
  constexpr access_rights rights = access_right::remote_write | access_right::flush_persistent;
  using request = decltype(flush(remote_buffer<std::byte, rights>{}, placement::persistent));
  constexpr std::string_view test = "a flush to persistence in on-demand memory";
  if (!is_there(paged_operation::flush, test)) return;
  if (!has_operation<link_type, request>(device_capability::flush_persistent, test)) return;
  link_type link{every_right | access_right::flush_persistent};
  const lazy_pages memory{4};
  std::error_code code;
  // Soft-RoCE demands persistent memory of regions that are pinned, and not of these.
  const memory_region region{link.domain, memory.all(),
                             on_demand_rights | access_right::flush_persistent, code};
  if (code == std::errc::invalid_argument) {
    tell_skip(test, "the device demands persistent memory");
    return;
  }
  REQUIRE(region);
  const auto remote = region.remote<std::byte, rights>();
  link.near_end.fill(0, 8, 2);
  link.post(write(remote.slice(2 * page, 8), link.near_end.region.slice(0, 8)));
  link.post(flush(remote.slice(page, 2 * page), placement::persistent).signaled());
  const completion done = next_success(link.near_end.queue);
  CHECK(done.success().opcode() == completion_opcode::flush);
  CHECK(holds(memory[2], 2));

  const remote_buffer<std::byte, rights> longer{adopt, region.device_address(), 4 * page + 1,
                                                region.rkey()};
  CHECK(link.status_of(flush(longer, placement::persistent)) ==
        completion_status::remote_access_error);
}

TEST_CASE("prefetch faults pages in for writing and for reading and maps present ones",
          "[optional][ibv_advise_mr]") {
  if (!takes_advice("advice about on-demand memory")) return;
  loopback<transport::rc> link;
  const lazy_pages memory{8};
  const memory_region region{link.domain, memory.all(), on_demand_rights};
  const auto pages = [&](std::size_t index, std::size_t count) {
    return region.slice(index * page, count * page);
  };
  constexpr advice_options at_once{.flush = true};

  prefetch_without_faulting(link.domain, std::array{region.buffer()}, at_once);
  CHECK(memory.present().empty());

  prefetch_for_writing(link.domain, std::array{pages(1, 2), pages(5, 1)}, at_once);
  CHECK(memory.present() == std::vector<std::size_t>{1, 2, 5});

  prefetch(link.domain, std::array{pages(7, 1)}, at_once);
  CHECK(memory.present() == std::vector<std::size_t>{1, 2, 5, 7});

  prefetch_without_faulting(link.domain, std::array{region.buffer()}, at_once);
  CHECK(memory.present() == std::vector<std::size_t>{1, 2, 5, 7});

  // A page that was brought for reading is brought again by a write.
  CHECK(write_to(link, region, 7 * page, 3) == completion_status::success);
  CHECK(holds(memory[7], 3));
  CHECK(write_to(link, region, 2 * page, 4) == completion_status::success);
  CHECK(holds(memory[2], 4));
}

TEST_CASE("An asynchronous prefetch takes effect later", "[optional][ibv_advise_mr]") {
  if (!takes_advice("advice that does not wait")) return;
  const context device = open_device();
  const protection_domain domain{device};
  const lazy_pages memory{4};
  const memory_region region{domain, memory.all(), on_demand_rights};
  prefetch_for_writing(domain, std::array{region.slice(page, page)});
  // Devices may drop it. Soft-RoCE follows it when it has time.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  while (memory.present().empty() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  if (is_soft_roce(device)) CHECK(memory.present() == std::vector<std::size_t>{1});
}

TEST_CASE("prefetch of unmapped memory fails with an explanation", "[optional][ibv_advise_mr]") {
  if (!takes_advice("advice about memory that is not there")) return;
  const context device = open_device();
  const protection_domain domain{device};
  const lazy_pages memory{4};
  const memory_region region{domain, memory.all(), on_demand_rights};
  constexpr std::string_view words =
      "possible causes: a buffer is not inside its region or not mapped, or its region is not "
      "on_demand";
  failure why;
  SECTION("beyond the region") {
    const mutable_buffer beyond{adopt,
                                {.addr = region.device_address() + 3 * page,
                                 .length = static_cast<std::uint32_t>(2 * page),
                                 .lkey = static_cast<std::uint32_t>(region.lkey())}};
    prefetch(domain, std::array{beyond}, {.flush = true}, why);
    CHECK(why.code() == std::errc::bad_address);
    CHECK(why.explanation() == words);
  }
  SECTION("not mapped") {
    memory.unmap(2);
    prefetch_for_writing(domain, std::array{region.buffer()}, {.flush = true}, why);
    CHECK(why.code() == std::errc::bad_address);
    CHECK(why.explanation() == words);
  }
  SECTION("a region of another domain") {
    const protection_domain other{device};
    prefetch(other, std::array{region.buffer()}, {.flush = true}, why);
    CHECK(why.verb() == "ibv_advise_mr");
    // Linux documents EPERM. Soft-RoCE does not find the key.
    CHECK(why.code() == (is_soft_roce(device) ? std::errc::invalid_argument
                                              : std::errc::operation_not_permitted));
  }
}

TEST_CASE("A device follows remapped pages of on-demand memory but not of pinned memory",
          "[optional][ibv_reg_mr]") {
  using enum paged_operation;
  if (!is_there(write, "pages that change")) return;
  loopback<transport::rc> link;
  const lazy_pages memory{2};
  const memory_region region{link.domain, memory.all(), on_demand_rights};
  CHECK(write_to(link, region, 0, 1) == completion_status::success);
  CHECK(holds(memory[0], 1));

  const auto read_back = [&] {
    link.near_end.fill(0, 8, 99);
    link.near_pair
        .post(adverb::read(region.remote<std::byte, access_right::remote_read>().slice(0, 8),
                           link.near_end.region.slice(0, 8))
                  .signaled())
        .check();
    next_success(link.near_end.queue);
  };
  memory.drop();
  read_back();
  CHECK(std::all_of(link.near_end.bytes.begin(), link.near_end.bytes.begin() + 8,
                    [](std::byte each) { return each == std::byte{0}; }));
  CHECK(write_to(link, region, 0, 2) == completion_status::success);
  CHECK(holds(memory[0], 2));

  // Other memory in the same place.
  REQUIRE(mmap(memory[0].data(), page, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == memory[0].data());
  memory[0][1] = std::byte{44};
  read_back();
  CHECK(link.near_end.bytes[1] == std::byte{44});

  const lazy_pages pinned_memory{1};
  const memory_region pinned{link.domain, pinned_memory.all(), every_right};
  pinned_memory.drop();
  CHECK(write_to(link, pinned, 0, 3) == completion_status::success);
  CHECK(!holds(pinned_memory[0], 3));
}

TEST_CASE("The peer refuses a write to on-demand memory that is no longer mapped",
          "[optional][ibv_reg_mr]") {
  if (!is_there(paged_operation::write, "a write to memory that is no longer mapped")) return;
  loopback<transport::rc> link;
  const lazy_pages memory{3};
  const memory_region region{link.domain, memory.all(), on_demand_rights};
  CHECK(write_to(link, region, page, 1) == completion_status::success);
  memory.unmap(1);
  CHECK(write_to(link, region, 0, 2) == completion_status::success);
  CHECK(write_to(link, region, page, 3) == completion_status::remote_access_error);
}

TEST_CASE("A device without implicit paging refuses the whole address space with an explanation",
          "[optional][ibv_reg_mr]") {
  const context device = open_device();
  const paging_features features = device.query_device().on_demand_paging().features;
  if (!features.contains(paging_feature::explicit_registration) ||
      features.contains(paging_feature::implicit_registration)) {
    tell_skip("a device that pages in ranges only", "the device pages in nothing, or everything");
    return;
  }
  const protection_domain domain{device};
  failure why;
  CHECK(!memory_region::of_whole_address_space(domain, every_right, why));
  // The error differs between kernels and providers.
  CHECK((why.code() == std::errc::operation_not_supported ||
         why.code() == std::errc::invalid_argument));
  CHECK(why.explanation() == std::string{device.device().name()} +
                                 " has no on-demand paging of the whole address space");
}
