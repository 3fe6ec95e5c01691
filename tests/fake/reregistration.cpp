// SPDX-License-Identifier: MIT
// Changing a region that is registered.
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <sys/mman.h>

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

struct fixture {
  fake::machine machine;
  adverb::context context = adverb::open_device();
  adverb::protection_domain domain{context};
  adverb::protection_domain other{context};
  std::array<std::byte, 64> memory{};
  std::array<std::byte, 128> larger{};
  memory_region region{domain, memory};

  fixture() {
    machine.name("memory", memory);
    machine.name("larger", larger);
    machine.forget_calls();
  }
};

}  // namespace

TEST_CASE_METHOD(fixture, "reregister changes the memory of a region", "[ibv_rereg_mr]") {
  const adverb::lkey before = region.lkey();
  region.reregister(larger);
  CHECK_THAT(machine.lines(), is_log("ibv_rereg_mr mr0 addr=larger length=128"));
  CHECK(region.lkey() != before);
  CHECK(region.buffer().key() == region.lkey());
  CHECK(static_cast<std::uint32_t>(region.lkey()) == region.native_handle()->lkey);
  CHECK(static_cast<std::uint32_t>(region.rkey()) == region.native_handle()->rkey);
  CHECK(region.size() == 128);
  CHECK(region.buffer().address() == address_of(larger.data()));
  CHECK(region.rights() == access_right::local_write);
}

TEST_CASE_METHOD(fixture, "an earlier reference keeps the previous size of the region") {
  const adverb::memory_region_ref before = region;
  region.reregister(larger);
  CHECK(reported([&](auto&&... policy) { (void)before.slice(memory.size(), 1, policy...); })
            .explanation()
            .ends_with("of the region at the time when the reference was made"));
}

TEST_CASE_METHOD(fixture, "reregister changes the rights of a region", "[ibv_rereg_mr]") {
  const access_rights rights = access_right::local_write | access_right::remote_read;
  region.reregister({.rights = rights});
  CHECK_THAT(machine.lines(), is_log("ibv_rereg_mr mr0 access=LOCAL_WRITE|REMOTE_READ"));
  CHECK(region.rights() == rights);
  CHECK(region.device_address() == address_of(memory.data()));
  CHECK(region.remote<std::byte, access_right::remote_read>().size() == 64);

  region.reregister({.rights = access_rights{}});
  CHECK(region.rights() == access_rights{});
}

TEST_CASE_METHOD(fixture, "reregister moves a region to another domain, which counts it as a child",
                 "[ibv_rereg_mr]") {
  region.reregister({.domain = other});
  CHECK_THAT(machine.lines(), is_log("ibv_rereg_mr mr0 pd=pd1"));
  CHECK(region.protection_domain().native_handle() == other.native_handle());

  domain.close();
  CHECK(reported([&](auto&&... policy) { other.close(policy...); }).explanation() ==
        "still in use by 1 memory region; destroy these first");
  region.close();
  other.close();
}

TEST_CASE_METHOD(fixture, "reregister changes memory, rights and domain at once",
                 "[ibv_rereg_mr]") {
  adverb::failure why;
  region.reregister(larger, {.domain = other, .rights = access_right::remote_read}, why);
  CHECK_FALSE(why);
  CHECK_THAT(machine.lines(),
             is_log("ibv_rereg_mr mr0 pd=pd1 addr=larger length=128 access=REMOTE_READ"));
}

TEST_CASE_METHOD(
    fixture,
    "reregister with new memory uses its process address, and new rights keep the address") {
  auto shifted = memory_region::with_device_address(
      domain, memory, address_of(memory.data()) % 4096, access_right::local_write);
  shifted.reregister({.rights = access_right::remote_read});
  CHECK(shifted.device_address() == address_of(memory.data()) % 4096);
  shifted.reregister(larger);
  CHECK(shifted.device_address() == address_of(larger.data()));
}

TEST_CASE_METHOD(fixture, "reregister refuses write access to const memory") {
  const std::array<std::byte, 64> constant{};
  const std::string would_change = "the memory is const, and local_write would change it";
  CHECK(reported([&](auto&&... policy) { region.reregister(constant, policy...); }).explanation() ==
        would_change);

  region.reregister(constant, {.rights = access_right::remote_read});
  CHECK(reported([&](auto&&... policy) {
          region.reregister({.rights = access_right::local_write}, policy...);
        }).explanation() == would_change);
  memory_region from_const{domain, constant};
  CHECK(reported([&](auto&&... policy) {
          from_const.reregister({.rights = access_right::local_write}, policy...);
        }).explanation() == would_change);
  from_const.reregister(larger, {.rights = access_right::local_write});
  CHECK(from_const.buffer().size() == 128);
  CHECK(machine.count<called::rereg_mr>() == 2);
}

TEST_CASE_METHOD(fixture, "an impossible re-registration fails without a call") {
  const auto said = [&](memory_region& changed, auto&&... changes) {
    return std::string{reported([&](auto&&... policy) {
                         changed.reregister(changes..., policy...);
                       }).explanation()};
  };
  CHECK(said(region, adverb::reregistration{}) == "there is nothing to change");
  CHECK(said(region, adverb::reregistration{.rights = access_right::zero_based |
                                                      access_right::local_write}) ==
        "zero_based cannot change after the registration");
  const adverb::context another = adverb::open_device();
  const adverb::protection_domain elsewhere{another};
  CHECK(said(region, adverb::reregistration{.domain = elsewhere}) ==
        "the domain belongs to another context");
  memory_region zero{domain, memory, access_right::local_write | access_right::zero_based};
  CHECK(said(zero, std::span{larger}) == "a zero-based region cannot change its memory");
  memory_region none;
  CHECK(said(none, std::span{larger}) ==
        "the memory region is empty: moved from, closed, or never created");
  CHECK(machine.count<called::rereg_mr>() == 0);
}

TEST_CASE_METHOD(fixture, "each failed re-registration reports the state of the region",
                 "[ibv_rereg_mr]") {
  struct expectation {
    int result;
    std::string words;
    bool changed;
    bool usable;
  };
  const std::string unusable = "the region can only be destroyed";
  const std::array<expectation, 6> expectations{{
      {IBV_REREG_MR_ERR_INPUT, "the region is unchanged", false, true},
      {IBV_REREG_MR_ERR_DONT_FORK_NEW,
       "the new memory could not be excluded from forks; the region is unchanged", false, true},
      {IBV_REREG_MR_ERR_DO_FORK_OLD,
       "the region is changed; only the old memory is still excluded from forks", true, true},
      {IBV_REREG_MR_ERR_CMD, unusable, false, false},
      {IBV_REREG_MR_ERR_CMD_AND_DO_FORK_NEW,
       unusable + ", and the new memory is still excluded from forks", false, false},
      {-77, unusable, false, false},
  }};
  for (const expectation& expected : expectations) {
    CAPTURE(expected.result);
    machine.reregistration_failure = expected.result;
    region = memory_region{domain, memory};
    machine.fail<called::rereg_mr>(EIO);
    adverb::failure why;
    region.reregister(larger, {.domain = other}, why);
    CHECK(std::string{why.what()} == "ibv_rereg_mr on fake0 mr " +
                                         std::string{to_text(region.lkey()).view()} +
                                         ": EIO (Input/output error); " + expected.words);
    CHECK(region.size() == (expected.changed ? 128 : 64));
    CHECK(region.device_address() ==
          address_of(expected.changed ? static_cast<void*>(larger.data()) : memory.data()));
    CHECK(region.rights() ==
          (expected.usable ? access_rights{access_right::local_write} : access_rights{}));
    CHECK(region.protection_domain().native_handle() ==
          (expected.changed ? other : domain).native_handle());
  }
  region.close();
  domain.close();
  other.close();
}

TEST_CASE_METHOD(fixture, "a refused re-registration has the explanations of a registration") {
  machine.reregistration_failure = IBV_REREG_MR_ERR_INPUT;
  CHECK(reported([&] { machine.fail<called::rereg_mr>(EINVAL); },
                 [&](auto&&... policy) {
                   region.reregister({.rights = access_right::remote_write}, policy...);
                 })
            .explanation() == "remote_write needs local_write too; the region is unchanged");
  CHECK(
      reported([&] { machine.fail<called::rereg_mr>(EINVAL); },
               [&](auto&&... policy) { region.reregister(std::span{memory}.first(0), policy...); })
          .explanation() == "the length is 0; the region is unchanged");
}

TEST_CASE_METHOD(
    fixture, "a failed re-registration speaks of locked and mapped memory if there is new memory") {
  machine.reregistration_failure = IBV_REREG_MR_ERR_CMD;
  const auto said = [&](int error, const auto& change) {
    region = memory_region{domain, memory};
    machine.fail<called::rereg_mr>(error);
    adverb::failure why;
    change(why);
    return std::string{why.explanation()};
  };
  const auto new_rights = [&](adverb::on_failure policy) {
    region.reregister({.rights = access_right::remote_read}, policy);
  };
  CHECK(said(EFAULT, new_rights) == "the region can only be destroyed");
  CHECK(said(ENOMEM, new_rights) == "the region can only be destroyed");
  const std::size_t page = 4096;
  void* const mapped = ::mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  const std::string of_mapped = said(EFAULT, [&](adverb::on_failure policy) {
    region.reregister(std::span{static_cast<std::byte*>(mapped), page}, policy);
  });
  CHECK(of_mapped.find("is mapped for reading only") != std::string::npos);
  CHECK(of_mapped.ends_with("; the region can only be destroyed"));
  ::munmap(mapped, page);
}

TEST_CASE_METHOD(fixture,
                 "an unsupported re-registration fails with a reason and the region stays usable") {
  const adverb::failure why =
      reported([&] { machine.fail<called::rereg_mr>(EOPNOTSUPP); },
               [&](auto&&... policy) { region.reregister(larger, policy...); });
  CHECK(why.explanation() == "fake0 has no re-registration of memory, or none of this kind");
  CHECK(region.buffer().size() == 64);
}
