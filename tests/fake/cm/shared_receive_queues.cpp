// SPDX-License-Identifier: MIT
// Shared receive queues that librdmacm makes for an identifier: those of XRC, which no soft device
// has.
#include <support/catch.hpp>

#include "cm_bench.hpp"

TEST_CASE("create_xrc_srq uses the given domain, completion queue and XRC domain",
          "[rdma_create_srq_ex]") {
  cm_bench bench;
  {
    auto far = bench.far();
    adverb::protection_domain domain{far.context()};
    adverb::completion_queue queue{far.context(), 8};
    adverb::xrc_domain xrc{far.context()};

    far.identifier().create_xrc_srq({.max_wr = 4}, queue, xrc, domain);
    CHECK_THAT(bench.machine.lines<called::rdma_create_srq_ex>(), is_log(R"(
    rdma_create_srq_ex id0 attr={max_wr=4 max_sge=1} srq_type=XRC pd=pd1 xrcd=xrcd0 cq=cq0)"));
    CHECK(far.identifier().srq());

    // The identifier depends on the parents of the queue.
    const auto is_in_use = [](auto& parent) {
      std::error_code code;
      parent.close(code);
      return code == std::errc::device_or_resource_busy;
    };
    CHECK(is_in_use(queue));
    CHECK(is_in_use(xrc));
    CHECK(is_in_use(domain));
    far = {};
    CHECK(bench.machine.count<called::rdma_destroy_srq>() == 1);
  }
  CHECK(bench.manager.live_objects() == 0);
}

TEST_CASE("A failed create_xrc_srq leaves the identifier without a shared receive queue",
          "[rdma_create_srq_ex]") {
  cm_bench bench;
  auto far = bench.far();
  const adverb::completion_queue queue{far.context(), 8};
  bench.machine.fail<called::rdma_create_srq_ex>(EOPNOTSUPP);
  adverb::failure why;
  far.identifier().create_xrc_srq({.max_wr = 4}, queue, {}, {}, why);
  CHECK(why.verb() == "rdma_create_srq_ex");
  CHECK(why.code() == std::errc::operation_not_supported);
  CHECK_FALSE(far.identifier().srq());
  CHECK_THAT(bench.machine.lines<called::rdma_create_srq_ex>(), is_log(R"(
    rdma_create_srq_ex id0 attr={max_wr=4 max_sge=1} srq_type=XRC pd=pd0 cq=cq0)"));
}
