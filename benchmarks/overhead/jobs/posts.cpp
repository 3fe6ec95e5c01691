// SPDX-License-Identifier: MIT
#include "posts.hpp"

#include <cstring>

namespace posts {
namespace {

template <bool Zeroed>
[[gnu::always_inline]] inline bool post_write(ibv_qp* pair, const c_remote& there, ibv_sge* block,
                                              std::uint64_t id) noexcept {
  ibv_send_wr request;
  if (Zeroed) std::memset(&request, 0, sizeof request);
  request.wr_id = id;
  request.next = nullptr;
  request.sg_list = block;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = there.address;
  request.wr.rdma.rkey = there.key;
  ibv_send_wr* bad;
  return ibv_post_send(pair, &request, &bad) == 0;
}

template <bool Zeroed>
[[gnu::always_inline]] inline bool post_send(ibv_qp* pair, const ibv_sge* blocks, int count,
                                             std::uint64_t id) noexcept {
  ibv_send_wr request;
  if (Zeroed) std::memset(&request, 0, sizeof request);
  request.wr_id = id;
  request.next = nullptr;
  request.sg_list = const_cast<ibv_sge*>(blocks);
  request.num_sge = count;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* bad;
  return ibv_post_send(pair, &request, &bad) == 0;
}

}  // namespace

bool write_value(ibv_qp* pair, std::uint64_t address, std::uint32_t key, ibv_sge block,
                 std::uint64_t id) noexcept {
  return post_write<false>(pair, {address, key}, &block, id);
}
bool write_value_zeroed(ibv_qp* pair, std::uint64_t address, std::uint32_t key, ibv_sge block,
                        std::uint64_t id) noexcept {
  return post_write<true>(pair, {address, key}, &block, id);
}

// The device only reads the element, so C needs no copy of it.
bool write_reference(ibv_qp* pair, const c_remote* there, const ibv_sge* block,
                     std::uint64_t id) noexcept {
  return post_write<false>(pair, *there, const_cast<ibv_sge*>(block), id);
}
bool write_reference_zeroed(ibv_qp* pair, const c_remote* there, const ibv_sge* block,
                            std::uint64_t id) noexcept {
  return post_write<true>(pair, *there, const_cast<ibv_sge*>(block), id);
}

bool send_span(ibv_qp* pair, const ibv_sge* blocks, int count, std::uint64_t id) noexcept {
  return post_send<false>(pair, blocks, count, id);
}
bool send_span_zeroed(ibv_qp* pair, const ibv_sge* blocks, int count, std::uint64_t id) noexcept {
  return post_send<true>(pair, blocks, count, id);
}

bool write_value(pair_ref pair, remote_words there, adverb::const_buffer block, std::uint64_t id) {
  return static_cast<bool>(pair.post(write(there, block).id(id).signaled()));
}
bool write_reference(pair_ref pair, const remote_words& there, const adverb::const_buffer& block,
                     std::uint64_t id) {
  return static_cast<bool>(pair.post(write(there, block).id(id).signaled()));
}
bool send_span(pair_ref pair, std::span<const adverb::const_buffer> blocks, std::uint64_t id) {
  return static_cast<bool>(pair.post(send(blocks).id(id).signaled()));
}

}  // namespace posts
