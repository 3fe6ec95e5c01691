// SPDX-License-Identifier: MIT
// Memory windows: how they are made and adopted, and what they can be bound to.
#include <cerrno>
#include <string>

#include <adverb/memory/protection_domain.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>
#include <support/told_failures.hpp>

#include "test_bench.hpp"

using namespace adverb;
using fake::called::alloc_mw;
using fake::called::dealloc_mw;

namespace {

constexpr access_rights bindable = access_right::local_write | access_right::window_bind;
using window_1 = memory_window<window_type::one>;
using window_2 = memory_window<window_type::two>;

/// A window of type 2 and memory for it.
struct window_bench : test_bench {
  alignas(64) std::array<std::byte, 256> memory{};
  memory_region region{domain, memory, bindable};
  window_2 window{domain};

  /// The failure of `prepare` for these bytes of a region.
  template <access_rights Rights = access_right::remote_read | access_right::remote_write>
  [[nodiscard]] failure refused(memory_region_ref from, std::size_t offset,
                                std::size_t length) const {
    const failure why = reported([&](auto&&... policy) {
      const auto binding = window.prepare<std::byte, Rights>(from, offset, length, policy...);
      CHECK(!binding);
    });
    CHECK(why.verb() == "memory_window::prepare");
    return why;
  }
};

}  // namespace

TEST_CASE("A window is allocated in its domain with its type, and deallocated",
          "[ibv_alloc_mw][ibv_dealloc_mw]") {
  test_bench bench;
  bench.machine.forget_calls();
  {
    const window_1 first{bench.domain};
    const window_2 second{bench.domain};
    CHECK(second.context().native_handle() == bench.context.native_handle());
    CHECK(second.protection_domain().native_handle() == bench.domain.native_handle());
    CHECK(second.key() == rkey{second.native_handle()->rkey});
  }
  CHECK_THAT(bench.machine.lines(), is_log(R"(
    ibv_alloc_mw pd0 type=1
    ibv_alloc_mw pd0 type=2
    ibv_dealloc_mw mw1
    ibv_dealloc_mw mw0)"));
}

TEST_CASE("A domain with a live window fails to close") {
  test_bench bench;
  const window_1 window{bench.domain};
  failure why;
  bench.domain.close(why);
  CHECK(why.explanation() == "still in use by 1 memory window; destroy these first");
}

TEST_CASE("Allocating a window fails with the limits of the device") {
  test_bench bench;
  const auto refused = [&]<window_type Type>(int error) {
    return reported([&] { bench.machine.fail<alloc_mw>(error); },
                    [&](auto&&... policy) {
                      const memory_window<Type> window{bench.domain, policy...};
                      CHECK(!window);
                    });
  };
  const auto first = [&](int error) { return refused.operator()<window_type::one>(error); };
  const auto second = [&](int error) { return refused.operator()<window_type::two>(error); };
  CHECK(std::string{first(ENOMEM).what()} ==
        "ibv_alloc_mw on fake0: ENOMEM (Cannot allocate memory); the device allows 512 memory "
        "windows in all");
  CHECK(first(EINVAL).explanation() == "");
  CHECK(first(EOPNOTSUPP).explanation() == "fake0 has no memory windows");
  bench.limits().device_cap_flags = IBV_DEVICE_MEM_WINDOW;
  CHECK(second(EINVAL).explanation() == "fake0 has no memory windows of type 2");
  CHECK(second(EOPNOTSUPP).explanation() == "fake0 has no memory windows of type 2");
  CHECK(first(EINVAL).explanation() == "");
  bench.limits().max_mw = 0;
  CHECK(second(EOPNOTSUPP).explanation() == "fake0 has no memory windows");
  bench.machine.before<alloc_mw>([&] { bench.machine.fail<fake::called::query_device>(EIO); });
  CHECK(first(ENOMEM).explanation() == "");
}

TEST_CASE("A window whose deallocation failed can be closed again") {
  test_bench bench;
  window_1 window{bench.domain};
  const std::string name{to_text(window.key()).view()};
  const failure why = reported([&] { bench.machine.fail<dealloc_mw>(EBUSY); },
                               [&](auto&&... policy) { window.close(policy...); });
  CHECK(std::string{why.what()} ==
        "ibv_dealloc_mw on fake0 mw " + name + ": EBUSY (Device or resource busy)");
  REQUIRE(window);
  window.close();
  CHECK(!window);
}

TEST_CASE("A window of the C API is adopted under its own type only") {
  test_bench bench;
  ibv_mw* const native = ibv_alloc_mw(bench.domain.native_handle(), IBV_MW_TYPE_1);
  const std::string name{to_text(rkey{native->rkey}).view()};
  const failure why = reported([&](auto&&... policy) {
    const window_2 wrong{adopt, native, policy...};
    CHECK(!wrong);
  });
  CHECK(std::string{why.what()} == "memory window adoption on fake0 mw " + name +
                                       ": EINVAL (Invalid argument); it is of type 1, not of type "
                                       "2");
  reported([&](auto&&... policy) {
    const memory_window_ref<window_type::two> wrong{adopt, native, policy...};
    CHECK(!wrong);
  });
  const memory_window_ref<window_type::one> seen{adopt, native};
  CHECK(seen.native_handle() == native);
  CHECK(bench.machine.count<dealloc_mw>() == 0);
  const window_1 right{adopt, native};
  CHECK(memory_window_ref<window_type::one>{right}.native_handle() == native);
}

TEST_CASE("prepare returns a binding with the next key and the remote buffer", "[ibv_inc_rkey]") {
  window_bench bench;
  const auto before = static_cast<std::uint32_t>(bench.window.key());
  REQUIRE((before & 0xff) == 0xfe);
  const auto binding =
      bench.window.prepare<std::uint64_t, access_right::remote_write>(bench.region, 16, 24);
  CHECK(binding);
  CHECK(binding.native_window() == bench.window.native_handle());
  CHECK(binding.native().mr == bench.region.native_handle());
  CHECK(binding.native().addr == bench.region.device_address() + 16);
  CHECK(binding.native().length == 24);
  CHECK(binding.native().mw_access_flags == IBV_ACCESS_REMOTE_WRITE);
  CHECK(binding.key() == rkey{before + 1});
  CHECK(binding.previous_key() == rkey{before});
  CHECK(bench.window.key() == rkey{before});
  CHECK(binding.remote() == remote_buffer<std::uint64_t, access_right::remote_write>{
                                adopt, bench.region.device_address() + 16, 3, rkey{before + 1}});
  // The eight bits wrap, the rest of the key stays.
  bench.window.restore_key(rkey{before + 1});
  CHECK(bench.window.prepare(bench.region, 0, 1).key() == rkey{before & 0xffffff00});
}

TEST_CASE("The remote buffer of a zero_based window starts at 0") {
  window_bench bench;
  const auto binding = bench.window.prepare < std::byte,
             access_right::remote_read | access_right::zero_based > (bench.region, 16, 24);
  CHECK(binding.remote().address() == 0);
  CHECK(binding.remote().rights == access_rights{access_right::remote_read});
  CHECK(binding.native().addr == bench.region.device_address() + 16);
  CHECK(binding.native().mw_access_flags == (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED));
}

TEST_CASE("A window can cover its whole region, and no more") {
  window_bench bench;
  CHECK(bench.window.prepare(bench.region, 0, 256).remote().size() == 256);
  CHECK(bench.window.prepare(bench.region, 255, 1).remote().size() == 1);
  const failure why = bench.refused(bench.region, 200, 57);
  CHECK(why.code() == std::errc::result_out_of_range);
  CHECK(why.explanation() == "57 bytes from 200 are not inside the 256 bytes of the region");
  CHECK(bench.refused(bench.region, 257, 1).code() == std::errc::result_out_of_range);
  CHECK(bench.refused(bench.region, SIZE_MAX, 2).code() == std::errc::result_out_of_range);
  CHECK(bench.refused(bench.region, 2, SIZE_MAX).code() == std::errc::result_out_of_range);
}

TEST_CASE("A binding of no bytes is refused") {
  window_bench bench;
  const failure why = bench.refused(bench.region, 0, 0);
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation() == "a window needs at least one byte");
}

TEST_CASE("A binding needs window_bind, and local_write to grant writing") {
  window_bench bench;
  const memory_region unwilling{bench.domain, bench.memory,
                                access_right::local_write | access_right::remote_read};
  const failure why = bench.refused(unwilling, 0, 8);
  CHECK(why.code() == std::errc::permission_denied);
  CHECK(why.object() == "fake0 mw " + to_string(bench.window.key()));
  CHECK(why.explanation() ==
        "the region was registered with local_write|remote_read, without window_bind");

  const memory_region readable{bench.domain, bench.memory, access_right::window_bind};
  const failure write = bench.refused<access_right::remote_write>(readable, 0, 8);
  CHECK(write.code() == std::errc::permission_denied);
  CHECK(write.explanation() ==
        "remote_write through a window needs local_write of the region, which was registered with "
        "window_bind");
  CHECK(bench.refused<access_right::remote_atomic>(readable, 0, 8).explanation() ==
        "remote_atomic through a window needs local_write of the region, which was registered with "
        "window_bind");
  CHECK(bench.window.prepare<std::byte, access_right::remote_read>(readable, 0, 8));
}

TEST_CASE("A binding of a zero_based region is refused") {
  window_bench bench;
  const memory_region based{bench.domain, bench.memory, bindable | access_right::zero_based};
  const failure why = bench.refused(based, 0, 8);
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation() == "a zero_based region takes no windows");
}

TEST_CASE("A binding of a region of another domain is refused") {
  window_bench bench;
  const protection_domain other{bench.context};
  const memory_region strange{other, bench.memory, bindable};
  const failure why = bench.refused(strange, 0, 8);
  CHECK(why.code() == std::errc::operation_not_permitted);
  CHECK(why.explanation() ==
        "the region belongs to pd " + std::to_string(other.native_handle()->handle) +
            ", the window to pd " + std::to_string(bench.domain.native_handle()->handle));
}

TEST_CASE("A window of a parent domain accepts a region of the domain that it extends") {
  window_bench bench;
  const parent_domain parent{bench.domain, {}};
  window_2 window{parent};
  CHECK(window.prepare(bench.region, 0, 8));
  const memory_region extended{parent, bench.memory, bindable};
  CHECK(bench.window.prepare(extended, 0, 8));
}

TEST_CASE("A binding that grants atomics needs an aligned address") {
  window_bench bench;
  const failure why = bench.refused<access_right::remote_atomic>(bench.region, 4, 8);
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation() == "atomic operations need an address that is a multiple of 8");
  CHECK(bench.window.prepare(bench.region, 4, 8));
}

TEST_CASE("A refused binding explains every problem and has the errno of the first") {
  window_bench bench;
  const memory_region unwilling{bench.domain, bench.memory, access_rights{}};
  const failure why = bench.refused(unwilling, 0, 257);
  CHECK(why.code() == std::errc::permission_denied);
  CHECK(why.explanation() ==
        "the region was registered with none, without window_bind; remote_write through a window "
        "needs local_write of the region, which was registered with none; 257 bytes from 0 are not "
        "inside the 256 bytes of the region");
}

TEST_CASE("A binding with an empty region or window is refused") {
  window_bench bench;
  CHECK(bench.refused(memory_region_ref{}, 0, 8).explanation() ==
        "the memory region is empty: moved from, closed, or never created");
  bench.window.close();
  CHECK(bench.refused(bench.region, 0, 8).explanation() ==
        "the memory window is empty: moved from, closed, or never created");
  const window_binding<window_type::two> empty;
  CHECK(!empty);
}
