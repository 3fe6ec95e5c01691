// SPDX-License-Identifier: MIT
// Destroying what is in use, and destroys that fail.
#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <adverb/completion/completion_queue.hpp>
#include <adverb/memory/memory_region.hpp>
#include <adverb/queue/multicast.hpp>
#include <adverb/queue/queue_pair.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>
#include <support/told_failures.hpp>

#include "fake.hpp"

namespace {

namespace called = fake::called;
using names = std::vector<std::string>;

std::array<std::byte, 64> memory;

}  // namespace

TEST_CASE("closing a context with live children fails and names them") {
  fake::machine machine;
  const told_failures told;
  std::optional<adverb::context> context = adverb::open_device();
  adverb::protection_domain domain{*context};
  const adverb::completion_queue queue{*context, 16};
  const adverb::completion_queue other{*context, 16};

  CHECK(std::string{reported([&](auto&&... policy) { context->close(policy...); }).what()} ==
        "ibv_close_device on fake0: EBUSY (Device or resource busy); still in use by "
        "1 protection domain, 2 completion queues; destroy these first");
  CHECK(*context);

  context.reset();
  CHECK(machine.count<called::close_device>() == 0);
  CHECK(told.messages().size() == 1);
  domain.close();
  CHECK(machine.count<called::dealloc_pd>() == 1);
}

TEST_CASE("a failed close of a parent names its children") {
  fake::machine machine;
  adverb::context context = adverb::open_device();
  adverb::protection_domain domain{context};
  const adverb::memory_region region{domain, memory};
  CHECK(reported([&](auto&&... policy) { domain.close(policy...); }).explanation() ==
        "still in use by 1 memory region; destroy these first");

  adverb::completion_channel channel{context};
  const adverb::completion_queue queue{context, 16, {.channel = channel}};
  CHECK(reported([&](auto&&... policy) { channel.close(policy...); }).explanation() ==
        "still in use by 1 completion queue; destroy these first");
}

TEST_CASE("an adopted object counts as a child until it is released") {
  fake::machine machine;
  adverb::context context = adverb::open_device();
  adverb::protection_domain adopted{adverb::adopt, ibv_alloc_pd(context.native_handle())};
  std::error_code code;
  context.close(code);
  CHECK(code == std::errc::device_or_resource_busy);

  ibv_pd* const native = adopted.release();
  context.close(code);
  CHECK_FALSE(code);
  CHECK(ibv_dealloc_pd(native) == 0);
}

TEST_CASE("an object whose destroy failed can be closed again") {
  fake::machine machine;
  const adverb::context context = adverb::open_device();
  adverb::completion_queue queue{context, 16};
  const adverb::failure why = reported([&] { machine.fail<called::destroy_cq>(EBUSY); },
                                       [&](auto&&... policy) { queue.close(policy...); });
  CHECK(std::string{why.what()} == "ibv_destroy_cq on fake0 cq " +
                                       std::to_string(queue.native_handle()->handle) +
                                       ": EBUSY (Device or resource busy)");
  CHECK(queue);
  queue.close();
  CHECK_FALSE(queue);
  CHECK(machine.count<called::destroy_cq>() == 4);
}

TEST_CASE("a failed destroy names the object",
          "[ibv_destroy_comp_channel][ibv_dealloc_pd][ibv_dereg_mr]") {
  fake::machine machine;
  const told_failures told;
  const adverb::context context = adverb::open_device();
  {
    const adverb::protection_domain domain{context};
    machine.fail<called::dealloc_pd>(EBUSY);
    const adverb::completion_channel channel{context};
    machine.fail<called::destroy_comp_channel>(EBUSY);
  }
  const adverb::protection_domain domain{context};
  {
    const adverb::memory_region region{domain, memory};
    machine.fail<called::dereg_mr>(EINVAL);
  }
  CHECK(told.messages() ==
        names{"ibv_destroy_comp_channel on fake0 completion channel: "
              "EBUSY (Device or resource busy)",
              "ibv_dealloc_pd on fake0 pd 1: EBUSY (Device or resource busy)",
              "ibv_dereg_mr on fake0 mr 0x1003: EINVAL (Invalid argument); possible causes: a "
              "memory window is bound to it; unbind, invalidate or deallocate that first"});
  CHECK(machine.live_objects() == 5);
  adverb::set_failure_hook([](const adverb::failure&) noexcept {});
}

// Other cases leave objects, whose addresses its own may get.
TEST_CASE("objects that the kernel has destroyed with their device do not block their parents",
          "[alone]") {
  fake::machine machine;
  const told_failures told;
  adverb::context context = adverb::open_device();
  adverb::protection_domain domain{context};
  adverb::completion_queue queue{context, 16};
  adverb::memory_region region{domain, memory};
  {
    const auto pair =
        adverb::queue_pair<adverb::transport::rc>::create(domain, {.cq = queue, .max_send_wr = 4});
    machine.fail<called::destroy_qp>(EIO);
  }
  machine.fail<called::dereg_mr>(-EIO);
  region.close();
  CHECK_FALSE(region);
  machine.fail<called::destroy_cq>(EIO);
  queue.close();
  machine.fail<called::dealloc_pd>(EIO);
  domain.close();
  context.close();
  CHECK(machine.count<called::close_device>() == 1);
  CHECK(told.messages().empty());
}

// Linux 7.3 refuses requests on a removed device first (a queue pair cannot leave its groups), and
// destroys the objects then.
TEST_CASE("objects of a device that is being removed do not block their parents", "[alone]") {
  fake::machine machine;
  const told_failures told;
  {
    const adverb::context context = adverb::open_device();
    const adverb::protection_domain domain{context};
    const adverb::completion_queue queue{context, 16};
    const auto pair =
        adverb::queue_pair<adverb::transport::ud>::create(domain, {.cq = queue, .max_send_wr = 4});
    const adverb::multicast_attachment attachment{pair, adverb::gid{fake::ipv4_gid(239, 1, 2, 3)}};
    machine.fail_by([](const fake::call& made) {
      return made.line().starts_with("ibv_query_port") ? EIO : EBUSY;
    });
  }
  CHECK(machine.count<called::close_device>() == 1);
  CHECK(told.messages().empty());
}

TEST_CASE("a child of fork leaves alone what its parent has made, and destroys its own") {
  fake::machine machine;
  adverb::context context = adverb::open_device();
  adverb::protection_domain domain{context};
  const pid_t child = ::fork();
  REQUIRE(child != -1);
  if (child == 0) {
    adverb::protection_domain of_child{context};
    domain.close();
    const bool is_left_alone = !domain && machine.count<called::dealloc_pd>() == 0;
    of_child.close();
    ::_exit(is_left_alone && machine.count<called::dealloc_pd>() == 1 ? 0 : 1);
  }
  int status = -1;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  domain.close();
  CHECK(machine.count<called::dealloc_pd>() == 1);
}
