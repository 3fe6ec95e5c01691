// SPDX-License-Identifier: MIT
// Provider buffers where the headers of rdma-core lack them. tests/headers/versions has the tests
// where they have them.
#include <string>

#include <adverb/memory/memory_region.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>
#include <support/skip.hpp>

#include "fake.hpp"

namespace {

template <class Domain>
constexpr bool has_buffers =
    requires(Domain* domain, ibv_buf* buffer) { ibv_alloc_buf(domain, 1U, &buffer); };

}  // namespace

TEST_CASE("a provider buffer needs later headers", "[optional]") {
  if constexpr (has_buffers<ibv_pd>) {
    tell_skip("headers without provider buffers", "these have them");
  } else {
    const fake::machine machine;
    const adverb::context context = adverb::open_device();
    const adverb::protection_domain domain{context};
    CHECK(std::string{reported([&](auto&&... policy) {
                        const adverb::provider_buffer none{domain, 4096, policy...};
                        CHECK(!none);
                      }).what()} ==
          "ibv_alloc_buf on fake0: EOPNOTSUPP (Operation not supported); adverb was compiled with "
          "headers of rdma-core that lack ibv_alloc_buf");
  }
}

TEST_CASE("operations on an empty provider buffer fail with a reason") {
  const adverb::provider_buffer none;
  const std::string empty = "the provider buffer is empty: moved from, closed, or never created";
  CHECK(none.bytes().empty());
  CHECK(reported([&](auto&&... policy) { (void)none.export_dmabuf(policy...); }).explanation() ==
        empty);
  CHECK(reported([&](auto&&... policy) {
          (void)adverb::memory_region::of_provider_buffer(none, adverb::access_right::local_write,
                                                          policy...);
        }).explanation() == empty);
  CHECK(reported([&](auto&&... policy) {
          const adverb::provider_buffer made{adverb::protection_domain_ref{}, 64, policy...};
          CHECK(!made);
        }).explanation() == "the protection domain is empty: moved from, closed, or never created");
}
