// SPDX-License-Identifier: MIT
// Thread domains and parent domains.
#include <array>
#include <cerrno>
#include <cstdint>
#include <string>

#include <adverb/memory/memory_region.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

#include "fake.hpp"
#include "log.hpp"

namespace {

namespace called = fake::called;
using adverb::parent_domain;
using adverb::provider_allocation;
using adverb::thread_domain;

struct fixture {
  fake::machine machine;
  adverb::context context = adverb::open_device();
  adverb::protection_domain domain{context};
};

/// Returns the prepared answer, and records the request.
struct allocator {
  provider_allocation answer = provider_allocation::use_default();
  std::size_t size = 0;
  std::size_t alignment = 0;
  std::uint64_t resource_type = 0;
  void* deallocated = nullptr;

  provider_allocation allocate(std::size_t asked_size, std::size_t asked_alignment,
                               std::uint64_t asked_type) noexcept {
    size = asked_size;
    alignment = asked_alignment;
    resource_type = asked_type;
    return answer;
  }
  void deallocate(void* memory, std::uint64_t type) noexcept {
    deallocated = memory;
    resource_type = type;
  }
};

}  // namespace

TEST_CASE_METHOD(fixture, "a thread domain is created and destroyed",
                 "[ibv_alloc_td][ibv_dealloc_td]") {
  {
    const thread_domain thread{context};
    CHECK(thread.context().native_handle() == context.native_handle());
  }
  CHECK_THAT((machine.lines<called::alloc_td, called::dealloc_td>()), is_log(R"(
    ibv_alloc_td ctx0
    ibv_dealloc_td td0)"));
}

TEST_CASE_METHOD(fixture, "creating a thread domain fails with a reason on a device without them") {
  const adverb::failure why = reported([&] { machine.fail<called::alloc_td>(EOPNOTSUPP); },
                                       [&](auto&&... policy) {
                                         const thread_domain made{context, policy...};
                                         CHECK(!made);
                                       });
  CHECK(std::string{why.what()} ==
        "ibv_alloc_td on fake0: EOPNOTSUPP (Operation not supported); fake0 has no thread domains");
}

TEST_CASE_METHOD(fixture, "a parent domain is created from its domain and a thread domain",
                 "[ibv_alloc_parent_domain][ibv_dealloc_pd]") {
  const thread_domain thread{context};
  {
    const parent_domain parent{domain, {.thread_domain = thread}};
    CHECK(parent.context().native_handle() == context.native_handle());
    CHECK(parent.handle() == domain.handle());
  }
  CHECK_THAT((machine.lines<called::alloc_parent_domain, called::dealloc_pd>()), is_log(R"(
    ibv_alloc_parent_domain ctx0 pd=pd0 td=td0
    ibv_dealloc_pd pd1)"));
}

TEST_CASE_METHOD(fixture, "a region registered in a parent domain is its child") {
  parent_domain parent{domain, {}};
  std::array<std::byte, 64> memory{};
  machine.name("memory", memory);
  const adverb::memory_region region{parent, memory};
  CHECK(machine.line() == "ibv_reg_mr pd1 addr=memory length=64 access=LOCAL_WRITE");
  CHECK(reported([&](auto&&... policy) { parent.close(policy...); }).explanation() ==
        "still in use by 1 memory region; destroy these first");
}

TEST_CASE_METHOD(fixture, "closing the domains of a parent domain fails while it lives") {
  thread_domain thread{context};
  parent_domain parent{domain, {.thread_domain = thread}};
  const std::string in_use = "still in use by 1 protection domain; destroy these first";
  CHECK(reported([&](auto&&... policy) { domain.close(policy...); }).explanation() == in_use);
  CHECK(reported([&](auto&&... policy) { thread.close(policy...); }).explanation() == in_use);

  // Also when the parent domain has moved.
  parent_domain moved = std::move(parent);
  parent_domain assigned;
  assigned = std::move(moved);
  CHECK(reported([&](auto&&... policy) { domain.close(policy...); }).explanation() == in_use);

  assigned.close();
  thread.close();
  domain.close();
  CHECK(machine.live_objects() == 1);
}

TEST_CASE_METHOD(fixture, "a parent domain whose destroy fails stays a child") {
  thread_domain thread{context};
  parent_domain parent{domain, {.thread_domain = thread}};
  machine.fail<called::dealloc_pd>(EBUSY);
  std::error_code code;
  parent.close(code);
  CHECK(code == std::errc::device_or_resource_busy);
  thread.close(code);
  CHECK(code == std::errc::device_or_resource_busy);
  parent.close();
  thread.close(code);
  CHECK_FALSE(code);
}

TEST_CASE_METHOD(fixture, "a released parent domain is no longer a child") {
  parent_domain parent{domain, {}};
  ibv_pd* const native = parent.release();
  const parent_domain adopted{adverb::adopt, native};
  CHECK(adopted);
  domain.close();
}

TEST_CASE_METHOD(fixture, "creating a parent domain fails with a reason and leaks nothing") {
  const adverb::failure unsupported =
      reported([&] { machine.fail<called::alloc_parent_domain>(EOPNOTSUPP); },
               [&](auto&&... policy) {
                 const parent_domain made{domain, {}, policy...};
                 CHECK(!made);
               });
  CHECK(std::string{unsupported.what()} ==
        "ibv_alloc_parent_domain on fake0 pd 1: EOPNOTSUPP (Operation not supported); "
        "fake0 has no parent domains");
  allocator memory;
  for (const int error : {EINVAL, EOPNOTSUPP, ENOSYS}) {
    const adverb::failure no_allocators =
        reported([&] { machine.fail<called::alloc_parent_domain>(error); },
                 [&](auto&&... policy) {
                   const parent_domain made{domain, {.allocator = memory}, policy...};
                   CHECK(!made);
                 });
    CHECK(no_allocators.explanation() ==
          "the device has no parent domains, or none with allocators");
  }
  const adverb::protection_domain none;
  CHECK(reported([&](auto&&... policy) {
          const parent_domain made{none, {}, policy...};
          CHECK(!made);
        }).explanation() == "the protection domain is empty: moved from, closed, or never created");
  CHECK(machine.live_objects() == 2);
  domain.close();
}

TEST_CASE_METHOD(fixture, "the allocator of a parent domain allocates the provider's memory",
                 "[ibv_alloc_parent_domain]") {
  allocator memory;
  machine.name("memory", memory);
  const parent_domain parent{domain, {.allocator = memory}};
  const ibv_parent_domain_init_attr given =
      machine.calls<called::alloc_parent_domain>().at(0).attributes;
  CHECK(machine.line() ==
        "ibv_alloc_parent_domain ctx0 pd=pd0 alloc=given free=given pd_context=memory");

  const auto ask = [&] {
    return given.alloc(parent.native_handle(), given.pd_context, 8192, 4096, 0x50000'0001);
  };
  CHECK(ask() == IBV_ALLOCATOR_USE_DEFAULT);
  CHECK(memory.size == 8192);
  CHECK(memory.alignment == 4096);
  CHECK(memory.resource_type == 0x50000'0001);
  memory.answer = provider_allocation::failed();
  CHECK(ask() == nullptr);
  std::array<std::byte, 64> bytes{};
  memory.answer = provider_allocation{bytes.data()};
  CHECK(ask() == bytes.data());

  given.free(parent.native_handle(), given.pd_context, bytes.data(), 7);
  CHECK(memory.deallocated == bytes.data());
  CHECK(memory.resource_type == 7);
}

TEST_CASE_METHOD(fixture, "a failed destroy names the thread domain") {
  thread_domain thread{context};
  const adverb::failure why = reported([&] { machine.fail<called::dealloc_td>(EBUSY); },
                                       [&](auto&&... policy) { thread.close(policy...); });
  CHECK(std::string{why.what()} == "ibv_dealloc_td on fake0 td: EBUSY (Device or resource busy)");
}
