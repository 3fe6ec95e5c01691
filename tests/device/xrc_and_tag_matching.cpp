// SPDX-License-Identifier: MIT
// Extended reliable connections and tag matching, on a device that may have neither.
#include <fcntl.h>
#include <unistd.h>

#include "support.hpp"

using namespace adverb;

namespace {

/// True when the device has this feature; otherwise the failure must report that it does not.
bool is_there(const failure& why, std::string_view test, std::string_view explanation) {
  if (!why) return true;
  CHECK(why.code() == std::errc::operation_not_supported);
  CHECK(why.explanation() == explanation);
  tell_skip(test, explanation);
  return false;
}

}  // namespace

TEST_CASE("A device has XRC domains or explains that it lacks them", "[optional]") {
  const context opened = open_device();
  const std::string none = std::string{opened.device().name()} + " has no XRC domains";
  failure why;
  const xrc_domain own{opened, why};
  CHECK(why.verb() == (why ? "ibv_open_xrcd" : ""));
  const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  REQUIRE(file >= 0);
  failure why_shared;
  const xrc_domain shared{opened, file, xrc_domain_opening::existing_or_new, why_shared};
  ::close(file);
  CHECK(why_shared.code() == why.code());
  CHECK(opened.query_device().capabilities().contains(
            device_capability::extended_reliable_connections) == !why);
  if (is_there(why, "XRC domains", none)) {
    CHECK(own);
    CHECK(shared);
  }
}

TEST_CASE("A device has shared receive queues of XRC with numbers and targets",
          "[ibv_open_xrcd][ibv_close_xrcd][ibv_create_srq_ex][ibv_get_srq_num][ibv_create_qp_ex]"
          "[ibv_open_qp][optional]") {
  const context opened = open_device();
  failure why;
  xrc_domain xrc{opened, why};
  if (!is_there(why, "shared receive queues of XRC",
                std::string{opened.device().name()} + " has no XRC domains"))
    return;
  const protection_domain domain{opened};
  const completion_queue queue{opened, 16};
  {
    const xrc_shared_receive_queue first{domain, xrc, queue, {.max_wr = 4}};
    const xrc_shared_receive_queue second{domain, xrc, queue, {.max_wr = 4}};
    CHECK(first.number() != second.number());
    const auto target = queue_pair<transport::xrc_recv>::create(xrc);
    const auto again = queue_pair<transport::xrc_recv>::open(xrc, target.number());
    CHECK(again.number() == target.number());
    xrc.close(why);
    CHECK(why.explanation() ==
          "still in use by 2 shared receive queues, 2 queue pairs; destroy these first");
  }
  xrc.close();
}

TEST_CASE("A device has tag matching or explains that it lacks it",
          "[ibv_create_srq_ex][optional]") {
  const context opened = open_device();
  const protection_domain domain{opened};
  const completion_queue queue{opened, 16};
  failure why;
  const tag_matching_queue tags{domain, queue, {}, why};
  const std::string none = std::string{opened.device().name()} + " has no tag matching";
  if (is_there(why, "tag matching", none)) CHECK(tags.query().max_wr() >= 1);
}
