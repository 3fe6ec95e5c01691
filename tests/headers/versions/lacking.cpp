// SPDX-License-Identifier: MIT
// A call that the headers of rdma-core lack fails with an explanation, and the same call is made if
// they have it. ADVERB_RDMA_CORE is the version of the headers.
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/core/detail/check.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

namespace {

using namespace adverb;

constexpr auto on_pair = [](failure_description& description) {
  description.object([](text_writer& writer) { writer.put("rxe0 qp 0x11"); });
};

int calls = 0;

/// A pair of a provider that has every function of its headers.
template <class Native>
Native provided() {
  Native pair{};
  if constexpr (requires { pair.wr_atomic_write; })
    pair.wr_atomic_write = [](Native*, std::uint32_t, std::uint64_t, const void*) { ++calls; };
  if constexpr (requires { pair.wr_flush; })
    pair.wr_flush = [](Native*, std::uint32_t, std::uint64_t, std::size_t, std::uint8_t,
                       std::uint8_t) { ++calls; };
  return pair;
}

inline bool atomic_write(ibv_qp_ex& pair, on_failure policy = throwing{}) {
  return detail::call_if_declared<bool>(
      policy, "ibv_wr_atomic_write", on_pair,
      [](auto* native, const void* value)
        requires requires { ibv_wr_atomic_write(native, 1U, std::uint64_t{2}, value); }
      {
        ibv_wr_atomic_write(native, 1U, std::uint64_t{2}, value);
        return true;
      },
      &pair, static_cast<const void*>(&pair));
}

inline bool flush(ibv_qp_ex& pair, on_failure policy = throwing{}) {
  return detail::call_if_declared<bool>(
      policy, "ibv_wr_flush", on_pair,
      [](auto* native)
        requires requires { ibv_wr_flush(native, 1U, std::uint64_t{2}, 3U, 1, 0); }
      {
        ibv_wr_flush(native, 1U, std::uint64_t{2}, 3U, 1, 0);
        return true;
      },
      &pair);
}

/// Checks that a call is made with headers from a version on, and refused with earlier ones.
template <class Call>
void check(int since, std::string_view verb, const Call& call) {
  CAPTURE(since, verb);
  auto pair = provided<ibv_qp_ex>();
  calls = 0;
  if (since <= ADVERB_RDMA_CORE) {
    CHECK(call(pair));
    CHECK(calls == 1);
    return;
  }
  const failure why = reported([&](auto&... policy) {
    const bool done = call(pair, policy...);
    CHECK_FALSE(done);
  });
  CHECK(why.code() == std::errc::operation_not_supported);
  CHECK(why.verb() == verb);
  CHECK(why.object() == "rxe0 qp 0x11");
  CHECK(why.explanation() ==
        "adverb was compiled with headers of rdma-core that lack " + std::string{verb});
  CHECK(calls == 0);
}

}  // namespace

TEST_CASE("The wrappers call what the headers declare and explain what they lack") {
  check(44, "ibv_wr_atomic_write",
        [](ibv_qp_ex& pair, auto&... policy) { return atomic_write(pair, policy...); });
  check(45, "ibv_wr_flush",
        [](ibv_qp_ex& pair, auto&... policy) { return flush(pair, policy...); });
}
