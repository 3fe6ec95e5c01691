// SPDX-License-Identifier: MIT
// Tag matching, which no software device has: exact arguments, and failures that explain
// themselves.
#include <array>
#include <cerrno>
#include <string>

#include <support/catch.hpp>
#include <support/reported.hpp>
#include <support/told_failures.hpp>

#include "test_bench.hpp"

using namespace adverb;
namespace called = fake::called;

namespace {

struct tag_bench : test_bench {
  std::array<std::byte, 64> memory{};
  memory_region region{domain, memory, access_right::local_write};
  tag_matching_queue tags{domain, queue, {.max_wr = 8, .max_tags = 4, .max_operations = 2}};
};

std::string refusal(test_bench& bench, const tag_matching_queue_options& options) {
  failure why;
  const tag_matching_queue tags{bench.domain, bench.queue, options, why};
  CHECK(!tags);
  return why.what();
}

}  // namespace

TEST_CASE("A tag matching queue is created with exactly its options",
          "[ibv_create_srq_ex][ibv_destroy_srq]") {
  test_bench bench;
  int user = 0;
  bench.machine.name("user", user);
  tag_matching_queue tags{
      bench.domain,
      bench.queue,
      {.max_wr = 16, .max_sge = 2, .max_tags = 100, .max_operations = 10, .user_context = &user}};
  CHECK(tags.user_context() == &user);
  tags.close();
  CHECK_THAT((bench.machine.lines<called::create_srq_ex, called::destroy_srq>()), is_log(R"(
    ibv_create_srq_ex ctx0 srq_context=user attr={max_wr=16 max_sge=2} srq_type=TM pd=pd0 cq=cq0
      tm_cap={max_num_tags=100 max_ops=10}
    ibv_destroy_srq srq0)"));
}

TEST_CASE("add_tag adds a tag with its receive and returns its handle", "[ibv_post_srq_ops]") {
  tag_bench bench;
  const mutable_buffer buffer = bench.region.slice(0, 8);
  int message = 0;
  tag_handle handle{};
  bench.machine.name("message", message);
  bench.machine.forget_calls();
  bench.tags.post_operations(add_tag(0x1122, buffer).mask(0xff00).id(&message).handle_to(handle))
      .check();
  CHECK(handle == tag_handle{1});
  bench.tags.post_operations(add_tag(7)).check();
  CHECK_THAT(bench.machine.lines(), is_log(R"(
    ibv_post_srq_ops srq0: TAG_ADD recv_wr_id=message tag=0x1122 mask=0xff00 [mr0+0 8]
    ibv_post_srq_ops srq0: TAG_ADD tag=0x7 mask=0xffffffffffffffff)"));
}

TEST_CASE("post_operations chains its operations in one call", "[ibv_post_srq_ops]") {
  tag_bench bench;
  const std::array<mutable_buffer, 2> list{bench.region.slice(0, 8), bench.region.slice(8, 8)};
  tag_handle first{};
  tag_handle second{};
  bench.machine.name("bench", bench);
  bench.machine.forget_calls();
  const post_result result =
      bench.tags.post_operations(add_tag(1, std::span{list}).handle_to(first).signaled(11),
                                 delete_tag(tag_handle{77}).signaled(12).handled_unexpected(3),
                                 add_tag(2, list[0]).handle_to(second).handled_unexpected(4),
                                 synchronize_tags(5), synchronize_tags(6).signaled(&bench));
  CHECK(result.accepted() == 5U);
  CHECK_THAT(bench.machine.lines(), is_log(R"(
    ibv_post_srq_ops srq0:
      TAG_ADD wr_id=11 flags=SIGNALED tag=0x1 mask=0xffffffffffffffff [mr0+0 8][mr0+8 8];
      TAG_DEL wr_id=12 flags=SIGNALED|TM_SYNC unexpected_cnt=3 handle=77;
      TAG_ADD flags=TM_SYNC unexpected_cnt=4 tag=0x2 mask=0xffffffffffffffff [mr0+0 8];
      TAG_SYNC flags=TM_SYNC unexpected_cnt=5;
      TAG_SYNC wr_id=bench flags=SIGNALED|TM_SYNC unexpected_cnt=6)"));
  CHECK(first == tag_handle{1});
  CHECK(second == tag_handle{2});
}

TEST_CASE("Only an accepted add_tag returns a handle", "[ibv_post_srq_ops]") {
  tag_bench bench;
  constexpr tag_handle untouched{99};
  tag_handle first = untouched;
  tag_handle second = untouched;
  const auto additions = [&] {
    return bench.tags.post_operations(add_tag(1).handle_to(first), add_tag(2).handle_to(second));
  };
  bench.machine.answer_post({.result = ENOMEM, .bad_request = 1});
  const post_result partly = additions();
  CHECK(partly.accepted() == 1U);
  CHECK(first == tag_handle{1});
  CHECK(second == untouched);
  CHECK(std::string{reported([&](auto&&... policy) { partly.check(policy...); }).what()} ==
        "ibv_post_srq_ops on fake0 srq " + std::to_string(bench.tags.native_handle()->handle) +
            ": ENOMEM (Cannot allocate memory); 1 request was accepted; possible causes: the "
            "list is full, too many operations are in progress, or the next one has too many "
            "elements");

  first = untouched;
  bench.machine.answer_post({.result = EIO});
  CHECK(!additions().accepted().has_value());
  CHECK(first == untouched);

  bench.machine.fail<called::post_srq_ops>(EINVAL);
  CHECK(additions().accepted() == 0U);
  CHECK(first == untouched);
}

TEST_CASE("Creating a tag matching queue fails with a reason on a device without it") {
  test_bench bench;
  bench.machine.devices[0].extended.tm_caps = {};
  CHECK(refusal(bench, {}) ==
        "ibv_create_srq_ex on fake0: EOPNOTSUPP (Operation not supported); fake0 has no tag "
        "matching");
}

TEST_CASE("A failed creation names exceeded limits of tag matching") {
  test_bench bench;
  CHECK(refusal(bench, {.max_wr = 4096, .max_sge = 9, .max_tags = 128, .max_operations = 65}) ==
        "ibv_create_srq_ex on fake0: EINVAL (Invalid argument); max_wr is 4096, the device allows "
        "2048; max_sge is 9, the device allows 8; max_tags is 128, the device allows 127; "
        "max_operations is 65, the device allows 64");
}

TEST_CASE("A tag matching queue works as a shared receive queue") {
  tag_bench bench;
  bench.machine.forget_calls();
  bench.tags.post(receive(bench.region.slice(0, 8)).id(3)).check();
  CHECK(bench.tags.query().max_wr() == 8);
  const auto pair = queue_pair<transport::rc>::create(
      bench.domain, {.send_cq = bench.queue, .recv_cq = bench.queue, .srq = bench.tags});
  CHECK_THAT(bench.machine.lines(), is_log(R"(
    ibv_post_srq_recv srq0: RECV wr_id=3 [mr0+0 8]
    ibv_query_srq srq0
    ibv_create_qp pd0 qp_type=RC send_cq=cq0 recv_cq=cq0 srq=srq0
      cap={max_send_wr=1 max_recv_wr=1 max_send_sge=1 max_recv_sge=1})"));
  const shared_receive_queue_ref reference = bench.tags;
  CHECK(reference.native_handle() == bench.tags.native_handle());
}

TEST_CASE("Closing the completion queue of a tag matching queue fails with a reason") {
  const told_failures told;
  tag_bench bench;
  completion_queue own{bench.context, 4};
  tag_matching_queue tags{bench.domain, own, {}};
  failure why;
  own.close(why);
  CHECK(why.explanation() == "still in use by 1 shared receive queue; destroy these first");
  tags.close();
  own.close();
  CHECK(told.messages().empty());
}
