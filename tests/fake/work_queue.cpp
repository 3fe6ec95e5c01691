// SPDX-License-Identifier: MIT
// Work queues and indirection tables: the arguments of the provider, and the failure if it refuses.
#include <array>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <support/catch.hpp>
#include <support/reported.hpp>
#include <support/told_failures.hpp>

#include "test_bench.hpp"

using namespace adverb;
namespace called = fake::called;

namespace {

struct work_queue_bench : test_bench {
  [[nodiscard]] auto fresh_queue() const {
    return work_queue<>::create(domain, {.completion_queue = queue});
  }
  [[nodiscard]] auto ready_queue() const {
    auto fresh = fresh_queue();
    return fresh.ready();
  }
  /// The device's attributes beyond the plain limits.
  [[nodiscard]] ibv_device_attr_ex& extended() { return machine.devices[0].extended; }
};

}  // namespace

TEST_CASE_METHOD(work_queue_bench, "a work queue is created with the requested options",
                 "[ibv_create_wq][ibv_destroy_wq]") {
  int user = 0;
  machine.name("user", user);
  machine.forget_calls();
  {
    const auto fresh = work_queue<>::create(
        domain, {.completion_queue = queue,
                 .max_wr = 100,
                 .max_sge = 3,
                 .flags = work_queue_flag::strip_vlan | work_queue_flag::delay_drop,
                 .user_context = &user});
    CHECK(fresh.number() == work_queue_number{fresh.native_handle()->wq_num});
    CHECK(fresh.context().native_handle() == context.native_handle());
    CHECK(fresh.protection_domain().native_handle() == domain.native_handle());
    CHECK(fresh.completion_queue().native_handle() == queue.native_handle());
    CHECK(fresh.user_context() == &user);
  }
  // The provider gets no flags here.
  const auto plain = fresh_queue();
  CHECK_THAT(machine.lines(), is_log(R"(
    ibv_create_wq ctx0 wq_context=user wq_type=RQ max_wr=100 max_sge=3 pd=pd0 cq=cq0
      create_flags=CVLAN_STRIPPING|DELAY_DROP
    ibv_destroy_wq wq0
    ibv_create_wq ctx0 wq_type=RQ max_wr=1 max_sge=1 pd=pd0 cq=cq0)"));
}

TEST_CASE_METHOD(work_queue_bench, "create reports the granted capacity of a work queue") {
  work_queue_capacity granted;
  const auto fresh = work_queue<>::create(
      domain, {.completion_queue = queue, .max_wr = 100, .max_sge = 3, .granted = &granted});
  CHECK(granted.max_wr == 128);
  CHECK(granted.max_sge == 3);

  granted = {};
  machine.fail<called::create_wq>(ENOMEM);
  std::error_code code;
  const auto none = work_queue<>::create(
      domain, {.completion_queue = queue, .max_wr = 100, .granted = &granted}, code);
  CHECK(code == std::errc::not_enough_memory);
  CHECK(granted.max_wr == 0);
}

TEST_CASE_METHOD(work_queue_bench, "a work queue changes from RESET to ready, ERR and back",
                 "[ibv_modify_wq]") {
  auto fresh = fresh_queue();
  machine.forget_calls();
  auto ready = fresh.ready();
  CHECK_FALSE(fresh);
  auto failed = ready.error();
  const auto again = failed.reset();
  CHECK(again);
  CHECK_THAT(machine.lines(), is_log(R"(
    ibv_modify_wq wq0 wq_state=RDY
    ibv_modify_wq wq0 wq_state=ERR
    ibv_modify_wq wq0 wq_state=RESET)"));
}

TEST_CASE_METHOD(work_queue_bench, "a failed change of state leaves the work queue unchanged") {
  auto fresh = fresh_queue();
  const failure why = reported([&] { machine.fail<called::modify_wq>(EIO); },
                               [&](auto&&... policy) { (void)fresh.ready(policy...); });
  CHECK(std::string{why.what()} == "ibv_modify_wq on fake0 wq " +
                                       std::string{to_text(fresh.number()).view()} +
                                       ": EIO (Input/output error)");
  CHECK(fresh);
  CHECK(fresh.ready());

  auto none = work_queue<work_queue_state::reset>{};
  CHECK(reported([&](auto&&... policy) { (void)none.ready(policy...); }).explanation() ==
        "the work queue is empty: moved from, closed, or never created");
}

TEST_CASE_METHOD(work_queue_bench, "changing flags affects only the given flags",
                 "[ibv_modify_wq]") {
  const auto ready = ready_queue();
  ready.change_flags({.enable = work_queue_flag::strip_vlan,
                      .disable = work_queue_flag::scatter_frame_check_sequence});
  CHECK(machine.line() ==
        "ibv_modify_wq wq0 flags=CVLAN_STRIPPING flags_mask=CVLAN_STRIPPING|SCATTER_FCS");

  machine.forget_calls();
  CHECK(reported([&](auto&&... policy) {
          ready.change_flags(
              {.enable = work_queue_flag::strip_vlan, .disable = work_queue_flag::strip_vlan},
              policy...);
        }).explanation() == "strip_vlan would be both enabled and disabled");
  CHECK(machine.count<called::modify_wq>() == 0);

  extended().raw_packet_caps = IBV_RAW_PACKET_CAP_CVLAN_STRIPPING;
  CHECK(reported([&] { machine.fail<called::modify_wq>(EOPNOTSUPP); },
                 [&](auto&&... policy) {
                   ready.change_flags({.enable = work_queue_flag::strip_vlan,
                                       .disable = work_queue_flag::delay_drop},
                                      policy...);
                 })
            .explanation() == "the device has no delay_drop");
  CHECK(reported([&] { machine.fail<called::modify_wq>(EOPNOTSUPP); },
                 [&](auto&&... policy) {
                   ready.change_flags({.enable = work_queue_flag::strip_vlan}, policy...);
                 })
            .explanation() == "fake0 has no work queues that can be changed like this");
}

TEST_CASE_METHOD(work_queue_bench, "receives can be posted to a work queue that is ready or in ERR",
                 "[ibv_post_wq_recv]") {
  std::array<std::byte, 64> memory{};
  const memory_region region{domain, memory};
  auto ready = ready_queue();
  const post_result result =
      ready.post(receive(region.slice(0, 16)).id(7), receive(region.slice(16, 16)));
  CHECK(result.accepted() == 2U);
  const work_queue_ref<> reference = ready;
  reference.post(receive()).check();
  CHECK_THAT(machine.lines<called::post_wq_recv>(), is_log(R"(
    ibv_post_wq_recv wq0: RECV wr_id=7 [mr0+0 16]; RECV [mr0+16 16]
    ibv_post_wq_recv wq0: RECV)"));

  const auto failed = ready.error();
  CHECK(failed.post(receive()));
}

TEST_CASE_METHOD(work_queue_bench, "a failed post names the work queue") {
  const auto ready = ready_queue();
  machine.answer_post({.result = -ENOMEM, .bad_request = 1});
  failure why;
  ready.post(receive(), receive()).check(why);
  CHECK(why.verb() == "ibv_post_wq_recv");
  CHECK(why.object() == "fake0 wq " + std::string{to_text(ready.number()).view()});
  CHECK(why.explanation() == "1 request was accepted; possible causes: the queue is full (max_wr)");
}

TEST_CASE_METHOD(work_queue_bench,
                 "a work queue of any state can be viewed or assumed in one state") {
  auto fresh = fresh_queue();
  ibv_wq* const native = fresh.native_handle();
  work_queue<work_queue_state::any> member = std::move(fresh);
  CHECK(member.as<work_queue_state::reset>().native_handle() == native);
  auto known = member.assume<work_queue_state::reset>();
  CHECK_FALSE(member);
  member = known.ready();
  member.as<work_queue_state::ready>().post(receive()).check();
  auto failed = member.error();
  CHECK(failed.native_handle() == native);
}

TEST_CASE_METHOD(work_queue_bench, "a work queue of the C API can be adopted") {
  ibv_wq* const native = fresh_queue().release();
  const work_queue<work_queue_state::reset> adopted{adopt, native};
  CHECK(adopted.native_handle() == native);
  const work_queue_ref<work_queue_state::reset> viewed{adopt, native};
  CHECK(viewed.number() == adopted.number());
}

TEST_CASE_METHOD(work_queue_bench, "a failed creation of a work queue is explained") {
  limits().max_qp_wr = 256;
  limits().max_sge = 4;
  extended().max_wq_type_rq = 8;
  extended().raw_packet_caps = IBV_RAW_PACKET_CAP_SCATTER_FCS;
  const failure why = reported(
      [&] { machine.fail<called::create_wq>(EINVAL); },
      [&](auto&&... policy) {
        (void)work_queue<>::create(
            domain,
            {.completion_queue = queue,
             .max_wr = 257,
             .max_sge = 5,
             .flags = work_queue_flag::strip_vlan | work_queue_flag::scatter_frame_check_sequence |
                      work_queue_flag::delay_drop | work_queue_flag::pci_write_end_padding},
            policy...);
      });
  CHECK(std::string{why.what()} ==
        "ibv_create_wq on fake0: EINVAL (Invalid argument); max_wr is 257, the device allows 256; "
        "max_sge is 5, the device allows 4; "
        "the device has no strip_vlan|delay_drop|pci_write_end_padding");

  extended().raw_packet_caps = IBV_RAW_PACKET_CAP_CVLAN_STRIPPING | IBV_RAW_PACKET_CAP_DELAY_DROP;
  extended().device_cap_flags_ex = IBV_DEVICE_PCI_WRITE_END_PADDING;
  const auto other_context = open_device();
  const completion_queue other{other_context, 16};
  CHECK(reported([&] { machine.fail<called::create_wq>(EINVAL); },
                 [&](auto&&... policy) {
                   (void)work_queue<>::create(
                       domain,
                       {.completion_queue = other,
                        .flags = work_queue_flag::strip_vlan | work_queue_flag::delay_drop |
                                 work_queue_flag::pci_write_end_padding},
                       policy...);
                 })
            .explanation() == "the completion queue belongs to another context (of fake0)");
  CHECK(reported([&](auto&&... policy) {
          (void)work_queue<>::create(domain, {}, policy...);
        }).explanation() == "the completion queue is empty: moved from, closed, or never created");
}

TEST_CASE_METHOD(work_queue_bench,
                 "creating a work queue fails with a reason on a device without them") {
  CHECK(reported([&] { machine.fail<called::create_wq>(EOPNOTSUPP); },
                 [&](auto&&... policy) {
                   (void)work_queue<>::create(domain, {.completion_queue = queue}, policy...);
                 })
            .explanation() == "fake0 has no work queues");
}

TEST_CASE_METHOD(work_queue_bench, "closing the domain or completion queue of a work queue fails") {
  const auto ready = ready_queue();
  failure why;
  domain.close(why);
  CHECK(why.explanation() == "still in use by 1 work queue; destroy these first");
  queue.close(why);
  CHECK(why.explanation() == "still in use by 1 work queue; destroy these first");
}

TEST_CASE_METHOD(work_queue_bench,
                 "an indirection table passes its queues in order, with repetitions",
                 "[ibv_create_rwq_ind_table][ibv_destroy_rwq_ind_table]") {
  const auto first = ready_queue();
  const auto second = fresh_queue();
  const std::array<reference<ibv_wq>, 4> queues{first, second, first, first};
  const std::array<reference<ibv_wq>, 1> alone{second};
  machine.forget_calls();
  {
    const indirection_table table{queues};
    CHECK(table.context().native_handle() == context.native_handle());
    const indirection_table single{alone};
  }
  CHECK_THAT(machine.lines(), is_log(R"(
    ibv_create_rwq_ind_table ctx0 ind_tbl=wq0,wq1,wq0,wq0
    ibv_create_rwq_ind_table ctx0 ind_tbl=wq1
    ibv_destroy_rwq_ind_table table1
    ibv_destroy_rwq_ind_table table0)"));
}

TEST_CASE_METHOD(work_queue_bench, "an invalid indirection table is refused without a call") {
  const auto only = ready_queue();
  const work_queue<> empty;
  const auto refused = [&](std::vector<reference<ibv_wq>> queues) {
    return reported([&](auto&&... policy) { const indirection_table none{queues, policy...}; });
  };
  CHECK(std::string{refused({only, only, only}).what()} ==
        "ibv_create_rwq_ind_table on fake0: EINVAL (Invalid argument); a table of 3 entries was "
        "requested, the number must be a power of two: 2 or 4; a queue may appear more than once");
  CHECK(refused({}).explanation() == "an indirection table needs at least one work queue");
  CHECK(refused({only, empty}).explanation() ==
        "one of the work queues is empty: moved from, closed, or never created");

  const auto other_context = open_device();
  const protection_domain other_domain{other_context};
  const completion_queue other_queue{other_context, 16};
  const auto other = work_queue<>::create(other_domain, {.completion_queue = other_queue});
  CHECK(refused({only, other}).explanation() == "the work queues belong to different contexts");
  CHECK(machine.count<called::create_rwq_ind_table>() == 0);
}

TEST_CASE_METHOD(work_queue_bench,
                 "the explanation names an indirection table beyond the device's limit") {
  const auto only = ready_queue();
  const std::array<reference<ibv_wq>, 4> queues{only, only, only, only};
  const auto refused = [&](int error) {
    return reported([&] { machine.fail<called::create_rwq_ind_table>(error); },
                    [&](auto&&... policy) { const indirection_table none{queues, policy...}; });
  };
  CHECK(refused(EOPNOTSUPP).explanation() ==
        "fake0 has no receive-side scaling (indirection tables)");
  extended().rss_caps.max_rwq_indirection_tables = 8;
  extended().rss_caps.max_rwq_indirection_table_size = 2;
  CHECK(std::string{refused(EINVAL).what()} ==
        "ibv_create_rwq_ind_table on fake0: EINVAL (Invalid argument); "
        "the number of entries is 4, the device allows 2");
}

TEST_CASE_METHOD(work_queue_bench,
                 "an indirection table keeps each of its queues and counts as one child") {
  auto first = ready_queue();
  const std::array<reference<ibv_wq>, 2> queues{first, first};
  indirection_table table{queues};
  failure why;
  first.close(why);
  CHECK(why.explanation() == "still in use by 1 indirection table; destroy these first");
  CHECK(machine.count<called::destroy_wq>() == 0);

  machine.fail<called::destroy_rwq_ind_table>(EBUSY);
  table.close(why);
  CHECK(why.code() == std::errc::device_or_resource_busy);
  first.close(why);
  CHECK(why);

  table.close();
  first.close();
  CHECK(machine.count<called::destroy_wq>() == 1);
}

TEST_CASE_METHOD(work_queue_bench, "a released indirection table keeps no parents") {
  auto first = ready_queue();
  const std::array<reference<ibv_wq>, 1> queues{first};
  indirection_table table{queues};
  const indirection_table again{adopt, table.release()};
  failure why;
  first.close(why);
  CHECK(!why);
  CHECK(machine.count<called::destroy_wq>() == 1);
}
