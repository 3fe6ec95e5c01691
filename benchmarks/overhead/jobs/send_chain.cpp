// SPDX-License-Identifier: MIT
// Writes and then a send with one call, as many writes as are known at run time: 7 to 14. C fills
// an array of requests, links each to the next, and looks for room before each.
#include <cstring>

#include "job.hpp"

namespace {

constexpr std::size_t most = 15;

// Volatile, so that the compiler does not infer that there is room for all.
volatile std::size_t fewest_writes = 7;

[[nodiscard]] std::size_t writes_of(std::size_t fewest, std::uint64_t index) {
  return fewest + index % 8;
}

/// The blocks of a chain, 64 bytes apart, are all inside the region.
[[nodiscard]] std::uint64_t offset_of(std::uint64_t index) {
  return overhead::offset_of(index) / 4;
}

/// The requests of one post, as C keeps them on its stack.
struct c_chain {
  std::size_t size;
  ibv_send_wr requests[most];
  ibv_sge elements[most];
};

/// Adds a signaled or unsignaled request without its remote memory, linked to the entry behind it.
/// Returns null if there is no room.
inline ibv_send_wr* add(c_chain& chain, std::uint64_t id, ibv_wr_opcode opcode, unsigned flags,
                        std::uint64_t address, std::uint32_t length, std::uint32_t key) noexcept {
  if (chain.size == most) return nullptr;
  ibv_sge& element = chain.elements[chain.size];
  ibv_send_wr& request = chain.requests[chain.size++];
  element.addr = address;
  element.length = length;
  element.lkey = key;
  request.wr_id = id;
  request.next = &request + 1;
  request.sg_list = &element;
  request.num_sge = 1;
  request.opcode = opcode;
  request.send_flags = flags;
  return &request;
}

template <bool Zeroed>
std::uint64_t in_c(overhead::c_objects c, std::uint64_t count) {
  const std::size_t fewest = fewest_writes;
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t offset = offset_of(index);
    const std::uint32_t length = overhead::length_of(index);
    const std::size_t writes = writes_of(fewest, index);
    c_chain chain;
    if (Zeroed) std::memset(&chain, 0, sizeof chain);
    chain.size = 0;
    for (std::size_t each = 0; each < writes; ++each) {
      ibv_send_wr* const request = add(chain, index, IBV_WR_RDMA_WRITE, 0,
                                       c.memory + offset + each * 64, length, c.local_key);
      if (request == nullptr) return index;
      request->wr.rdma.remote_addr = c.remote_address + offset + each * 64;
      request->wr.rdma.rkey = c.remote_key;
    }
    ibv_send_wr* const last =
        add(chain, index, IBV_WR_SEND, IBV_SEND_SIGNALED, c.memory + offset, length, c.local_key);
    if (last == nullptr) return index;
    last->next = nullptr;
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(c.pair, chain.requests, &bad) != 0 || bad != nullptr) break;
  }
  return index;
}

std::uint64_t with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  const std::size_t fewest = fewest_writes;
  adverb::send_chain<most> chain;
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t offset = offset_of(index);
    const std::uint32_t length = overhead::length_of(index);
    const std::size_t writes = writes_of(fewest, index);
    chain.clear();
    for (std::size_t each = 0; each < writes; ++each)
      if (!chain.add(
              write(my.remote.unchecked_slice((offset + each * 64) / 8, overhead::block_size / 8),
                    my.region.unchecked_slice(offset + each * 64, length))
                  .id(index)))
        return index;
    if (!chain.add(send(my.region.unchecked_slice(offset, length)).id(index).signaled()))
      return index;
    if (!my.pair.post(chain)) break;
  }
  return index;
}

const overhead::listed_job listed{{.name = "chain of 8 to 15 requests, built at run time",
                                   .careful_bar = 1.05,
                                   .careful = in_c<false>,
                                   .ordinary = in_c<true>,
                                   .with_adverb = with_adverb}};

}  // namespace
