// SPDX-License-Identifier: MIT
// Objects of another process: imported, used, and released.
#include <array>
#include <cerrno>
#include <string>

#include <adverb/memory/imported.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

#include "fake.hpp"
#include "log.hpp"

namespace {

namespace called = fake::called;
using adverb::access_right;
using adverb::imported_device_memory;
using adverb::imported_memory_region;
using adverb::imported_protection_domain;

struct fixture {
  fake::machine machine;
  /// Belongs to the process that exports.
  adverb::context their_context = adverb::open_device();
  adverb::protection_domain their_domain{their_context};
  std::array<std::byte, 64> memory{};
  adverb::memory_region their_region{their_domain, memory,
                                     access_right::local_write | access_right::remote_read};
  adverb::device_memory their_memory{their_context, 64};
  /// Belongs to the process that imports.
  adverb::context context = adverb::open_device();
};

}  // namespace

TEST_CASE_METHOD(fixture, "a protection domain is imported, used and unimported",
                 "[ibv_import_pd][ibv_unimport_pd]") {
  machine.name("memory", memory);
  machine.forget_calls();
  {
    imported_protection_domain domain{context, their_domain.handle()};
    CHECK(domain.handle() == their_domain.handle());
    CHECK(domain.context().native_handle() == context.native_handle());
    const adverb::memory_region region{domain, memory};
    CHECK(region.protection_domain().native_handle() == domain.native_handle());
    CHECK(reported([&](auto&&... policy) { domain.close(policy...); }).what() ==
          std::string{"ibv_unimport_pd on fake0 pd 1: EBUSY (Device or resource busy); still in "
                      "use by 1 memory region; destroy these first"});
    const adverb::parent_domain parent{domain, {}};
    CHECK(parent);
  }
  CHECK_THAT(machine.lines(), is_log(R"(
    ibv_import_pd ctx1 pd_handle=1
    ibv_reg_mr pd1 addr=memory length=64 access=LOCAL_WRITE
    ibv_alloc_parent_domain ctx1 pd=pd1
    ibv_dealloc_pd pd2
    ibv_dereg_mr mr1
    ibv_unimport_pd pd1)"));
}

TEST_CASE_METHOD(fixture, "an imported domain can be adopted and then deallocated") {
  imported_protection_domain domain{context, their_domain.handle()};
  {
    const adverb::protection_domain owner{adverb::adopt, domain.release()};
  }
  CHECK_THAT((machine.lines<called::unimport_pd, called::dealloc_pd>()),
             is_log("ibv_dealloc_pd pd1"));
}

TEST_CASE_METHOD(fixture, "a memory region is imported, used and unimported",
                 "[ibv_import_mr][ibv_unimport_mr]") {
  imported_protection_domain domain{context, their_domain.handle()};
  {
    const imported_memory_region region{domain, their_region.handle(), their_region.rights(),
                                        their_region.device_address()};
    CHECK(region.handle() == their_region.handle());
    CHECK(region.size() == 64);
    CHECK(region.lkey() == their_region.lkey());
    CHECK(region.slice(8, 8).address() == their_region.slice(8, 8).address());
    CHECK(region.remote<std::byte, access_right::remote_read>() ==
          their_region.remote<std::byte, access_right::remote_read>());
    const adverb::memory_region_ref reference = region;
    CHECK(reference.rights() == their_region.rights());
    CHECK(reported([&](auto&&... policy) { domain.close(policy...); }).explanation() ==
          "still in use by 1 memory region; destroy these first");
  }
  CHECK_THAT((machine.lines<called::import_mr, called::unimport_mr, called::dereg_mr>()), is_log(R"(
    ibv_import_mr pd1 mr_handle=2
    ibv_unimport_mr mr1)"));
}

TEST_CASE_METHOD(fixture, "device memory is imported, used and unimported",
                 "[ibv_import_dm][ibv_unimport_dm]") {
  machine.name("memory", memory);
  machine.forget_calls();
  {
    const imported_device_memory imported{context, their_memory.handle(), their_memory.size()};
    CHECK(imported.size() == 64);
    CHECK(imported.handle() == their_memory.handle());
    imported.store(0, memory);
    const adverb::protection_domain domain{context};
    const auto region = adverb::memory_region::of_device_memory(domain, imported);
  }
  CHECK_THAT(machine.lines(), is_log(R"(
    ibv_import_dm ctx1 dm_handle=3
    ibv_memcpy_to_dm dm1 dm_offset=0 host_addr=memory length=64
    ibv_alloc_pd ctx1
    ibv_reg_dm_mr pd1 dm1 dm_offset=0 length=64 access=LOCAL_WRITE|ZERO_BASED
    ibv_dereg_mr mr1
    ibv_dealloc_pd pd1
    ibv_unimport_dm dm1)"));
}

TEST_CASE_METHOD(fixture, "a failed import has a reason and leaks nothing") {
  const std::size_t before = machine.live_objects();
  CHECK(std::string{reported([&] { machine.fail<called::import_pd>(EOPNOTSUPP); },
                             [&](auto&&... policy) {
                               const imported_protection_domain none{context, their_domain.handle(),
                                                                     policy...};
                             })
                        .what()} ==
        "ibv_import_pd on fake0: EOPNOTSUPP (Operation not supported); "
        "fake0 has no import of protection domains");
  CHECK(reported([&] { machine.fail<called::import_mr>(EOPNOTSUPP); },
                 [&](auto&&... policy) {
                   const imported_memory_region none{their_domain, their_region.handle(),
                                                     access_right::local_write, 0, policy...};
                 })
            .explanation() == "fake0 has no import of memory regions");
  CHECK(reported([&] { machine.fail<called::import_dm>(EOPNOTSUPP); },
                 [&](auto&&... policy) {
                   const imported_device_memory none{context, their_memory.handle(), 64, policy...};
                 })
            .explanation() == "fake0 has no import of device memory");
  CHECK(reported([&](auto&&... policy) {
          const imported_protection_domain none{context, adverb::protection_domain_handle{999},
                                                policy...};
        }).code() == std::errc::no_such_file_or_directory);
  CHECK(machine.live_objects() == before);
}
