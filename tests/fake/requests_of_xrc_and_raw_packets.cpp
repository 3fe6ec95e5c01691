// SPDX-License-Identifier: MIT
// Requests of the transports that no software device has, XRC and raw packets, in both engines:
// every field as it arrives.
#include <array>
#include <string>
#include <vector>

#include <support/catch.hpp>

#include "test_bench.hpp"

using namespace adverb;

namespace {

template <transport Transport>
struct either_bench : test_bench {
  static constexpr send_operations operations =
      detail::operations_carried_by(Transport) - send_operation::flush;

  std::array<std::uint64_t, 8> words{};
  memory_region region{domain, words, access_right::local_write | access_right::window_bind};
  mutable_buffer local = region.slice(8, 16);
  remote_buffer<std::uint64_t, access_right::remote_write | access_right::remote_read |
                                   access_right::remote_atomic>
      remote{adopt, 0x7000, 8, rkey{0x99}};
  queue_pair<Transport> pair = ready<Transport>({.send_operations = operations});
  extended_sender<Transport, operations> sender = pair.template extended<operations>();

  template <class... Requests>
  [[nodiscard]] std::vector<fake::posted<ibv_send_wr>> posted(const Requests&... requests) {
    machine.forget_calls();
    CHECK(pair.post(requests...).accepted() == sizeof...(Requests));
    const auto calls = machine.calls<fake::called::post_send>();
    REQUIRE(calls.size() == 1);
    REQUIRE(calls[0].requests.size() == sizeof...(Requests));
    return calls[0].requests;
  }
  template <class... Requests>
  [[nodiscard]] std::vector<fake::extended_request> built(const Requests&... requests) {
    machine.forget_calls();
    CHECK(sender.post(requests...).accepted() == sizeof...(Requests));
    const auto calls = machine.calls<fake::called::wr_complete>();
    REQUIRE(calls.size() == 1);
    REQUIRE(calls[0].requests.size() == sizeof...(Requests));
    return calls[0].requests;
  }
};

constexpr shared_receive_queue_number there{0x321};
constexpr std::array xrc_opcodes{IBV_WR_SEND,
                                 IBV_WR_SEND_WITH_IMM,
                                 IBV_WR_SEND_WITH_INV,
                                 IBV_WR_RDMA_WRITE,
                                 IBV_WR_RDMA_WRITE_WITH_IMM,
                                 IBV_WR_RDMA_READ,
                                 IBV_WR_ATOMIC_CMP_AND_SWP,
                                 IBV_WR_ATOMIC_FETCH_AND_ADD};

/// One of each, as `use` takes them.
template <class Bench, class Use>
auto with_xrc_requests(const Bench& bench, const Use& use) {
  const mutable_buffer local = bench.local;
  const mutable_buffer word = bench.region.slice(0, 8);
  return use(send(local).to(there).id(1),
             send_with_immediate(immediate{0x01020304}, local).to(there).solicited(),
             send_with_invalidate(rkey{0x55}, local).to(there),
             write(bench.remote, local).to(there).fenced(),
             write_with_immediate(bench.remote, immediate{0x0a0b0c0d}, local).to(there),
             read(bench.remote, local).to(there),
             compare_and_swap(bench.remote, {.expected = 5, .desired = 6}, word).to(there),
             fetch_and_add(bench.remote, 7, word).to(there).signaled());
}

}  // namespace

TEST_CASE("XRC requests name the shared receive queue beside all that RC ones have",
          "[ibv_post_send]") {
  either_bench<transport::xrc_send> bench;
  const auto sent =
      with_xrc_requests(bench, [&](const auto&... requests) { return bench.posted(requests...); });
  for (std::size_t index = 0; index < sent.size(); ++index) {
    CAPTURE(index);
    CHECK(sent[index].wr.opcode == xrc_opcodes[index]);
    CHECK(sent[index].wr.qp_type.xrc.remote_srqn == 0x321);
    REQUIRE(sent[index].elements.size() == 1);
    CHECK(sent[index].elements[0].length == (index < 6 ? 16 : 8));
  }
  CHECK(sent[0].wr.wr_id == 1);
  CHECK(sent[1].wr.imm_data == htobe32(0x01020304));
  CHECK(sent[1].wr.send_flags == IBV_SEND_SOLICITED);
  CHECK(sent[2].wr.invalidate_rkey == 0x55);
  CHECK(sent[3].wr.send_flags == IBV_SEND_FENCE);
  CHECK(sent[4].wr.imm_data == htobe32(0x0a0b0c0d));
  for (std::size_t index = 3; index < 6; ++index) {
    CHECK(sent[index].wr.wr.rdma.remote_addr == 0x7000);
    CHECK(sent[index].wr.wr.rdma.rkey == 0x99);
  }
  for (std::size_t index = 6; index < 8; ++index) {
    CHECK(sent[index].wr.wr.atomic.remote_addr == 0x7000);
    CHECK(sent[index].wr.wr.atomic.rkey == 0x99);
  }
  CHECK(sent[6].wr.wr.atomic.compare_add == 5);
  CHECK(sent[6].wr.wr.atomic.swap == 6);
  CHECK(sent[7].wr.wr.atomic.compare_add == 7);
  CHECK(sent[7].wr.send_flags == IBV_SEND_SIGNALED);
}

TEST_CASE("XRC requests name the shared receive queue through the extended calls",
          "[ibv_wr_set_xrc_srqn]") {
  either_bench<transport::xrc_send> bench;
  const auto sent =
      with_xrc_requests(bench, [&](const auto&... requests) { return bench.built(requests...); });
  for (std::size_t index = 0; index < sent.size(); ++index) {
    CAPTURE(index);
    CHECK(sent[index].opcode == xrc_opcodes[index]);
    CHECK(sent[index].shared_receive_queue == 0x321);
    CHECK(sent[index].data_call == "sge");
    REQUIRE(sent[index].elements.size() == 1);
    CHECK(sent[index].elements[0].length == (index < 6 ? 16 : 8));
  }
  CHECK(sent[0].id == 1);
  CHECK(sent[1].immediate == htobe32(0x01020304));
  CHECK(sent[1].flags == IBV_SEND_SOLICITED);
  CHECK(sent[2].invalidated_key == 0x55);
  CHECK(sent[3].flags == IBV_SEND_FENCE);
  CHECK(sent[4].immediate == htobe32(0x0a0b0c0d));
  for (std::size_t index = 3; index < 8; ++index) {
    CHECK(sent[index].remote_address == 0x7000);
    CHECK(sent[index].remote_key == 0x99);
  }
  CHECK(sent[6].compare_or_add == 5);
  CHECK(sent[6].swap == 6);
  CHECK(sent[7].compare_or_add == 7);
  CHECK(sent[7].flags == IBV_SEND_SIGNALED);

  const auto written = bench.built(atomic_write(bench.remote, 0x0102030405060708).to(there));
  CHECK(written[0].opcode == IBV_WR_ATOMIC_WRITE);
  CHECK(written[0].written == 0x0102030405060708);
  CHECK(written[0].shared_receive_queue == 0x321);
}

TEST_CASE("An XRC initiator binds windows and invalidates keys, which have no destination",
          "[ibv_post_send][ibv_wr_bind_mw][ibv_wr_local_inv]") {
  either_bench<transport::xrc_send> bench;
  const memory_window<window_type::two> window{bench.domain};
  const auto bind = [&] {
    return bind_window(window.prepare<std::byte, access_right::remote_write>(bench.region, 8, 16));
  };
  const auto posted = bench.posted(local_invalidate(rkey{0x77}), bind().fenced());
  CHECK(posted[0].wr.opcode == IBV_WR_LOCAL_INV);
  CHECK(posted[0].wr.invalidate_rkey == 0x77);
  CHECK(posted[1].wr.opcode == IBV_WR_BIND_MW);
  CHECK(posted[1].wr.bind_mw.mw == window.native_handle());
  CHECK(posted[1].wr.send_flags == IBV_SEND_FENCE);

  const auto built = bench.built(local_invalidate(rkey{0x77}), bind());
  CHECK(built[0].opcode == IBV_WR_LOCAL_INV);
  CHECK(built[0].invalidated_key == 0x77);
  CHECK(built[1].opcode == IBV_WR_BIND_MW);
  CHECK(built[1].window == window.native_handle());
  // Nobody has said a number.
  CHECK(built[0].shared_receive_queue == 0);
  CHECK(built[1].shared_receive_queue == 0);
}

TEST_CASE("Raw packets are sent as they are, inline, or segmented", "[ibv_post_send]") {
  either_bench<transport::raw_packet> bench;
  std::string header(14, 'h');
  const auto sent =
      bench.posted(send(bench.local).ip_checksum().id(1), send(inline_data{header}).signaled(),
                   send_segmented(std::as_bytes(std::span{header}), 1000, bench.local));
  CHECK(sent[0].wr.opcode == IBV_WR_SEND);
  CHECK(sent[0].wr.wr_id == 1);
  CHECK(sent[0].wr.send_flags == IBV_SEND_IP_CSUM);
  CHECK(sent[0].elements.at(0).addr == bench.local.address());
  CHECK(sent[1].wr.send_flags == (IBV_SEND_INLINE | IBV_SEND_SIGNALED));
  CHECK(sent[1].inline_bytes == header);
  CHECK(sent[2].wr.opcode == IBV_WR_TSO);
  CHECK(sent[2].wr.tso.hdr == header.data());
  CHECK(sent[2].wr.tso.hdr_sz == 14);
  CHECK(sent[2].wr.tso.mss == 1000);
  CHECK(sent[2].elements.at(0).length == 16);
}

TEST_CASE("Raw packets are sent through the extended calls",
          "[ibv_wr_send][ibv_wr_send_tso][ibv_wr_set_inline_data]") {
  either_bench<transport::raw_packet> bench;
  std::string header(14, 'h');
  const auto sent =
      bench.built(send(bench.local).ip_checksum().id(1), send(inline_data{header}).signaled(),
                  send_segmented(std::as_bytes(std::span{header}), 1000, bench.local));
  CHECK(sent[0].opcode == IBV_WR_SEND);
  CHECK(sent[0].id == 1);
  CHECK(sent[0].flags == IBV_SEND_IP_CSUM);
  CHECK(sent[0].elements.at(0).addr == bench.local.address());
  CHECK(sent[1].flags == (IBV_SEND_INLINE | IBV_SEND_SIGNALED));
  CHECK(sent[1].inline_bytes == header);
  CHECK(sent[2].opcode == IBV_WR_TSO);
  CHECK(sent[2].header == header);
  CHECK(sent[2].segment_size == 1000);
  CHECK(sent[2].elements.at(0).length == 16);
}

TEST_CASE("A pair that is to send what its transport does not carry is refused with that reason",
          "[ibv_create_qp_ex]") {
  test_bench bench;
  const auto refused = [&](auto service, send_operations operations) {
    bench.machine.fail<fake::called::create_qp_ex>(EOPNOTSUPP);
    failure why;
    CHECK(!queue_pair<decltype(service)::value>::create(
        bench.domain,
        {.send_cq = bench.queue, .recv_cq = bench.queue, .send_operations = operations}, why));
    CHECK(why.code() == std::errc::operation_not_supported);
    return std::string{why.explanation()};
  };
  using rc = std::integral_constant<transport, transport::rc>;
  using ud = std::integral_constant<transport, transport::ud>;
  CHECK(refused(rc{}, send_operation::send | send_operation::tcp_segmentation) ==
        "RC queue pairs do not carry tcp_segmentation, which send_operations names");
  CHECK(refused(ud{}, basic_operations(transport::rc)) ==
        "UD queue pairs do not carry write|write_with_immediate|read|compare_and_swap|"
        "fetch_and_add, which send_operations names");
  CHECK(refused(ud{}, send_operation::send) ==
        "fake0 has no UD queue pairs, or not with extended calls for send; fall_back_to_classic "
        "makes a pair without extended calls, which sends by post(...)");
}
