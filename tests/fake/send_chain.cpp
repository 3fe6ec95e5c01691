// SPDX-License-Identifier: MIT
// Chains whose length and kinds are known at run time, as they reach the C API.
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <support/catch.hpp>

#include "test_bench.hpp"

using namespace adverb;

namespace {

struct chain_bench : test_bench {
  std::array<std::uint64_t, 8> memory{};
  memory_region region{domain, memory, access_right::local_write};
  queue_pair<transport::rc> pair = ready<transport::rc>({.max_send_wr = 16});
  remote_buffer<std::uint64_t, access_right::remote_write> remote{adopt, 0x1000, 8, rkey{0xaa}};
  mutable_buffer first = region.slice(0, 8);
  mutable_buffer second = region.slice(16, 24);
};

}  // namespace

TEST_CASE("A chain posts the requests that were added, with one call and in order",
          "[ibv_post_send]") {
  chain_bench bench;
  send_chain<4> chain;
  for (std::size_t count = 0; count < 3; ++count) {
    chain.clear();
    for (std::size_t each = 0; each < count; ++each)
      REQUIRE(chain.add(write(bench.remote.slice(each, 1), bench.first).id(each)));
    REQUIRE(chain.add(send(bench.second).id(7).signaled()));
    CHECK(chain.size() == count + 1);
    const auto chained = bench.machine.lines_of([&] { bench.pair.post(chain).check(); });
    const auto plain = bench.machine.lines_of([&] {
      const auto at = [&](std::size_t each) {
        return write(bench.remote.slice(each, 1), bench.first).id(each);
      };
      const auto last = send(bench.second).id(7).signaled();
      if (count == 0) bench.pair.post(last).check();
      if (count == 1) bench.pair.post(at(0), last).check();
      if (count == 2) bench.pair.post(at(0), at(1), last).check();
    });
    CHECK(chained.lines.size() == 1);
    CHECK(chained.lines == plain.lines);
  }
}

TEST_CASE("A full chain takes no more requests, and an empty one posts nothing",
          "[ibv_post_send]") {
  chain_bench bench;
  send_chain<2, transport::rc, 2> chain;
  CHECK(chain.empty());
  CHECK(bench.machine.lines_of([&] { bench.pair.post(chain).check(); }).lines.empty());
  CHECK(chain.add(send(bench.first, bench.second)));
  CHECK(chain.add(send()));
  CHECK_FALSE(chain.add(send(bench.first)));
  CHECK(chain.size() == chain.capacity());
  bench.pair.post(chain).check();
  bench.pair.post(chain).check();
}

TEST_CASE("A chain through a window is signaled at its end and takes its credits",
          "[ibv_post_send]") {
  chain_bench bench;
  send_window window{bench.pair, {.size = 4, .signal_every = 4}};
  send_chain<8> chain;
  for (int each = 0; each < 4; ++each) REQUIRE(chain.add(write(bench.remote, bench.first)));
  CHECK(window.post(chain));
  CHECK(window.outstanding() == 4);
  CHECK(window.post(chain).full());
}

TEST_CASE("A chain can be posted where each request that it takes can", "[ibv_post_send]") {
  using rc = queue_pair<transport::rc>;
  using uc = queue_pair<transport::uc>;
  using ud = queue_pair<transport::ud>;
  STATIC_REQUIRE(can_post<rc, send_chain<2>>);
  STATIC_REQUIRE(can_post<rc, send_chain<2, transport::uc>>);
  STATIC_REQUIRE(can_post<uc, send_chain<2, transport::uc>>);
  STATIC_REQUIRE(can_post<ud, send_chain<2, transport::ud>>);
  STATIC_REQUIRE_FALSE(can_post<uc, send_chain<2>>);
  STATIC_REQUIRE_FALSE(can_post<ud, send_chain<2>>);
  STATIC_REQUIRE_FALSE(can_post<rc, send_chain<2, transport::ud>>);
  STATIC_REQUIRE_FALSE(can_post<queue_pair<transport::rc, qp_state::init>, send_chain<2>>);
  STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<send_chain<2>>);
}
