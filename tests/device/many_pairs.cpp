// SPDX-License-Identifier: MIT
// Many pairs, many operations, and many turns.
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

#include "cm/resources.hpp"
#include "shared_receive_queue.hpp"

using namespace adverb;

namespace {

namespace many_pairs {

/// A pair that is connected to itself.
[[nodiscard]] queue_pair<transport::rc> connected_to_itself(protection_domain_ref domain,
                                                            completion_queue_ref queue,
                                                            std::uint32_t size) {
  auto fresh = queue_pair<transport::rc>::create(domain, {.cq = queue, .max_send_wr = size});
  auto waiting = initialised(fresh);
  const endpoint itself = waiting.endpoint();
  return waiting.connect(itself, unhurried());
}

}  // namespace many_pairs

}  // namespace

TEST_CASE("A hundred pairs complete a hundred thousand writes in order") {
  constexpr std::size_t pairs = 100;
  constexpr std::size_t chains = 40;
  constexpr std::size_t of_chain = 25;
  const context device = open_device();
  const protection_domain domain{device};
  std::vector<std::uint64_t> numbers(2 * pairs * of_chain);
  const memory_region region{domain, numbers, every_right};
  const auto remote = region.remote<std::byte, access_right::remote_write>();
  const completion_queue queue{device, 2 * pairs};
  std::vector<queue_pair<transport::rc>> all;
  for (std::size_t each = 0; each < pairs; ++each)
    all.push_back(many_pairs::connected_to_itself(domain, queue, 2 * of_chain));

  // Numbers of the second half go to the first.
  std::array<send_chain<of_chain>, pairs> posted;
  for (std::size_t each = 0; each < pairs; ++each) {
    for (std::size_t next = 0; next < of_chain; ++next) {
      const std::size_t at = 8 * (each * of_chain + next);
      const auto request = write(remote.slice(at, 8), region.slice(8 * pairs * of_chain + at, 8));
      REQUIRE(posted[each].add(next + 1 == of_chain ? request.id(each).signaled() : request));
    }
  }
  for (std::size_t chain = 1; chain <= chains; ++chain) {
    for (std::size_t each = 0; each < pairs * of_chain; ++each)
      numbers[pairs * of_chain + each] = chain * pairs * of_chain + each;
    for (std::size_t each = 0; each < pairs; ++each) all[each].post(posted[each]).check();
    std::set<std::uint64_t> done;
    for (std::size_t each = 0; each < pairs; ++each) {
      const completion next = next_success(queue);
      done.insert(next.id());
      REQUIRE(next.queue_pair() == all[next.id()].number());
    }
    CHECK(done.size() == pairs);
    std::size_t wrong = 0;
    for (std::size_t each = 0; each < pairs * of_chain; ++each)
      if (numbers[each] != chain * pairs * of_chain + each) ++wrong;
    CHECK(wrong == 0);
  }
}

TEST_CASE("Pairs whose messages exceed the shared receives many times lose none") {
  constexpr std::size_t pairs = 8;
  constexpr std::uint64_t of_each = 16;
  constexpr std::uint64_t receives = 4;
  shared_loopback<transport::rc> link{pairs};
  for (std::size_t each = 0; each < pairs; ++each) {
    for (std::uint64_t message = 0; message < of_each; ++message) {
      const auto request =
          send_with_immediate(immediate{static_cast<std::uint32_t>(each * of_each + message)},
                              link.near_end.region.const_slice(0, 8));
      link.near_pairs[each]
          .post(message + 1 == of_each ? request.signaled().id(each) : request)
          .check();
    }
  }
  for (std::uint64_t id = 0; id < receives; ++id)
    link.shared.post(receive(link.far_end.region.slice(0, 8)).id(id)).check();
  std::array<std::uint64_t, pairs> arrived{};
  for (std::uint64_t message = 0; message < pairs * of_each; ++message) {
    const completion done = next_success(link.far_end.queue);
    const auto number = static_cast<std::uint64_t>(done.success().receive().immediate().value());
    const std::size_t pair = number / of_each;
    CHECK(done.queue_pair() == link.far_pairs[pair].number());
    CHECK(number % of_each == arrived[pair]++);
    link.shared.post(receive(link.far_end.region.slice(0, 8)).id(done.id())).check();
  }
  for (std::size_t each = 0; each < pairs; ++each) next_success(link.near_end.queue);
}

TEST_CASE(
    "A burst of datagrams fills the receives in order, and the rest is lost without an error") {
  constexpr std::uint32_t burst = 32;
  loopback<transport::ud> link;
  const address_handle way{link.domain, link.to_far};
  const datagram_destination far{way, link.far_endpoint.number, link.far_endpoint.queue_key};
  send_chain<burst, transport::ud> chain;
  for (std::uint32_t each = 0; each < burst; ++each)
    REQUIRE(chain.add(send_with_immediate(immediate{each}).to(far).id(each).signaled()));
  for (const std::uint32_t receives : {burst, burst / 2, 1U}) {
    INFO(receives << " receives");
    for (int turn = 0; turn < 8; ++turn) {
      for (std::uint64_t id = 0; id < receives; ++id)
        link.far_pair.post(receive(link.far_end.region.slice(0, 64)).id(id)).check();
      link.near_pair.post(chain).check();
      for (std::uint64_t id = 0; id < burst; ++id)
        CHECK(next_success(link.near_end.queue).id() == id);
      for (std::uint32_t each = 0; each < receives; ++each) {
        const completion done = next_success(link.far_end.queue);
        CHECK(done.id() == each);
        CHECK(done.success().receive().immediate() == immediate{each});
      }
      std::array<completion, 1> none;
      CHECK(link.far_end.queue.poll(none).empty());
      // Some of the rest may be on its way. These receives take that, and then the datagrams behind
      // it, so that none is left for the next turn.
      for (std::uint32_t each = 0; each < burst; ++each)
        link.far_pair.post(receive(link.far_end.region.slice(0, 64))).check();
      for (std::uint32_t taken = 0; taken < burst;) {
        link.near_pair.post(send_with_immediate(immediate{burst}).to(far).signaled()).check();
        next_success(link.near_end.queue);
        for (bool is_last = false; !is_last; ++taken) {
          const completion done = next_success(link.far_end.queue);
          is_last = done.success().receive().immediate() == immediate{burst};
        }
      }
    }
  }
  CHECK(link.far_pair.query().state() == qp_state::rts);
}

TEST_CASE("A pair created after another was destroyed does not receive its messages") {
  loopback_options<transport::rc> options;
  options.connect.retry_count = 1;
  options.connect.acknowledge_timeout = std::chrono::milliseconds{4};
  loopback<transport::rc> link{options};
  std::set<qp_number> numbers{link.near_pair.number(), link.far_pair.number()};
  link.far_pair.close();
  std::vector<queue_pair<transport::rc>> later;
  for (int each = 0; each < 40; ++each) {
    auto fresh = queue_pair<transport::rc>::create(link.domain,
                                                   {.cq = link.far_end.queue, .max_recv_wr = 4});
    auto waiting = initialised(fresh);
    later.push_back(waiting.connect(link.near_endpoint));
    later.back().post(receive(link.far_end.region.slice(0, 64)).id(5)).check();
    numbers.insert(later.back().number());
    // Half of them live on.
    if (each % 2 == 0) later.pop_back();
  }
  // Soft-RoCE numbers pairs in a circle of a million.
  if (is_soft_roce(link.context)) CHECK(numbers.size() == 42);
  link.near_end.fill(0, 64, 1);
  link.near_pair.post(send(link.near_end.region.slice(0, 64)).signaled()).check();
  CHECK(next_completion(link.near_end.queue).status() == completion_status::retries_exceeded);
  std::array<completion, 1> none;
  CHECK(link.far_end.queue.poll(none).empty());
  CHECK(link.far_end.bytes == std::vector<std::byte>(link.far_end.bytes.size()));
  for (const auto& each : later) CHECK(each.query().state() == qp_state::rts);
}

TEST_CASE("Pairs of every transport share one completion queue") {
  const auto check = []<class Queue>(std::type_identity<Queue>) {
    const context device = open_device();
    const protection_domain domain{device};
    end_with<Queue> end{device, domain};
    const queue_pair_options options{.cq = end.queue, .max_send_wr = 8, .max_recv_wr = 8};
    auto fresh_rc = queue_pair<transport::rc>::create(domain, options);
    auto waiting_rc = initialised(fresh_rc);
    const endpoint rc_end = waiting_rc.endpoint();
    const auto rc = waiting_rc.connect(rc_end, unhurried());
    auto fresh_uc = queue_pair<transport::uc>::create(domain, options);
    auto waiting_uc = initialised(fresh_uc);
    const endpoint uc_end = waiting_uc.endpoint();
    const auto uc = waiting_uc.connect(uc_end);
    auto fresh_ud = queue_pair<transport::ud>::create(domain, options);
    auto waiting_ud = initialised(fresh_ud);
    const endpoint ud_end = waiting_ud.endpoint();
    const address_handle way{domain, waiting_ud.address_of(ud_end)};
    auto receiving_ud = waiting_ud.rtr().apply();
    const auto ud = receiving_ud.rts().apply();

    for (unsigned turn = 0; turn < 60; ++turn) {
      end.fill(0, 96, turn);
      rc.post(receive(end.region.slice(1024, 256)).id(11)).check();
      uc.post(receive(end.region.slice(2048, 256)).id(12)).check();
      ud.post(receive(end.region.slice(3072, 256)).id(13)).check();
      rc.post(send(end.region.slice(0, 32)).id(1).signaled()).check();
      uc.post(send(end.region.slice(32, 32)).id(2).signaled()).check();
      ud.post(send(end.region.slice(64, 32))
                  .id(3)
                  .signaled()
                  .to({way, ud_end.number, ud_end.queue_key}))
          .check();
      std::set<std::pair<std::uint64_t, qp_number>> done;
      for (int each = 0; each < 6; ++each) {
        REQUIRE(end.queue.busy_poll(
                    up_to<1>,
                    [&](const auto& one) {
                      one.check();
                      done.emplace(one.id(), one.queue_pair());
                    },
                    std::chrono::seconds{10}) == 1);
      }
      CHECK(done == std::set<std::pair<std::uint64_t, qp_number>>{{1, rc.number()},
                                                                  {11, rc.number()},
                                                                  {2, uc.number()},
                                                                  {12, uc.number()},
                                                                  {3, ud.number()},
                                                                  {13, ud.number()}});
      CHECK(end.holds(1024, 32, turn));
      CHECK(end.holds(2048, 32, turn + 32 * 7));
      CHECK(end.holds(3072 + grh_size, 32, turn + 64 * 7));
    }
  };
  SECTION("classic") { check(std::type_identity<completion_queue>{}); }
  SECTION("extended") { check(std::type_identity<extended_completion_queue<>>{}); }
}

TEST_CASE("Connections that carry messages and are destroyed leave nothing behind",
          "[ibv_destroy_qp][ibv_close_device]") {
  unsigned turns = 0;
  unsigned arrived = 0;
  const auto turn = [&] {
    const unsigned seed = turns++;
    loopback<transport::rc> link;
    link.near_end.fill(0, 4096, seed);
    link.far_pair.post(receive(link.far_end.region.slice(0, 4096))).check();
    link.near_pair.post(send(link.near_end.region.slice(0, 4096)).signaled()).check();
    next_success(link.near_end.queue);
    next_success(link.far_end.queue);
    if (link.far_end.holds(0, 4096, seed)) ++arrived;
  };
  // The table of the level DEBUG keeps the regions that went last, so its memory grows for some
  // time.
  for (int time = 0; time < 20; ++time) turn();
  cm_test::check_leaves_nothing(512, [&](std::size_t) {
    for (int time = 0; time < 40; ++time) turn();
  });
  CHECK(arrived == turns);
}
