// SPDX-License-Identifier: MIT
// The work requests of windows of type 2 and the calls of type 1, as they arrive at the C API.
#include <cerrno>
#include <string>

#include <support/catch.hpp>
#include <support/reported.hpp>

#include "test_bench.hpp"

using namespace adverb;
using fake::called::bind_mw;
using fake::called::post_send;

namespace {

constexpr access_rights bindable = access_right::local_write | access_right::window_bind;

struct window_bench : test_bench {
  std::array<std::byte, 256> memory{};
  memory_region region{domain, memory, bindable};
  memory_window<window_type::one> first{domain};
  memory_window<window_type::two> second{domain};
  queue_pair<transport::rc> pair = ready<transport::rc>();
};

}  // namespace

TEST_CASE("bind_window passes the window, its next key, the region and the range",
          "[ibv_post_send]") {
  window_bench bench;
  const auto binding =
      bench.second.prepare<std::byte, access_right::remote_read>(bench.region, 32, 64);
  bench.pair.post(bind_window(binding).id(5).signaled()).check();
  CHECK(bench.machine.line() ==
        "ibv_post_send qp0: BIND_MW wr_id=5 flags=SIGNALED mw1 rkey=0x3005ff "
        "bind_info={mr0+32 length=64 mw_access_flags=REMOTE_READ}");
  CHECK(binding.key() == rkey{0x3005ff});
}

TEST_CASE("The window has its old key during the post and the new key afterwards") {
  window_bench bench;
  const rkey before = bench.second.key();
  const auto binding = bench.second.prepare(bench.region, 0, 8);
  rkey seen{};
  bench.machine.before<post_send>([&] { seen = bench.second.key(); });
  bench.pair.post(bind_window(binding)).check();
  CHECK(seen == before);
  CHECK(bench.second.key() == binding.key());
  CHECK(bench.second.prepare(bench.region, 0, 8).previous_key() == binding.key());
  bench.second.restore_key(binding.previous_key());
  CHECK(bench.second.key() == before);
}

TEST_CASE("A window has its new key only if the bind was accepted") {
  window_bench bench;
  const auto post = [&](const fake::post_answer& answer) {
    const auto binding = bench.second.prepare(bench.region, 0, 8);
    const rkey before = bench.second.key();
    bench.machine.answer_post(answer);
    (void)bench.pair.post(send(), bind_window(binding).fenced(), send());
    CHECK((bench.second.key() == before || bench.second.key() == binding.key()));
    return bench.second.key() == binding.key();
  };
  CHECK(!post({.result = ENOMEM, .bad_request = 0}));
  CHECK(!post({.result = ENOMEM, .bad_request = 1}));
  CHECK(post({.result = ENOMEM, .bad_request = 2}));
  CHECK(!post({.result = EIO}));
  CHECK(post({}));
}

TEST_CASE("Invalidations pass the key") {
  window_bench bench;
  const auto binding = bench.second.prepare(bench.region, 0, 8);
  REQUIRE(binding.key() == rkey{0x3005ff});
  bench.machine.forget_calls();
  bench.pair.post(local_invalidate(binding)).check();
  bench.pair.post(local_invalidate(binding.key())).check();
  const mutable_buffer buffer = bench.region.slice(8, 16);
  bench.pair.post(send_with_invalidate(binding.remote(), buffer).solicited()).check();
  bench.pair.post(send_with_invalidate(binding.key(), buffer).solicited()).check();
  CHECK_THAT(bench.machine.lines(), is_log(R"(
    ibv_post_send qp0: LOCAL_INV invalidate_rkey=0x3005ff
    ibv_post_send qp0: LOCAL_INV invalidate_rkey=0x3005ff
    ibv_post_send qp0: SEND_WITH_INV flags=SOLICITED invalidate_rkey=0x3005ff [mr0+8 16]
    ibv_post_send qp0: SEND_WITH_INV flags=SOLICITED invalidate_rkey=0x3005ff [mr0+8 16])"));
}

TEST_CASE("Invalidation, bind and send are posted by one call in order") {
  window_bench bench;
  const auto first = bench.second.prepare(bench.region, 0, 8);
  bench.pair.post(bind_window(first)).check();
  const auto next = bench.second.prepare(bench.region, 8, 8);
  bench.machine.forget_calls();
  bench.pair.post(local_invalidate(first), bind_window(next), send()).check();
  CHECK_THAT(bench.machine.lines(), is_log(R"(
    ibv_post_send qp0: LOCAL_INV invalidate_rkey=0x3005ff;
      BIND_MW mw1 rkey=0x300500
        bind_info={mr0+8 length=8 mw_access_flags=REMOTE_WRITE|REMOTE_READ};
      SEND)"));
}

TEST_CASE("UC pairs support every operation on windows") {
  window_bench bench;
  const auto pair = bench.ready<transport::uc>();
  const auto binding = bench.second.prepare(bench.region, 0, 8);
  CHECK(pair.post(bind_window(binding), local_invalidate(binding),
                  send_with_invalidate(binding.key())));
  CHECK(pair.bind(bench.first, bench.region, 0, 8));
}

TEST_CASE("A bind by call passes its range and options and returns the new key", "[ibv_bind_mw]") {
  window_bench bench;
  const rkey before = bench.first.key();
  const auto bound = bench.pair.bind<std::uint32_t, access_right::remote_write>(
      bench.first, bench.region, 32, 64, {.id = 9, .signaled = true, .fenced = true});
  CHECK(bench.machine.line() ==
        "ibv_bind_mw qp0 mw0 wr_id=9 send_flags=FENCE|SIGNALED "
        "bind_info={mr0+32 length=64 mw_access_flags=REMOTE_WRITE}");
  CHECK(bound.previous_key() == before);
  CHECK(bound.key() == bench.first.key());
  CHECK(bound.key() != before);
  CHECK(bound.remote() == remote_buffer<std::uint32_t, access_right::remote_write>{
                              adopt, bench.region.device_address() + 32, 16, bound.key()});
}

TEST_CASE("unbind binds a range of length 0", "[ibv_bind_mw]") {
  window_bench bench;
  bench.machine.forget_calls();
  const auto bound = bench.pair.bind(bench.first, bench.region, 32, 64);
  bench.pair.unbind(bound, {.id = 10});
  CHECK_THAT(bench.machine.lines(), is_log(R"(
    ibv_bind_mw qp0 mw0
      bind_info={mr0+32 length=64 mw_access_flags=REMOTE_WRITE|REMOTE_READ}
    ibv_bind_mw qp0 mw0 wr_id=10 bind_info={mr0+32 length=0 mw_access_flags=0})"));
}

TEST_CASE("A failed bind is reported with a positive or negative errno") {
  window_bench bench;
  const std::string name = "ibv_bind_mw on fake0 mw " + to_string(bench.first.key());
  for (const int error : {ENOMEM, -ENOMEM}) {
    const failure why = reported([&] { bench.machine.fail<bind_mw>(error); },
                                 [&](auto&&... policy) {
                                   const auto bound = bench.pair.bind(bench.first, bench.region, 0,
                                                                      8, {}, policy...);
                                   CHECK(!bound);
                                 });
    CHECK(std::string{why.what()} == name + ": ENOMEM (Cannot allocate memory)");
  }
  CHECK(reported([&] { bench.machine.fail<bind_mw>(EOPNOTSUPP); },
                 [&](auto&&... policy) {
                   const auto bound =
                       bench.pair.bind(bench.first, bench.region, 0, 8, {}, policy...);
                   CHECK(!bound);
                 })
            .explanation() == "fake0 has no memory windows of type 1");
  const auto bound = bench.pair.bind(bench.first, bench.region, 0, 8);
  const failure unbound =
      reported([&] { bench.machine.fail<bind_mw>(ENOMEM); },
               [&](auto&&... policy) { bench.pair.unbind(bound, {}, policy...); });
  CHECK(unbound.verb() == "ibv_bind_mw");
  CHECK(bench.first.key() == bound.key());
}

TEST_CASE("A bind of more than 2 GiB fails with its own reason") {
  window_bench bench;
  const std::span huge{bench.memory.data(), (std::size_t{1} << 31) + 1};
  const memory_region region{bench.domain, huge, bindable};
  const auto refused = [&](int error, std::size_t length) {
    return reported([&] { bench.machine.fail<bind_mw>(error); },
                    [&](auto&&... policy) {
                      const auto bound =
                          bench.pair.bind(bench.first, region, 0, length, {}, policy...);
                      CHECK(!bound);
                    });
  };
  for (const int error : {EOPNOTSUPP, ENOSYS}) {
    CHECK(refused(error, huge.size()).explanation() == "some devices (mlx5) bind at most 2 GiB");
    CHECK(refused(error, huge.size() - 1).explanation() == "fake0 has no memory windows of type 1");
  }
}

TEST_CASE("An invalid bind by call fails without a call of the provider") {
  window_bench bench;
  const auto refused = [&](const auto& pair, memory_region_ref region,
                           const bind_options& options) {
    const failure why = reported([&](auto&&... policy) {
      const auto bound = pair.bind(bench.first, region, 0, 8, options, policy...);
      CHECK(!bound);
    });
    CHECK(why.verb() == "ibv_bind_mw");
    return why;
  };
  const memory_region unwilling{bench.domain, bench.memory};
  CHECK(refused(bench.pair, unwilling, {}).code() == std::errc::permission_denied);

  const protection_domain other{bench.context};
  auto stranger =
      queue_pair<transport::rc>::create(other, {.send_cq = bench.queue, .recv_cq = bench.queue});
  const auto failed = stranger.error();
  const failure why = refused(failed, bench.region, {});
  CHECK(why.code() == std::errc::operation_not_permitted);
  CHECK(why.explanation() ==
        "the queue pair belongs to pd " + std::to_string(other.native_handle()->handle) +
            ", the window to pd " + std::to_string(bench.domain.native_handle()->handle));

  const auto unreliable = bench.ready<transport::uc>();
  CHECK(refused(unreliable, bench.region, {.fenced = true}).explanation() == "UC has no fences");
  CHECK(refused(queue_pair<transport::rc>{}, bench.region, {}).explanation() ==
        "the queue pair is empty: moved from, closed, or never created");
  CHECK(bench.machine.count<bind_mw>() == 0);
}

TEST_CASE("Unbinding an empty window fails without a call") {
  window_bench bench;
  const window_binding<window_type::one> empty;
  CHECK(reported([&](auto&&... policy) {
          bench.pair.unbind(empty, {}, policy...);
        }).explanation() == "the memory window is empty: moved from, closed, or never created");
  const auto bound = bench.pair.bind(bench.first, bench.region, 0, 8);
  const queue_pair<transport::rc> none;
  CHECK(reported([&](auto&&... policy) { none.unbind(bound, {}, policy...); }).explanation() ==
        "the queue pair is empty: moved from, closed, or never created");
  CHECK(bench.machine.count<bind_mw>() == 1);
}

TEST_CASE("A window whose queue pair and region are closed first can still be closed") {
  window_bench bench;
  bench.pair.post(bind_window(bench.second.prepare(bench.region, 0, 8))).check();
  bench.machine.forget_calls();
  bench.pair.close();
  CHECK(!bench.pair);
  // Soft-RoCE refuses the region until the window is deallocated.
  const failure why = reported([&] { bench.machine.fail<fake::called::dereg_mr>(EINVAL); },
                               [&](auto&&... policy) { bench.region.close(policy...); });
  CHECK(why.code() == std::errc::invalid_argument);
  REQUIRE(bench.region);
  CHECK(bench.second.key() != rkey{});
  bench.second.close();
  bench.region.close();
  bench.first.close();
  bench.domain.close();
  CHECK(!bench.domain);
}
