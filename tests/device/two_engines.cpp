// SPDX-License-Identifier: MIT
// One body over {classic, extended} completion queues and {classic, extended} sending, on the real
// device, connected by hand and by librdmacm, and what is made where it lacks the extended one. On
// soft-iWARP, which has only the classic engines and only librdmacm, what it lacks is refused.
#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "either_engine.hpp"
#include "rc_link.hpp"

using namespace adverb;

namespace {

/// The engines of a test, one for each direction.
template <class Queue, bool ExtendedSending>
struct engines {
  using queue = Queue;
  static constexpr bool extended_sending = ExtendedSending;
};
using classic_both = engines<completion_queue, false>;
using extended_sending = engines<completion_queue, true>;
using extended_queue = engines<extended_completion_queue<>, false>;
using extended_both = engines<extended_completion_queue<>, true>;

template <transport Transport, class Engines>
[[nodiscard]] queue_pair_options options_for() {
  queue_pair_options options = loopback_options<Transport>{}.pair;
  if (Engines::extended_sending) options.send_operations = basic_operations(Transport);
  return options;
}

/// The sender of a pair.
template <class Engines, transport Transport>
[[nodiscard]] auto sender_of(queue_pair_ref<Transport> pair) {
  if constexpr (Engines::extended_sending)
    return pair.extended();
  else
    return pair;
}

template <class Engines>
struct engine_link : rc_link<typename Engines::queue> {
  engine_link() : rc_link<typename Engines::queue>{options_for<transport::rc, Engines>()} {}

  /// The sender of the near side.
  [[nodiscard]] auto sender() const { return sender_of<Engines>(this->near_pair); }

  /// Lets a request of the near side succeed, as this operation.
  template <class Request>
  void carry_out(const Request& request, completion_opcode opcode) const {
    sender().post(request.signaled().id(77)).check();
    take(this->near_end.queue, [&](const auto& done) {
      done.check();
      CHECK(done.id() == 77);
      CHECK(done.success().opcode() == opcode);
    });
  }
};

/// Returns whether the device lacks an engine, which is then refused: soft-iWARP has no extended
/// one.
template <class Engines>
[[nodiscard]] bool lacks() {
  if (!cm_test::on_iwarp()) return false;
  const context device = open_device();
  failure why;
  if (!std::same_as<typename Engines::queue, completion_queue>) {
    CHECK(!extended_completion_queue<>{device, 16, why});
    CHECK(why.code() == std::errc::operation_not_supported);
  }
  if (Engines::extended_sending) {
    const protection_domain domain{device};
    const completion_queue queue{device, 16};
    queue_pair_options options = options_for<transport::rc, Engines>();
    options.send_cq = queue;
    options.recv_cq = queue;
    CHECK(!queue_pair<transport::rc>::create(domain, options, why));
    CHECK(why.code() == std::errc::operation_not_supported);
  }
  return static_cast<bool>(why);
}

}  // namespace

TEMPLATE_TEST_CASE("Either engine: messages arrive, with and without immediate data, or empty",
                   "[ibv_post_send][ibv_create_qp_ex][ibv_qp_to_qp_ex][ibv_wr_start]"
                   "[ibv_wr_complete][ibv_wr_set_sge][ibv_wr_send][ibv_wr_send_imm]",
                   classic_both, extended_sending, extended_queue, extended_both) {
  if (lacks<TestType>()) return;
  engine_link<TestType> link;
  link.near_end.fill(0, 1000, 3);
  for (std::uint64_t id = 1; id <= 3; ++id)
    link.far_pair.post(receive(link.far_end.region.slice(1000 * id, 1000)).id(id)).check();
  link.carry_out(send(link.near_end.region.slice(0, 1000)), completion_opcode::send);
  // iWARP has no immediate data.
  const bool immediates = !cm_test::on_iwarp();
  if (immediates)
    link.carry_out(send_with_immediate(immediate{0x11223344}, link.near_end.region.slice(0, 8)),
                   completion_opcode::send);
  else
    link.carry_out(send(link.near_end.region.slice(0, 8)), completion_opcode::send);
  link.carry_out(send(), completion_opcode::send);
  const std::array<std::uint32_t, 3> lengths{1000, 8, 0};
  for (std::uint64_t id = 1; id <= 3; ++id)
    take(link.far_end.queue, [&](const auto& received) {
      received.check();
      CHECK(received.id() == id);
      const auto message = received.success().receive();
      REQUIRE(message);
      CHECK(message.length() == lengths[id - 1]);
      CHECK(message.immediate().has_value() == (id == 2 && immediates));
      CHECK(message.immediate().value_or(immediate{0x11223344}) == immediate{0x11223344});
    });
  CHECK(link.far_end.holds(1000, 1000, 3));
  CHECK(link.far_end.holds(2000, 8, 3));
}

TEMPLATE_TEST_CASE("Either engine: writes and reads work, also of no bytes",
                   "[ibv_post_send][ibv_wr_rdma_write][ibv_wr_rdma_write_imm][ibv_wr_rdma_read]"
                   "[ibv_wr_set_sge_list]",
                   classic_both, extended_sending, extended_queue, extended_both) {
  if (lacks<TestType>()) return;
  engine_link<TestType> link;
  link.near_end.fill(0, 5000, 5);
  const auto target = link.far_end.remote();
  link.carry_out(write(target.slice(100, 5000), link.near_end.region.slice(0, 5000)),
                 completion_opcode::write);
  CHECK(link.far_end.holds(100, 5000, 5));

  if (!cm_test::on_iwarp()) {
    link.far_pair.post(receive().id(9)).check();
    link.carry_out(write_with_immediate(target.slice(6000, 32), immediate{7},
                                        link.near_end.region.slice(0, 32)),
                   completion_opcode::write);
    take(link.far_end.queue, [](const auto& received) {
      CHECK(received.id() == 9);
      CHECK(received.success().receive().announces_write());
      CHECK(received.success().receive().immediate() == immediate{7});
    });
    CHECK(link.far_end.holds(6000, 32, 5));
  }

  link.carry_out(read(target.slice(100, 5000), link.near_end.region.slice(6000, 5000)),
                 completion_opcode::read);
  CHECK(link.near_end.holds(6000, 5000, 5));

  link.carry_out(write(target), completion_opcode::write);
  link.carry_out(read(target), completion_opcode::read);
  CHECK(link.far_end.holds(100, 5000, 5));
  CHECK(link.near_end.holds(0, 5000, 5));
}

TEMPLATE_TEST_CASE("Either engine: compare-and-swap and fetch-and-add work",
                   "[ibv_post_send][ibv_wr_atomic_cmp_swp][ibv_wr_atomic_fetch_add]", classic_both,
                   extended_sending, extended_queue, extended_both) {
  if (lacks<TestType>()) return;
  engine_link<TestType> link;
  const auto word =
      link.far_end.template remote<access_right::remote_atomic, std::uint64_t>().at(2);
  const auto number_at = [](const auto& end, std::size_t offset) {
    std::uint64_t number = 0;
    std::memcpy(&number, end.bytes.data() + offset, sizeof number);
    return number;
  };
  if (cm_test::on_iwarp()) {
    CHECK(!link.sender().post(fetch_and_add(word, 2, link.near_end.region.slice(0, 8))));
    return;
  }
  const std::uint64_t before = 40;
  std::memcpy(link.far_end.bytes.data() + 16, &before, sizeof before);
  link.carry_out(fetch_and_add(word, 2, link.near_end.region.slice(0, 8)),
                 completion_opcode::fetch_and_add);
  CHECK(number_at(link.near_end, 0) == 40);
  CHECK(number_at(link.far_end, 16) == 42);
  link.carry_out(
      compare_and_swap(word, {.expected = 42, .desired = 7}, link.near_end.region.slice(8, 8)),
      completion_opcode::compare_and_swap);
  CHECK(number_at(link.near_end, 8) == 42);
  CHECK(number_at(link.far_end, 16) == 7);
}

TEMPLATE_TEST_CASE("Either engine: a chain of mixed requests is executed in order",
                   "[ibv_post_send][ibv_wr_complete]", classic_both, extended_sending,
                   extended_queue, extended_both) {
  if (lacks<TestType>()) return;
  engine_link<TestType> link;
  // Longer than what soft-iWARP sends wrongly now and then (device_facts::misreads_short_requests).
  static constexpr std::size_t sent = 64;
  link.near_end.fill(0, 500 + sent, 11);
  const auto target = link.far_end.remote();
  link.far_pair.post(receive(link.far_end.region.slice(0, sent)).id(1)).check();
  const post_result result = link.sender().post(
      write(target.slice(1000, 500), link.near_end.region.slice(0, 500)).id(1),
      read(target.slice(1000, 500), link.near_end.region.slice(2000, 500)).id(2).signaled(),
      send(link.near_end.region.slice(500, sent)).fenced().id(3).signaled());
  REQUIRE(result);
  CHECK(result.accepted() == 3U);
  for (const std::uint64_t id : {2U, 3U})
    take(link.near_end.queue, [&](const auto& done) {
      done.check();
      CHECK(done.id() == id);
    });
  take(link.far_end.queue, [](const auto& received) {
    received.check();
    CHECK(received.success().receive().length() == sent);
  });
  CHECK(link.near_end.holds(2000, 500, 11));
  CHECK(std::memcmp(link.far_end.bytes.data(), link.near_end.bytes.data() + 500, sent) == 0);
}

TEMPLATE_TEST_CASE("Either engine: inline data is copied when it is posted",
                   "[ibv_post_send][ibv_wr_set_inline_data]", classic_both, extended_sending,
                   extended_queue, extended_both) {
  if (lacks<TestType>()) return;
  engine_link<TestType> link;
  link.far_pair.post(receive(link.far_end.region.slice(0, 64))).check();
  std::string text = "thirty-two bytes of inline data.";
  link.sender().post(send(inline_data{std::span{text}})).check();
  text.assign(text.size(), 'x');
  take(link.far_end.queue, [](const auto& received) {
    received.check();
    CHECK(received.success().receive().length() == 32);
  });
  CHECK(std::memcmp(link.far_end.bytes.data(), "thirty-two bytes of inline data.", 32) == 0);
}

TEMPLATE_TEST_CASE("Either engine: lists of elements and of inline data arrive completely",
                   "[ibv_post_send][ibv_wr_set_inline_data_list][optional]", classic_both,
                   extended_sending, extended_queue, extended_both) {
  if (lacks<TestType>()) return;
  engine_link<TestType> link;
  if (TestType::extended_sending && holds(device_facts::loses_lists, link.context)) {
    tell_skip("Lists of elements and of inline data arrive whole, extended sending",
              "librxe before rdma-core 64 loses parts of lists in the extended calls");
    return;
  }
  link.near_end.fill(0, 40, 13);
  const std::array<std::uint32_t, 3> lengths{40, 13, 13};
  for (std::uint64_t id = 0; id < lengths.size(); ++id)
    link.far_pair.post(receive(link.far_end.region.slice(100 * id, 100)).id(id)).check();
  const std::string head = "head ";
  const std::string body = "and body";
  const std::array pieces{inline_data{head}, inline_data{body}};
  link.sender()
      .post(send(link.near_end.region.slice(0, 10), link.near_end.region.slice(10, 30)),
            send(pieces[0], pieces[1]), send(std::span{pieces}))
      .check();
  for (std::uint64_t id = 0; id < lengths.size(); ++id)
    take(link.far_end.queue, [&](const auto& received) {
      received.check();
      CHECK(received.success().receive().length() == lengths[id]);
    });
  CHECK(link.far_end.holds(0, 40, 13));
  for (const std::size_t offset : {100U, 200U})
    CHECK(std::memcmp(link.far_end.bytes.data() + offset, "head and body", 13) == 0);
}

TEMPLATE_TEST_CASE("Either engine: a failed request reports its status and flushes its successors",
                   "[ibv_post_send][ibv_wr_complete]", classic_both, extended_sending,
                   extended_queue, extended_both) {
  if (lacks<TestType>()) return;
  engine_link<TestType> link;
  const auto right = link.far_end.template remote<access_right::remote_write>();
  const remote_buffer<std::byte, access_right::remote_write> wrong{
      adopt, right.address(), right.size(), rkey{static_cast<std::uint32_t>(right.key()) ^ 0xff00}};
  link.sender()
      .post(write(wrong.slice(0, 8), link.near_end.region.slice(0, 8)).id(1),
            write(right.slice(0, 8), link.near_end.region.slice(0, 8)).id(2).signaled())
      .check();
  if (cm_test::on_iwarp()) {
    // A write is done when it is sent, unless the peer has ended the connection before.
    take(link.near_end.queue, [](const auto& last) {
      CHECK(last.id() == 2);
      CHECK((last.status() == completion_status::success ||
             last.status() == completion_status::flushed));
    });
    return;
  }
  take(link.near_end.queue, [](const auto& failed) {
    CHECK(failed.id() == 1);
    CHECK(failed.status() == completion_status::remote_access_error);
    CHECK(!failed.success());
  });
  take(link.near_end.queue, [](const auto& flushed) {
    CHECK(flushed.id() == 2);
    CHECK(flushed.status() == completion_status::flushed);
  });
}

TEMPLATE_TEST_CASE("Either engine: the completion of a datagram names its sender",
                   "[ibv_post_send][ibv_wr_set_ud_addr]", classic_both, extended_sending,
                   extended_queue, extended_both) {
  if (cm_test::on_iwarp()) {
    const context device = open_device();
    const protection_domain domain{device};
    const completion_queue queue{device, 16};
    failure why;
    CHECK(!queue_pair<transport::ud>::create(domain, {.send_cq = queue, .recv_cq = queue}, why));
    CHECK(why.code() == std::errc::operation_not_supported);
    return;
  }
  loopback<transport::ud, typename TestType::queue> link{
      {.pair = options_for<transport::ud, TestType>()}};
  const address_handle way{link.domain, link.to_far};
  const datagram_destination there{way, link.far_endpoint.number, link.far_endpoint.queue_key};
  link.near_end.fill(0, 500, 17);
  link.far_pair.post(receive(link.far_end.region.slice(0, 600))).check();
  sender_of<TestType, transport::ud>(link.near_pair)
      .post(send(link.near_end.region.slice(0, 500)).to(there))
      .check();
  take(link.far_end.queue, [&](const auto& received) {
    received.check();
    CHECK(received.success().receive().length() == 500 + grh_size);
    CHECK(received.success().receive().source_queue_pair() == link.near_pair.number());
  });
  CHECK(link.far_end.holds(grh_size, 500, 17));
}

TEST_CASE("either_completion_queue is extended if the device supports it",
          "[ibv_create_cq_ex][ibv_create_cq]") {
  const context device = open_device();
  failure lacking;
  const extended_completion_queue<> extended{device, 16, lacking};
  const either_completion_queue<> queue{device, 16};
  REQUIRE(queue);
  CHECK(queue.is_extended() == static_cast<bool>(extended));
  if (extended) return;
  CHECK(lacking.code() == std::errc::operation_not_supported);
  CHECK(lacking.explanation() == std::string{device.device().name()} +
                                     " has no extended completion queues, or none of this kind; "
                                     "use completion_queue, or let either_completion_queue choose");
  CHECK(queue.visit([](const auto& any) { return any.poll(up_to<1>, [](const auto&) {}); }) == 0);
}

TEST_CASE("A pair and a queue that prefer the extended engine carry a message on either engine",
          "[ibv_create_qp_ex][ibv_create_cq_ex]") {
  queue_pair_options options = loopback_options<transport::rc>{}.pair;
  options.send_operations = basic_operations(transport::rc);
  options.fall_back_to_classic = true;
  const rc_link<either_completion_queue<>> link{options};
  CHECK(link.near_end.queue.is_extended() == !cm_test::on_iwarp());
  // Soft-iWARP refuses a receive without memory.
  link.far_pair.post(receive(link.far_end.region.slice(0, 8)).id(1)).check();
  link.near_pair.with_sender(
      [](const auto& sender) { sender.post(send().id(2).signaled()).check(); });
  const auto take_id = [](const either_completion_queue<>& queue, std::uint64_t id) {
    queue.visit([&](const completion_source auto& any) {
      take(any, [&](const auto& done) {
        done.check();
        CHECK(done.id() == id);
      });
    });
  };
  take_id(link.near_end.queue, 2);
  take_id(link.far_end.queue, 1);
}

TEST_CASE(
    "A pair or queue falls back to the classic engine if the device lacks an operation or field",
    "[optional]") {
  const context device = open_device();
  const protection_domain domain{device};
  if (!is_soft_roce(device)) {
    tell_skip("A device that lacks an operation or a field gives the classic engine",
              "the device is not Soft-RoCE");
    return;
  }
  const either_completion_queue<standard_completion_fields | completion_field::timestamp> queue{
      device, 16};
  CHECK(!queue.is_extended());
  auto fresh = queue_pair<transport::ud>::create(
      domain, {.send_cq = queue,
               .recv_cq = queue,
               .send_operations = send_operation::send | send_operation::tcp_segmentation,
               .fall_back_to_classic = true});
  auto waiting = initialised(fresh);
  const address_handle way{domain, waiting.address_of(waiting.endpoint())};
  const datagram_destination there{way, waiting.number(), waiting.endpoint().queue_key};
  auto receiving = waiting.rtr().apply();
  const auto pair = receiving.rts().apply();
  CHECK(pair.with_sender([&](const auto& sender) {
    sender.post(send().id(5).signaled().to(there)).check();
    return std::same_as<std::remove_cvref_t<decltype(sender)>, queue_pair_ref<transport::ud>>;
  }));
  queue.visit([](const auto& any) {
    take(any, [](const auto& done) {
      done.check();
      CHECK(done.id() == 5);
    });
  });
}
