// SPDX-License-Identifier: MIT
// Extended completion queues: made, polled, armed and waited on.
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

#include "completed.hpp"
#include "fake.hpp"
#include "log.hpp"

namespace {

namespace called = fake::called;
using adverb::completion_field;
using ids = std::vector<std::uint64_t>;

struct fixture {
  fake::machine machine;
  adverb::context context = adverb::open_device();
  adverb::completion_channel channel{context};
  adverb::extended_completion_queue<> queue{context, 16, {.channel = channel}};
  ids seen;

  void complete(std::uint64_t id) { machine.complete(queue.native_handle(), completed(id)); }
  [[nodiscard]] std::size_t left() const {
    return machine.entries(ibv_cq_ex_to_cq(queue.native_handle()));
  }

  /// The order of start, next, end, arm, wait and acknowledge, as letters.
  [[nodiscard]] std::string order() const {
    std::string letters;
    for (const fake::call& call : machine.log()) {
      if (call.as<called::start_poll>() != nullptr) letters += 's';
      if (call.as<called::next_poll>() != nullptr) letters += 'n';
      if (call.as<called::end_poll>() != nullptr) letters += 'e';
      if (call.as<called::req_notify_cq>() != nullptr) letters += 'a';
      if (call.as<called::get_cq_event>() != nullptr) letters += 'w';
      if (call.as<called::ack_cq_events>() != nullptr) letters += 'k';
    }
    return letters;
  }

  [[nodiscard]] auto collect() {
    return [this](const auto& completion) { seen.push_back(completion.id()); };
  }
};

}  // namespace

TEST_CASE_METHOD(fixture, "an extended queue is created with its fields and options",
                 "[ibv_create_cq_ex][ibv_destroy_cq]") {
  int user = 0;
  ibv_pd domain{};
  domain.context = context.native_handle();
  machine.name("user", user);
  machine.name("domain", domain);
  using extended =
      adverb::extended_completion_queue<completion_field::immediate | completion_field::flow_tag>;
  static_assert(sizeof(extended) == sizeof(void*));
  {
    const extended made{context,
                        10,
                        {.channel = channel,
                         .vector = 3,
                         .user_context = &user,
                         .single_threaded = true,
                         .ignore_overrun = true,
                         .parent_domain = &domain}};
    CHECK(machine.line() ==
          "ibv_create_cq_ex ctx0 cqe=10 cq_context=user channel=channel0 comp_vector=3 "
          "wc_flags=IMM|FLOW_TAG flags=SINGLE_THREADED|IGNORE_OVERRUN parent_domain=domain");
    CHECK(made.capacity() == 16);
    CHECK(made.user_context() == &user);
    CHECK(made.channel().native_handle() == channel.native_handle());
    CHECK(made.context().native_handle() == context.native_handle());
    CHECK(machine.count<called::destroy_cq>() == 0);
  }
  CHECK(machine.count<called::destroy_cq>() == 1);
}

TEST_CASE_METHOD(fixture, "an extended queue requests only the standard fields by default",
                 "[ibv_create_cq_ex]") {
  const adverb::extended_completion_queue plain{context, 16};
  CHECK(machine.line() == "ibv_create_cq_ex ctx0 cqe=16 wc_flags=STANDARD");
}

TEST_CASE_METHOD(fixture, "creating an extended queue fails with a reason") {
  const auto refusal = [&]<adverb::completion_fields Fields>(
                           std::integral_constant<adverb::completion_fields, Fields>,
                           std::size_t capacity, adverb::completion_queue_options options) {
    return std::string{reported([&](auto&&... policy) {
                         const adverb::extended_completion_queue<Fields> made{context, capacity,
                                                                              options, policy...};
                         CHECK_FALSE(made);
                       }).what()};
  };
  using adverb::standard_completion_fields;
  constexpr std::integral_constant<adverb::completion_fields, standard_completion_fields> standard;
  const std::string invalid = "ibv_create_cq_ex on fake0: EINVAL (Invalid argument); ";
  CHECK(refusal(standard, 0, {}) ==
        invalid + "a completion queue needs room for at least one completion");
  CHECK(refusal(standard, SIZE_MAX, {.vector = 4}) ==
        invalid +
            "18446744073709551615 entries were requested, the device allows 32768; "
            "completion vector 4 is out of range: the device has 4, numbered from 0");
  const std::string unsupported =
      "ibv_create_cq_ex on fake0: EOPNOTSUPP (Operation not supported); ";
  const std::string instead = "; use completion_queue, or let either_completion_queue choose";
  CHECK(refusal(std::integral_constant<adverb::completion_fields, completion_field::timestamp>{},
                16, {}) == unsupported + "the device has no completion timestamps" + instead);
  machine.devices[0].extended_completion_queues = false;
  machine.devices[0].extended.tm_caps = {};
  CHECK(refusal(std::integral_constant < adverb::completion_fields,
                completion_field::wall_clock | completion_field::vlan | completion_field::flow_tag |
                    completion_field::tag_matching > {},
                16, {}) ==
        unsupported +
            "the device has no completion timestamps; the device does not report VLANs; "
            "the device has no flow steering, so no flow tags; the device has no tag matching" +
            instead);
  machine.devices[0].extended.raw_packet_caps = IBV_RAW_PACKET_CAP_CVLAN_STRIPPING;
  CHECK(refusal(std::integral_constant<adverb::completion_fields, completion_field::vlan>{}, 16,
                {}) ==
        unsupported + "fake0 has no extended completion queues, or none of this kind" + instead);
  CHECK(refusal(standard, 16, {}) ==
        unsupported + "fake0 has no extended completion queues, or none of this kind" + instead);
  CHECK(machine.entries(ibv_cq_ex_to_cq(queue.native_handle())) == 0);
}

TEST_CASE_METHOD(fixture, "a failed creation names a parent domain of another device") {
  machine.devices.push_back(fake::roce_device("fake1"));
  const adverb::context elsewhere = adverb::open_device("fake1");
  const adverb::protection_domain domain{elsewhere};
  CHECK(reported([&] { machine.fail<called::create_cq_ex>(EINVAL); },
                 [&](auto&&... policy) {
                   const adverb::extended_completion_queue<> made{
                       context, 16, {.parent_domain = domain}, policy...};
                 })
            .explanation() == "the parent domain belongs to another context");
}

TEST_CASE_METHOD(fixture, "a round over an empty queue polls once and does not call end_poll",
                 "[ibv_start_poll]") {
  for (const auto& completion : queue.poll()) seen.push_back(completion.id());
  CHECK(seen.empty());
  CHECK(machine.line() == "ibv_start_poll cq0");
  CHECK(order() == "s");
}

TEST_CASE_METHOD(fixture, "a round reads all completions one by one and ends once",
                 "[ibv_start_poll][ibv_next_poll][ibv_end_poll]") {
  for (const std::uint64_t id : ids{1, 2, 3}) complete(id);
  machine.forget_calls();
  for (const auto& completion : queue.poll()) {
    seen.push_back(completion.id());
    CHECK(completion.status() == adverb::completion_status::success);
  }
  CHECK(seen == ids{1, 2, 3});
  // Only requested fields are read.
  CHECK_THAT(machine.lines(), is_log(R"(
    ibv_start_poll cq0
    ibv_next_poll cq0
    ibv_next_poll cq0
    ibv_next_poll cq0
    ibv_end_poll cq0)"));
  CHECK(left() == 0);
}

TEST_CASE_METHOD(fixture, "a round with a limit reads no further completion",
                 "[ibv_start_poll][ibv_next_poll][ibv_end_poll]") {
  for (const std::uint64_t id : ids{1, 2, 3}) complete(id);
  for (const auto& completion : queue.poll(2)) seen.push_back(completion.id());
  CHECK(seen == ids{1, 2});
  CHECK(order() == "sne");
  CHECK(left() == 1);
  for (const auto& completion : queue.poll(1)) seen.push_back(completion.id());
  CHECK(seen == ids{1, 2, 3});
  CHECK(order() == "snese");
  complete(4);
  std::error_code code = std::make_error_code(std::errc::io_error);
  for (const auto& completion : queue.poll(0, code)) seen.push_back(completion.id());
  CHECK(!code);
  CHECK(seen.size() == 3);
  CHECK(order() == "snese");
}

TEST_CASE_METHOD(fixture, "leaving a loop ends its round and keeps the rest in the queue",
                 "[ibv_end_poll]") {
  for (const std::uint64_t id : ids{1, 2, 3}) complete(id);
  for (const auto& completion : queue.poll()) {
    seen.push_back(completion.id());
    break;
  }
  CHECK(order() == "se");
  CHECK(left() == 2);
  try {
    for (const auto& completion : queue.poll())
      throw std::runtime_error{std::to_string(completion.id())};
    FAIL("nothing was thrown");
  } catch (const std::runtime_error& thrown) {
    CHECK(std::string{thrown.what()} == "2");
  }
  CHECK(order() == "sese");
  CHECK(left() == 1);
}

TEST_CASE_METHOD(fixture, "a round that is not iterated consumes one completion and ends",
                 "[ibv_end_poll]") {
  complete(1);
  complete(2);
  {
    const auto unused = queue.poll();
  }
  CHECK(order() == "se");
  CHECK(left() == 1);
  auto once = queue.poll();
  for (const auto& completion : once) seen.push_back(completion.id());
  for (const auto& completion : once) seen.push_back(completion.id());
  CHECK(seen == ids{2});
}

TEST_CASE_METHOD(fixture, "a round whose start fails is reported and not ended",
                 "[ibv_start_poll]") {
  complete(1);
  const adverb::failure why = reported([&] { machine.fail<called::start_poll>(EFAULT); },
                                       [&](auto&&... policy) {
                                         for (const auto& completion : queue.poll(policy...))
                                           seen.push_back(completion.id());
                                       });
  CHECK(std::string{why.what()} == "ibv_start_poll on fake0 cq 1: EFAULT (Bad address)");
  CHECK(seen.empty());
  CHECK(order() == "sss");
  CHECK(left() == 1);
}

TEST_CASE_METHOD(fixture, "a round whose next poll fails is reported and ended",
                 "[ibv_next_poll][ibv_end_poll]") {
  const adverb::failure why = reported(
      [&] {
        complete(1);
        complete(2);
        machine.fail<called::next_poll>(EFAULT);
      },
      [&](auto&&... policy) {
        for (const auto& completion : queue.poll(7, policy...)) seen.push_back(completion.id());
      });
  CHECK(std::string{why.what()} == "ibv_next_poll on fake0 cq 1: EFAULT (Bad address)");
  CHECK(order() == "snesnesne");
  CHECK(seen.size() == 3);
}

TEST_CASE_METHOD(fixture, "a negative result of a poll is reported as EIO") {
  // mlx5 returns -2 for a completion that it cannot make sense of, which is no -ENOENT.
  CHECK(reported([&] { machine.fail<called::start_poll>(-2); },
                 [&](auto&&... policy) {
                   for ([[maybe_unused]] const auto& each : queue.poll(policy...)) FAIL();
                 })
            .code() == std::errc::io_error);
}

TEST_CASE_METHOD(fixture, "a successful round clears the error code") {
  std::error_code code = std::make_error_code(std::errc::io_error);
  for ([[maybe_unused]] const auto& each : queue.poll(code)) FAIL("there is none");
  CHECK_FALSE(code);
}

TEST_CASE_METHOD(fixture, "an extended queue converts to a completion queue reference",
                 "[ibv_cq_ex_to_cq]") {
  const adverb::completion_queue_ref any = queue;
  CHECK(any.native_handle() == ibv_cq_ex_to_cq(queue.native_handle()));
  const adverb::extended_completion_queue_ref<> reference = queue;
  const adverb::completion_queue_ref same = reference;
  CHECK(same.native_handle() == any.native_handle());
  CHECK(adverb::extended_completion_queue_ref<>{queue.native_handle()}.capacity() == 16);
  static_assert(
      !std::is_convertible_v<adverb::extended_completion_queue<>, adverb::completion_queue_ref>);
  static_assert(!std::is_convertible_v<adverb::extended_completion_queue<>,
                                       adverb::extended_completion_queue_ref<>>);
  static_assert(
      std::is_convertible_v<adverb::extended_completion_queue<>&, adverb::completion_queue_ref>);
}

TEST_CASE_METHOD(fixture, "a reference can read fewer fields than the queue has") {
  complete(1);
  const adverb::extended_completion_queue_ref<completion_field::queue_pair> fewer = queue;
  for (const auto& completion : fewer.poll())
    CHECK(completion.queue_pair() == adverb::qp_number{0});
  const adverb::extended_completion_queue_ref<adverb::completion_fields{}> none = fewer;
  CHECK(none.native_handle() == queue.native_handle());
  CHECK_FALSE(adverb::extended_completion_queue_ref<>{});
}

TEST_CASE_METHOD(fixture, "wait on an extended queue polls, arms, polls again and then sleeps") {
  machine.before<called::get_cq_event>([&] { complete(7); });
  CHECK(queue.wait(4, collect()) == 1);
  CHECK(seen == ids{7});
  CHECK(order() == "saswksne");
  CHECK(machine.unacknowledged(ibv_cq_ex_to_cq(queue.native_handle())) == 0);
}

TEST_CASE_METHOD(fixture, "wait on an extended queue returns at most its limit") {
  for (const std::uint64_t id : ids{1, 2, 3}) complete(id);
  CHECK(queue.wait(2, collect()) == 2);
  CHECK(seen == ids{1, 2});
  CHECK(queue.wait(1, collect()) == 1);
  CHECK(order() == "snese");
}

TEST_CASE_METHOD(fixture,
                 "wait on an extended queue ends at its timeout and leaves the queue armed") {
  using std::chrono::milliseconds;
  CHECK(queue.wait(4, collect(), milliseconds{1}) == 0);
  CHECK(order() == "sas");
  complete(1);
  CHECK(channel.has_event());
  CHECK(queue.wait(4, collect(), milliseconds{1}) == 1);
  CHECK(queue.busy_poll(4, collect(), milliseconds{1}) == 0);
  complete(2);
  CHECK(queue.busy_poll(4, collect(), milliseconds{1}) == 1);
  CHECK(seen == ids{1, 2});
}

TEST_CASE_METHOD(fixture, "arm_and_poll drains in rounds of the limit before and after arming") {
  for (const std::uint64_t id : ids{1, 2}) complete(id);
  machine.before<called::req_notify_cq>([&] { complete(3); });
  queue.arm_and_poll(1, collect());
  CHECK(seen == ids{1, 2, 3});
  CHECK(order() == "sesesases");
}

TEST_CASE_METHOD(fixture, "arm_and_poll of an extended queue stops if a drain fails") {
  const auto arm = [&](auto&&... policy) { queue.arm_and_poll(8, collect(), policy...); };
  CHECK(reported([&] { machine.fail<called::start_poll>(EIO); }, arm).verb() == "ibv_start_poll");
  CHECK(order() == "sss");
  machine.forget_calls();
  CHECK(reported(
            [&] {
              complete(1);
              machine.fail<called::next_poll>(EIO);
            },
            arm)
            .verb() == "ibv_next_poll");
  CHECK(order() == "snesnesne");
}

TEST_CASE_METHOD(fixture, "wait and drain of an extended queue need a limit and a channel") {
  const std::string no_room = "no completion can be polled: the limit is 0";
  CHECK(reported([&](auto&&... policy) {
          (void)queue.wait(0, collect(), policy...);
        }).explanation() == no_room);
  CHECK(reported([&](auto&&... policy) {
          queue.arm_and_poll(0, collect(), policy...);
        }).explanation() == no_room);
  CHECK(reported([&](auto&&... policy) {
          (void)queue.busy_poll(0, collect(), std::chrono::seconds{1}, policy...);
        }).explanation() == no_room);
  const adverb::extended_completion_queue<> polled{context, 16};
  CHECK(reported([&](auto&&... policy) {
          (void)polled.wait(1, collect(), policy...);
        }).explanation() == "the queue has no completion channel");
  const adverb::extended_completion_queue<> none;
  CHECK(reported([&](auto&&... policy) {
          (void)none.wait(1, collect(), policy...);
        }).explanation() == "the completion queue is empty: moved from, closed, or never created");
  CHECK(order().empty());
}

TEST_CASE_METHOD(fixture, "an extended queue can be armed, resized and moderated",
                 "[ibv_req_notify_cq][ibv_resize_cq][ibv_modify_cq]") {
  machine.devices[0].extended.cq_mod_caps = {100, 100};
  machine.forget_calls();
  queue.request_notification(true);
  queue.resize(100);
  queue.moderate(8, std::chrono::microseconds{16});
  CHECK_THAT(machine.lines(), is_log(R"(
    ibv_req_notify_cq cq0 solicited_only=1
    ibv_resize_cq cq0 cqe=100
    ibv_modify_cq cq0 cq_count=8 cq_period=16)"));
  CHECK(queue.capacity() == 128);
}

TEST_CASE_METHOD(fixture, "an extended queue can be moved, adopted, released and closed",
                 "[ibv_destroy_cq]") {
  adverb::extended_completion_queue<> moved = std::move(queue);
  CHECK_FALSE(queue);
  ibv_cq_ex* const native = moved.release();
  adverb::extended_completion_queue<> adopted{adverb::adopt, native};
  adopted.close();
  CHECK_THAT(machine.lines<called::destroy_cq>(), is_log("ibv_destroy_cq cq0"));
}

TEST_CASE_METHOD(fixture, "closing an extended queue fails while queue pairs use it") {
  const adverb::protection_domain domain{context};
  {
    const auto pair = adverb::queue_pair<adverb::transport::rc>::create(
        domain, {.send_cq = queue, .recv_cq = queue});
    CHECK(field(machine.line(), "send_cq") == "cq0");
    adverb::failure why;
    queue.close(why);
    CHECK(why.code() == std::errc::device_or_resource_busy);
    CHECK(why.object() == "fake0 cq 1");
    CHECK(why.explanation() == "still in use by 1 queue pair; destroy these first");
  }
  queue.close();
}

TEST_CASE_METHOD(fixture, "closing a channel fails while an extended queue uses it") {
  std::error_code code;
  channel.close(code);
  CHECK(code == std::errc::device_or_resource_busy);
  queue.close();
  channel.close();
}
