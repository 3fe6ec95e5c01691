// SPDX-License-Identifier: MIT
// One body over whichever engine a provider has, and what is made where it lacks the extended one.
#include <array>
#include <cerrno>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <support/catch.hpp>
#include <support/reported.hpp>

#include "completed.hpp"
#include "test_bench.hpp"

using namespace adverb;
namespace called = fake::called;

namespace {

constexpr int unsupported_errors[] = {EOPNOTSUPP, ENOSYS};

/// A bench whose provider may lack the extended calls.
struct engine_bench : test_bench {
  std::array<std::uint64_t, 4> words{};
  memory_region region{domain, words, access_right::local_write | access_right::remote_write};
  remote_buffer<std::uint64_t, access_right::remote_write> remote{adopt, 0x7000, 8, rkey{0x99}};

  [[nodiscard]] queue_pair_options preferring(send_operations operations) const {
    return {.send_cq = queue,
            .recv_cq = queue,
            .send_operations = operations,
            .fall_back_to_classic = true};
  }
  [[nodiscard]] queue_pair<transport::rc> preferred(send_operations operations) const {
    return ready<transport::rc>(preferring(operations));
  }
};

constexpr completion_fields timed = standard_completion_fields | completion_field::timestamp;

/// A body that keeps something, and refers to it.
struct counter {
  int& operator()(const auto&) & { return ++calls; }
  int calls = 0;
};

template <class Sender>
inline constexpr bool is_extended = requires(const Sender& sender) { sender.start(); };

}  // namespace

TEST_CASE("A pair that prefers the extended calls has them if the provider supports them",
          "[ibv_create_qp_ex]") {
  engine_bench bench;
  const auto pair = bench.preferred(basic_operations(transport::rc));
  CHECK(bench.machine.count<called::create_qp_ex>() == 1);
  CHECK(bench.machine.count<called::create_qp>() == 0);
  CHECK(pair.extended());
  CHECK(pair.with_sender([](auto sender) { return is_extended<decltype(sender)>; }));
}

TEST_CASE("A pair that prefers the extended calls falls back to the classic calls",
          "[ibv_create_qp_ex][ibv_create_qp]") {
  for (const int error : unsupported_errors) {
    engine_bench bench;
    bench.machine.fail<called::create_qp_ex>(error);
    std::error_code code = std::make_error_code(std::errc::io_error);
    const auto made = queue_pair<transport::rc>::create(
        bench.domain, bench.preferring(basic_operations(transport::rc)), code);
    CHECK(made);
    CHECK(!code);
    CHECK_THAT((bench.machine.lines<called::create_qp_ex, called::create_qp>()), is_log(R"(
      ibv_create_qp_ex ctx0 qp_type=RC send_cq=cq0 recv_cq=cq0
        cap={max_send_wr=1 max_recv_wr=1 max_send_sge=1 max_recv_sge=1} pd=pd0
        send_ops_flags=RDMA_WRITE|RDMA_WRITE_WITH_IMM|SEND|SEND_WITH_IMM|RDMA_READ|
          ATOMIC_CMP_AND_SWP|ATOMIC_FETCH_AND_ADD
      ibv_create_qp pd0 qp_type=RC send_cq=cq0 recv_cq=cq0
        cap={max_send_wr=1 max_recv_wr=1 max_send_sge=1 max_recv_sge=1})"));
  }
}

TEST_CASE("The fallback keeps the other options of the extended creation") {
  engine_bench bench;
  bench.machine.fail<called::create_qp_ex>(EOPNOTSUPP);
  queue_pair_options options = bench.preferring(send_operation::send);
  options.flags = queue_pair_flag::pci_write_end_padding;
  const auto made = queue_pair<transport::rc>::create(bench.domain, options);
  CHECK(made);
  CHECK_THAT((bench.machine.lines<called::create_qp_ex, called::create_qp>()), is_log(R"(
    ibv_create_qp_ex ctx0 qp_type=RC send_cq=cq0 recv_cq=cq0
      cap={max_send_wr=1 max_recv_wr=1 max_send_sge=1 max_recv_sge=1} pd=pd0
      create_flags=PCI_WRITE_END_PADDING send_ops_flags=SEND
    ibv_create_qp_ex ctx0 qp_type=RC send_cq=cq0 recv_cq=cq0
      cap={max_send_wr=1 max_recv_wr=1 max_send_sge=1 max_recv_sge=1} pd=pd0
      create_flags=PCI_WRITE_END_PADDING)"));
}

TEST_CASE("Any other failure of a pair that prefers the extended calls is reported") {
  engine_bench bench;
  const failure why =
      reported([&] { bench.machine.fail<called::create_qp_ex>(ENOMEM); },
               [&](auto&&... policy) {
                 (void)queue_pair<transport::rc>::create(
                     bench.domain, bench.preferring(send_operation::send), policy...);
               });
  CHECK(why.verb() == "ibv_create_qp_ex");
  CHECK(why.code() == std::errc::not_enough_memory);
  CHECK(bench.machine.count<called::create_qp>() == 0);
  // And so is that of the classic one.
  CHECK(reported(
            [&] {
              bench.machine.fail<called::create_qp_ex>(EOPNOTSUPP);
              bench.machine.fail<called::create_qp>(ENOMEM);
            },
            [&](auto&&... policy) {
              (void)queue_pair<transport::rc>::create(
                  bench.domain, bench.preferring(send_operation::send), policy...);
            })
            .verb() == "ibv_create_qp");
}

TEST_CASE("An operation that the transport does not support fails without a fallback") {
  engine_bench bench;
  bench.machine.fail<called::create_qp_ex>(EOPNOTSUPP);
  failure why;
  CHECK(!queue_pair<transport::ud>::create(
      bench.domain, bench.preferring(send_operation::send | send_operation::read), why));
  CHECK(why.explanation() == "UD queue pairs do not support read, which send_operations contains");
  CHECK(bench.machine.count<called::create_qp>() == 0);
}

TEST_CASE("with_sender posts through either engine", "[ibv_wr_complete][ibv_post_send]") {
  for (const bool lacking : {false, true}) {
    engine_bench bench;
    if (lacking) bench.machine.fail<called::create_qp_ex>(EOPNOTSUPP);
    const auto pair = bench.preferred(basic_operations(transport::rc));
    const std::optional<std::size_t> accepted = pair.with_sender([&](const auto& sender) {
      return sender
          .post(send(bench.region.slice(0, 8)).id(1),
                write(bench.remote, bench.region.slice(8, 16)).id(2).signaled())
          .accepted();
    });
    CHECK(accepted == 2);
    const auto log = bench.machine.lines<called::wr_complete, called::post_send>();
    if (lacking)
      CHECK_THAT(log, is_log(R"(
        ibv_post_send qp0: SEND wr_id=1 [mr0+0 8];
          RDMA_WRITE wr_id=2 flags=SIGNALED remote_addr=0x7000 rkey=0x99 [mr0+8 16])"));
    else
      CHECK_THAT(log, is_log(R"(
        ibv_wr_complete qp0: SEND wr_id=1 sge [mr0+0 8];
          RDMA_WRITE wr_id=2 flags=SIGNALED remote_addr=0x7000 rkey=0x99 sge [mr0+8 16])"));
  }
}

TEST_CASE("with_sender passes the classic sender if the pair lacks an operation") {
  const engine_bench bench;
  const auto pair = bench.preferred(send_operation::send);
  const auto engine = [](auto sender) { return is_extended<decltype(sender)>; };
  CHECK(pair.with_sender<send_operation::send>(engine));
  CHECK(!pair.with_sender(engine));
  CHECK(!bench.ready<transport::rc>().with_sender(engine));
}

TEST_CASE("with_sender works on a reference to a pair") {
  engine_bench bench;
  const auto pair = bench.preferred(basic_operations(transport::rc));
  const queue_pair_ref<transport::rc> reference = pair;
  int calls = 0;
  reference.with_sender([&](const auto& sender) {
    static_assert(
        std::same_as<std::remove_cvref_t<decltype(sender)>, extended_sender<transport::rc>> ||
        std::same_as<std::remove_cvref_t<decltype(sender)>, queue_pair_ref<transport::rc>>);
    ++calls;
  });
  CHECK(calls == 1);
}

TEST_CASE("with_sender and visit accept a stateful function that returns a reference") {
  engine_bench bench;
  const auto pair = bench.ready<transport::rc>();
  counter count;
  static_assert(std::same_as<decltype(pair.with_sender(count)), int&>);
  static_assert(std::same_as<decltype(pair.with_sender(counter{})), int&>);
  CHECK(&pair.with_sender(count) == &count.calls);
  const either_completion_queue<> queue{bench.context, 16};
  static_assert(std::same_as<decltype(queue.visit(count)), int&>);
  CHECK(queue.visit(count) == 2);
}

TEST_CASE("either_completion_queue is extended if the provider supports it", "[ibv_create_cq_ex]") {
  engine_bench bench;
  bench.machine.forget_calls();
  const completion_channel channel{bench.context};
  {
    const either_completion_queue<> queue{bench.context, 10, {.channel = channel, .vector = 2}};
    CHECK(queue);
    CHECK(queue.is_extended());
    const completion_queue_ref any = queue;
    CHECK(any.native_handle() == queue.native_handle());
    CHECK(any.capacity() == 16);
    CHECK(any.channel().native_handle() == channel.native_handle());
  }
  CHECK_THAT(bench.machine.lines(), is_log(R"(
    ibv_create_comp_channel ctx0
    ibv_create_cq_ex ctx0 cqe=10 channel=channel0 comp_vector=2 wc_flags=STANDARD
    ibv_destroy_cq cq1)"));
}

TEST_CASE("either_completion_queue is classic if the provider lacks the extended engine",
          "[ibv_create_cq_ex][ibv_create_cq]") {
  for (const int error : unsupported_errors) {
    engine_bench bench;
    bench.machine.forget_calls();
    bench.machine.fail<called::create_cq_ex>(error);
    int user = 0;
    bench.machine.name("user", user);
    std::error_code code = std::make_error_code(std::errc::io_error);
    {
      const either_completion_queue<> queue{
          bench.context, 10, {.vector = 3, .user_context = &user}, code};
      CHECK(!code);
      CHECK(queue);
      CHECK(!queue.is_extended());
      CHECK(completion_queue_ref{queue}.native_handle() == queue.native_handle());
    }
    CHECK_THAT(bench.machine.lines(), is_log(R"(
      ibv_create_cq_ex ctx0 cqe=10 cq_context=user comp_vector=3 wc_flags=STANDARD
      ibv_query_device_ex
      ibv_create_cq ctx0 cqe=10 cq_context=user comp_vector=3
      ibv_destroy_cq cq1)"));
  }
}

TEST_CASE("either_completion_queue is classic if the device lacks a field") {
  engine_bench bench;
  const auto can_tell_time = [](const either_completion_queue<timed>& queue) {
    return queue.visit([](const auto& any) {
      return std::remove_cvref_t<decltype(any)>::fields.contains(completion_field::timestamp);
    });
  };
  CHECK(!can_tell_time(either_completion_queue<timed>{bench.context, 16}));
  bench.machine.devices[0].extended.completion_timestamp_mask = ~std::uint64_t{0};
  CHECK(can_tell_time(either_completion_queue<timed>{bench.context, 16}));
}

TEST_CASE("either_completion_queue reports any other failure") {
  engine_bench bench;
  const auto make = [&](auto&&... policy) {
    const either_completion_queue<> queue{bench.context, 16, policy...};
    CHECK(!queue);
  };
  CHECK(reported([&] { bench.machine.fail<called::create_cq_ex>(ENOMEM); }, make).code() ==
        std::errc::not_enough_memory);
  CHECK(reported(
            [&] {
              bench.machine.fail<called::create_cq_ex>(EOPNOTSUPP);
              bench.machine.fail<called::create_cq>(ENOMEM);
            },
            make)
            .verb() == "ibv_create_cq");
  CHECK(reported([&](auto&&... policy) {
          const either_completion_queue<> queue{context_ref{}, 16, policy...};
        }).explanation() == "the context is empty: moved from, closed, or never created");
}

TEST_CASE("either_completion_queue can be moved and is closed once") {
  for (const bool lacking : {false, true}) {
    engine_bench bench;
    if (lacking) bench.machine.fail<called::create_cq_ex>(EOPNOTSUPP);
    either_completion_queue<> queue{bench.context, 16};
    ibv_cq* const native = queue.native_handle();
    either_completion_queue<> moved = std::move(queue);
    CHECK(!queue);
    CHECK(queue.native_handle() == nullptr);
    CHECK(moved.native_handle() == native);
    CHECK(moved.is_extended() != lacking);
    bench.machine.fail<called::destroy_cq>(EBUSY);
    failure why;
    moved.close(why);
    CHECK(why.verb() == "ibv_destroy_cq");
    CHECK(moved);
    moved.close();
    CHECK(!moved);
    moved = either_completion_queue<>{bench.context, 16};
    CHECK(moved);
  }
  static_assert(!std::is_copy_constructible_v<either_completion_queue<>>);
  static_assert(!std::is_convertible_v<either_completion_queue<>, completion_queue_ref>);
}

TEST_CASE("visit works with either engine, and pairs accept the queue") {
  for (const bool lacking : {false, true}) {
    engine_bench bench;
    if (lacking) bench.machine.fail<called::create_cq_ex>(EOPNOTSUPP);
    const either_completion_queue<> queue{bench.context, 16};
    const auto pair =
        queue_pair<transport::rc>::create(bench.domain, {.send_cq = queue, .recv_cq = queue});
    CHECK(pair.send_cq().native_handle() == queue.native_handle());
    for (const std::uint64_t id : {1U, 2U, 3U}) {
      ibv_wc done = completed(id);
      done.byte_len = 10;
      done.opcode = IBV_WC_RECV;
      if (lacking)
        bench.machine.complete(queue.native_handle(), done);
      else
        bench.machine.complete(reinterpret_cast<ibv_cq_ex*>(queue.native_handle()), done);
    }
    std::vector<std::uint64_t> seen;
    const std::size_t count = queue.visit([&](const completion_source auto& any) {
      return any.poll_until(
          up_to<2>,
          [&](const auto& done) {
            done.check();
            CHECK(done.success().receive().length() == 10);
            seen.push_back(done.id());
          },
          [&] { return seen.size() == 3; });
    });
    CHECK(count == 3);
    CHECK(seen == std::vector<std::uint64_t>{1, 2, 3});
    CHECK(bench.machine.count<called::poll_cq>() == (lacking ? 2 : 0));
    CHECK(bench.machine.count<called::start_poll>() == (lacking ? 0 : 2));
  }
}
