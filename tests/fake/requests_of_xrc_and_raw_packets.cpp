// SPDX-License-Identifier: MIT
// Requests of the transports that no software device has, XRC and raw packets, in both engines:
// every field as it arrives.
#include <array>
#include <string>
#include <type_traits>

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

  /// The calls of the pair for these requests, and the calls of the extended sender.
  template <class... Requests>
  [[nodiscard]] fake::log_lines posted(const Requests&... requests) {
    return machine.lines_of(
        [&] { CHECK(pair.post(requests...).accepted() == sizeof...(Requests)); });
  }
  template <class... Requests>
  [[nodiscard]] fake::log_lines built(const Requests&... requests) {
    return machine.lines_of(
        [&] { CHECK(sender.post(requests...).accepted() == sizeof...(Requests)); });
  }
};

constexpr shared_receive_queue_number there{0x321};

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

TEST_CASE("XRC requests have the fields of RC requests and a shared receive queue",
          "[ibv_post_send]") {
  either_bench<transport::xrc_send> bench;
  const auto sent =
      with_xrc_requests(bench, [&](const auto&... requests) { return bench.posted(requests...); });
  CHECK_THAT(sent, is_log(R"(
    ibv_post_send qp0: SEND wr_id=1 remote_srqn=0x321 [mr0+8 16];
      SEND_WITH_IMM flags=SOLICITED imm_data=0x1020304 remote_srqn=0x321 [mr0+8 16];
      SEND_WITH_INV invalidate_rkey=0x55 remote_srqn=0x321 [mr0+8 16];
      RDMA_WRITE flags=FENCE remote_addr=0x7000 rkey=0x99 remote_srqn=0x321 [mr0+8 16];
      RDMA_WRITE_WITH_IMM imm_data=0xa0b0c0d remote_addr=0x7000 rkey=0x99 remote_srqn=0x321
        [mr0+8 16];
      RDMA_READ remote_addr=0x7000 rkey=0x99 remote_srqn=0x321 [mr0+8 16];
      ATOMIC_CMP_AND_SWP remote_addr=0x7000 rkey=0x99 compare=0x5 swap=0x6 remote_srqn=0x321
        [mr0+0 8];
      ATOMIC_FETCH_AND_ADD flags=SIGNALED remote_addr=0x7000 rkey=0x99 add=0x7 remote_srqn=0x321
        [mr0+0 8])"));
}

TEST_CASE("XRC requests of the extended calls name the shared receive queue",
          "[ibv_wr_set_xrc_srqn]") {
  either_bench<transport::xrc_send> bench;
  const auto sent =
      with_xrc_requests(bench, [&](const auto&... requests) { return bench.built(requests...); });
  CHECK_THAT(sent, is_log(R"(
    ibv_wr_start qp0
    ibv_wr_complete qp0: SEND wr_id=1 remote_srqn=0x321 sge [mr0+8 16];
      SEND_WITH_IMM flags=SOLICITED imm_data=0x1020304 remote_srqn=0x321 sge [mr0+8 16];
      SEND_WITH_INV invalidate_rkey=0x55 remote_srqn=0x321 sge [mr0+8 16];
      RDMA_WRITE flags=FENCE remote_addr=0x7000 rkey=0x99 remote_srqn=0x321 sge [mr0+8 16];
      RDMA_WRITE_WITH_IMM imm_data=0xa0b0c0d remote_addr=0x7000 rkey=0x99 remote_srqn=0x321
        sge [mr0+8 16];
      RDMA_READ remote_addr=0x7000 rkey=0x99 remote_srqn=0x321 sge [mr0+8 16];
      ATOMIC_CMP_AND_SWP remote_addr=0x7000 rkey=0x99 compare=0x5 swap=0x6 remote_srqn=0x321
        sge [mr0+0 8];
      ATOMIC_FETCH_AND_ADD flags=SIGNALED remote_addr=0x7000 rkey=0x99 add=0x7 remote_srqn=0x321
        sge [mr0+0 8])"));
  CHECK_THAT(bench.built(atomic_write(bench.remote, 0x0102030405060708).to(there)), is_log(R"(
    ibv_wr_start qp0
    ibv_wr_complete qp0: ATOMIC_WRITE remote_addr=0x7000 rkey=0x99 value=0x102030405060708
      remote_srqn=0x321)"));
}

TEST_CASE("XRC binds and invalidations have no destination",
          "[ibv_post_send][ibv_wr_bind_mw][ibv_wr_local_inv]") {
  either_bench<transport::xrc_send> bench;
  const memory_window<window_type::two> window{bench.domain};
  const auto bind = [&] {
    return bind_window(window.prepare<std::byte, access_right::remote_write>(bench.region, 8, 16));
  };
  CHECK_THAT(bench.posted(local_invalidate(rkey{0x77}), bind().fenced()), is_log(R"(
    ibv_post_send qp0: LOCAL_INV invalidate_rkey=0x77;
      BIND_MW flags=FENCE mw0 rkey=0x3005ff
        bind_info={mr0+8 length=16 mw_access_flags=REMOTE_WRITE})"));
  CHECK_THAT(bench.built(local_invalidate(rkey{0x77}), bind()), is_log(R"(
    ibv_wr_start qp0
    ibv_wr_complete qp0: LOCAL_INV invalidate_rkey=0x77;
      BIND_MW mw0 rkey=0x300500
        bind_info={mr0+8 length=16 mw_access_flags=REMOTE_WRITE})"));
}

TEST_CASE("Raw packets can be sent from buffers, inline or segmented",
          "[ibv_post_send][ibv_wr_send][ibv_wr_send_tso][ibv_wr_set_inline_data]") {
  either_bench<transport::raw_packet> bench;
  std::string header(14, 'h');
  const auto plain = send(bench.local).ip_checksum().id(1);
  const auto inlined = send(inline_data{header}).signaled();
  const auto segmented = send_segmented(std::as_bytes(std::span{header}), 1000, bench.local).id(4);
  CHECK_THAT(bench.posted(plain, inlined, segmented), is_log(R"(
    ibv_post_send qp0: SEND wr_id=1 flags=IP_CSUM [mr0+8 16];
      SEND flags=SIGNALED|INLINE "hhhhhhhhhhhhhh";
      TSO wr_id=4 hdr="hhhhhhhhhhhhhh" mss=1000 [mr0+8 16])"));
  CHECK_THAT(bench.built(plain, inlined, segmented), is_log(R"(
    ibv_wr_start qp0
    ibv_wr_complete qp0: SEND wr_id=1 flags=IP_CSUM sge [mr0+8 16];
      SEND flags=SIGNALED|INLINE inline "hhhhhhhhhhhhhh";
      TSO wr_id=4 hdr="hhhhhhhhhhhhhh" mss=1000 sge [mr0+8 16])"));
}

TEST_CASE("create refuses send operations that the transport does not support",
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
        "RC queue pairs do not support tcp_segmentation, which send_operations contains");
  CHECK(refused(ud{}, basic_operations(transport::rc)) ==
        "UD queue pairs do not support write|write_with_immediate|read|compare_and_swap|"
        "fetch_and_add, which send_operations contains");
  CHECK(refused(ud{}, send_operation::send) ==
        "fake0 has no UD queue pairs, or none with extended calls for send; fall_back_to_classic "
        "creates a pair without extended calls, which sends with post(...)");
}
