// SPDX-License-Identifier: MIT
// Calls that meet a limit of the process: its descriptors and its threads. Each fails with the call
// of the system, the limit and nothing left behind, and succeeds when the limit is lifted.
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>
#include <support/catch.hpp>

#include "cm/async_side.hpp"
#include "cm/child_process.hpp"
#include "cm/resources.hpp"

using namespace async_test;
using namespace std::chrono_literals;

namespace {

namespace limits_of_the_process {

/// Runs a path with 0, 1, 2, … descriptors until one run succeeds. Returns the number of runs that
/// failed. A peer over TCP that has no descriptor left does not answer in time.
std::size_t run_out_of_files(const std::function<void()>& path, bool may_be_late = false) {
  // Both libraries open files once.
  path();
  const std::size_t files = open_files();
  const std::string objects = rdma_objects();
  std::size_t more = 0;
  for (bool has_failed = true; has_failed; ++more) {
    failure why;
    std::string other;
    {
      const few_files some{more};
      try {
        path();
      } catch (const error& failed) {
        why = failed.failure();
      } catch (const std::exception& failed) {
        other = failed.what();
      }
    }
    INFO(more << " descriptors: " << why.what() << other);
    has_failed = static_cast<bool>(why);
    REQUIRE(other.empty());
    REQUIRE(open_files() == files);
    if (!has_failed) continue;
    CHECK_FALSE(why.verb().empty());
    if (may_be_late && why.code() == std::errc::timed_out) continue;
    // libibverbs reports ENOSYS if it cannot read which version the kernel has.
    if (why.verb() == "ibv_get_device_list")
      CHECK(why.code() == std::errc::function_not_supported);
    else
      CHECK(why.code() == std::errc::too_many_files_open);
    CHECK(why.explanation().find("ulimit -n") != std::string_view::npos);
  }
  CHECK(rdma_objects_settled_to(objects) == objects);
  path();
  return more - 1;
}

/// Returns the function that notes the first exception of a task, and ends the loop then.
template <class Listener>
auto note_first(std::exception_ptr& failed, async::event_loop& loop, Listener& listener) {
  return [&](const std::exception_ptr& why) {
    if (!why) return;
    if (!failed) failed = why;
    listener.cancel_waits();
    loop.stop();
  };
}

void echo_in_tasks() {
  async::event_loop loop;
  async::listener listener{loop, every_address()};
  std::exception_ptr failed;
  const auto note = note_first(failed, loop, listener);
  loop.spawn(
      [](async::listener& from) -> async::task<> {
        co_await echo(co_await from.accept(small));
      }(listener),
      note);
  int answers = 0;
  loop.spawn(ask(loop, device_address(listener.port()), 1, answers), note);
  loop.run();
  if (failed) std::rethrow_exception(failed);
  CHECK(answers == 1);
}

void exchange_over(messages::network which) {
  messages::channel_options options;
  options.over = which;
  options.receives = 8;
  options.block_size = 256;
  // A peer over TCP that has no descriptor left does not answer.
  options.connect_timeout = which == messages::network::tcp ? 3s : 30s;
  async::event_loop loop;
  messages::listener listener{loop, every_address(), options};
  std::exception_ptr failed;
  const auto note = note_first(failed, loop, listener);
  loop.spawn(
      [](messages::listener& from) -> async::task<> {
        messages::channel client = co_await from.accept();
        const messages::incoming got = co_await client.next();
        co_await client.send(got.bytes());
        co_await client.close();
      }(listener),
      note);
  std::size_t answered = 0;
  loop.spawn(
      [](async::event_loop& on, std::uint16_t port, messages::channel_options with,
         std::size_t& size) -> async::task<> {
        messages::channel server = co_await messages::connect(on, device_address(port), with);
        co_await server.send(std::string_view{"hello"});
        const messages::incoming answer = co_await server.next();
        size = answer.bytes().size();
        co_await server.close();
      }(loop, listener.port(), options, answered),
      note);
  loop.run();
  if (failed) std::rethrow_exception(failed);
  CHECK(answered == 5);
}

}  // namespace limits_of_the_process

}  // namespace

using limits_of_the_process::run_out_of_files;

TEST_CASE("Objects of a device fail and leave nothing if the descriptors run out",
          "[ibv_open_device][ibv_create_comp_channel]") {
  CHECK(run_out_of_files([] {
          const context device = open_device();
          const completion_channel channel{device};
          const completion_queue queue{device, 16, {.channel = channel}};
          const protection_domain domain{device};
          const auto pair = queue_pair<transport::rc>::create(domain, {.cq = queue});
        }) >= 3);
}

TEST_CASE("A blocking connection fails and leaves nothing if the descriptors run out",
          "[rdma_create_event_channel][rdma_create_qp]") {
  CHECK(run_out_of_files([] {
          const auto listener = rc_listener::create(device_address());
          auto start = cm::connector<transport::rc>::create();
          auto near = start.resolve_address(listener.local_address());
          auto far = near.resolve_route();
          const auto ready = far.create_queue_pair();
        }) >= 2);
}

TEST_CASE("An asynchronous connection fails and leaves nothing if the descriptors run out",
          "[rdma_create_event_channel][rdma_connect][rdma_accept]") {
  CHECK(run_out_of_files(limits_of_the_process::echo_in_tasks) >= 4);
}

TEST_CASE("A channel over RDMA fails and leaves nothing if the descriptors run out",
          "[rdma_create_event_channel][rdma_connect][rdma_accept]") {
  CHECK(run_out_of_files([] { limits_of_the_process::exchange_over(messages::network::rdma); }) >=
        4);
}

TEST_CASE("A channel over TCP fails and leaves nothing if the descriptors run out") {
  CHECK(run_out_of_files([] { limits_of_the_process::exchange_over(messages::network::tcp); },
                         true) >= 4);
}

TEST_CASE("Signals that a loop cannot take are not blocked", "[rdma_create_event_channel]") {
  const auto is_blocked = [] {
    sigset_t blocked;
    REQUIRE(::pthread_sigmask(SIG_BLOCK, nullptr, &blocked) == 0);
    return ::sigismember(&blocked, SIGUSR1) == 1;
  };
  async::event_loop loop;
  failure why;
  {
    const few_files none{0};
    loop.stop_on({SIGUSR1}, why);
  }
  CHECK(why.code() == std::errc::too_many_files_open);
  CHECK(why.verb() == "signalfd");
  CHECK(why.explanation().find("ulimit -n") != std::string_view::npos);
  CHECK_FALSE(is_blocked());
  loop.stop_on({SIGUSR1}, why);
  CHECK_FALSE(why);
  CHECK(is_blocked());
}

TEST_CASE("role: a user who may have no more threads", "[.]") {
  async::event_loop loop;
  const rlimit none{0, 0};
  REQUIRE(::setrlimit(RLIMIT_NPROC, &none) == 0);
  constexpr uid_t nobody = 65534;
  REQUIRE(::setuid(nobody) == 0);
  failure why;
  loop.spawn([&]() -> async::task<> {
    const std::vector<cm::socket_address> found =
        co_await async::look_up(loop, "localhost", 1).report_to(why);
    CHECK(found.empty());
  });
  loop.run();
  CHECK(why.code() == std::errc::resource_unavailable_try_again);
  CHECK(why.verb() == "pthread_create");
  CHECK(why.object() == "the lookup of localhost");
  CHECK(why.explanation().starts_with("no thread could be created for it; possible causes: "));
}

TEST_CASE("A lookup of a name without a thread explains the limits of threads",
          "[rdma_create_event_channel]") {
  child_process limited{"role: a user who may have no more threads"};
  CHECK(limited.wait() == 0);
}
