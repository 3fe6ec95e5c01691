// SPDX-License-Identifier: MIT
// DMA handles, completion counters and exported device memory where the headers of rdma-core lack
// them. tests/headers/versions has the tests where they have them.
#include <array>
#include <cstddef>
#include <string>

#include <adverb/memory/memory_region.hpp>
#include <adverb/queue/completion_counter.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

#include "fake.hpp"

namespace {

template <class Context>
constexpr bool has_handles = requires(Context* context, ibv_dmah_init_attr* attributes) {
  ibv_alloc_dmah(context, attributes);
};
template <class Context>
constexpr bool has_counters = requires(Context* context, ibv_comp_cntr_init_attr* attributes) {
  ibv_create_comp_cntr(context, attributes);
};

std::string lacking(const std::string& verb) {
  return verb +
         " on fake0: EOPNOTSUPP (Operation not supported); adverb was compiled with headers of "
         "rdma-core that lack " +
         verb;
}

}  // namespace

TEST_CASE("a DMA handle needs later headers") {
  if constexpr (!has_handles<ibv_context>) {
    const fake::machine machine;
    const adverb::context context = adverb::open_device();
    CHECK(std::string{reported([&](auto&&... policy) {
                        const adverb::dma_handle none{context, policy...};
                        CHECK(!none);
                      }).what()} == lacking("ibv_alloc_dmah"));
  } else {
    SUCCEED("these headers have it");
  }
}

TEST_CASE("a completion counter needs later headers") {
  if constexpr (!has_counters<ibv_context>) {
    const fake::machine machine;
    const adverb::context context = adverb::open_device();
    CHECK(std::string{reported([&](auto&&... policy) {
                        const adverb::completion_counter none{context, policy...};
                        CHECK(!none);
                      }).what()} == lacking("ibv_create_comp_cntr"));
    CHECK(std::string{reported([&](auto&&... policy) {
                        (void)adverb::query_completion_counters(context, policy...);
                      }).what()} == lacking("ibv_query_comp_cntr_caps"));
  } else {
    SUCCEED("these headers have it");
  }
}

TEST_CASE("operations on an empty DMA handle or completion counter fail with a reason") {
  const adverb::dma_handle handle;
  const adverb::completion_counter counter;
  const std::string empty = " is empty: moved from, closed, or never created";
  std::array<std::byte, 64> bytes{};
  const fake::machine machine;
  const adverb::context context = adverb::open_device();
  const adverb::protection_domain domain{context};
  CHECK(reported([&](auto&&... policy) {
          (void)adverb::memory_region::with_dma_handle(
              domain, bytes, handle, adverb::access_right::local_write, policy...);
        }).explanation() == "the DMA handle" + empty);
  CHECK(reported([&](auto&&... policy) { (void)counter.value(policy...); }).explanation() ==
        "the completion counter" + empty);
  CHECK(reported([&](auto&&... policy) { counter.add(1, policy...); }).explanation() ==
        "the completion counter" + empty);
}
