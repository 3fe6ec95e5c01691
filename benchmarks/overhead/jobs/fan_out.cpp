// SPDX-License-Identifier: MIT
// A message to 32 peers as datagrams: in one post of requests made anew, in a list that is kept,
// and in a batch of the extended calls. C keeps its requests too, and one element, as all send the
// same. adverb's list has an element for each request, or one that all share.
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "job.hpp"

namespace {

constexpr std::uint32_t peer_count = 32;

struct c_peer {
  ibv_ah* address;
  std::uint32_t number;
  std::uint32_t key;
};

// Programs learn their peers when they run.
[[gnu::noinline]] std::vector<c_peer> peers_of(const overhead::c_objects& c) {
  std::vector<c_peer> all;
  for (std::uint32_t index = 0; index < peer_count; ++index)
    all.push_back({c.address, 0x11 + index, 0x1ee7});
  return all;
}
[[gnu::noinline]] std::vector<adverb::datagram_destination> peers_of(
    const overhead::adverb_objects& my) {
  std::vector<adverb::datagram_destination> all;
  for (std::uint32_t index = 0; index < peer_count; ++index)
    all.push_back({my.address, adverb::qp_number{0x11 + index}, adverb::queue_key{0x1ee7}});
  return all;
}

template <bool Zeroed>
std::uint64_t post_in_c(overhead::c_objects c, std::uint64_t count) {
  const std::vector<c_peer> peers = peers_of(c);
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    // One element is enough, as all send the same.
    ibv_sge element;
    ibv_send_wr requests[peer_count];
    if (Zeroed) {
      std::memset(&element, 0, sizeof element);
      std::memset(requests, 0, sizeof requests);
    }
    element.addr = c.memory + overhead::offset_of(index);
    element.length = overhead::length_of(index);
    element.lkey = c.local_key;
    for (std::uint32_t peer = 0; peer < peer_count; ++peer) {
      ibv_send_wr& request = requests[peer];
      request.wr_id = index;
      request.next = peer + 1 < peer_count ? &requests[peer + 1] : nullptr;
      request.sg_list = &element;
      request.num_sge = 1;
      request.opcode = IBV_WR_SEND;
      request.send_flags = peer + 1 < peer_count ? 0 : IBV_SEND_SIGNALED;
      request.wr.ud.ah = peers[peer].address;
      request.wr.ud.remote_qpn = peers[peer].number;
      request.wr.ud.remote_qkey = peers[peer].key;
    }
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(c.datagrams, requests, &bad) != 0 || bad != nullptr) break;
  }
  return index;
}

std::uint64_t post_with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  const std::vector<adverb::datagram_destination> peers = peers_of(my);
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    // One list is enough, as in C.
    const std::array message{
        my.region.unchecked_slice(overhead::offset_of(index), overhead::length_of(index))};
    const auto post = [&]<std::size_t... Peer>(std::index_sequence<Peer...>) {
      const auto copy = adverb::send(std::span{message}).id(index);
      return my.datagrams.post(copy.to(peers[Peer])..., copy.to(peers[peer_count - 1]).signaled());
    };
    if (!post(std::make_index_sequence<peer_count - 1>{})) break;
  }
  return index;
}

/// The requests that a program in C keeps.
struct kept_requests {
  ibv_sge element;
  ibv_send_wr requests[peer_count];
};

[[gnu::noinline]] void set_up(kept_requests& all, const overhead::c_objects& c) {
  std::memset(&all, 0, sizeof all);
  all.element.lkey = c.local_key;
  for (std::uint32_t peer = 0; peer < peer_count; ++peer) {
    ibv_send_wr& request = all.requests[peer];
    request.next = peer + 1 < peer_count ? &all.requests[peer + 1] : nullptr;
    request.sg_list = &all.element;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = peer + 1 < peer_count ? 0 : IBV_SEND_SIGNALED;
  }
}

kept_requests kept;
// The compiler must assume that other code reads them.
kept_requests* volatile where_requests_are = &kept;

std::uint64_t keep_in_c(overhead::c_objects c, std::uint64_t count) {
  const std::vector<c_peer> peers = peers_of(c);
  kept_requests* const all = where_requests_are;
  set_up(*all, c);
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    all->element.addr = c.memory + overhead::offset_of(index);
    all->element.length = overhead::length_of(index);
    for (std::size_t peer = 0; peer < peers.size(); ++peer) {
      all->requests[peer].wr_id = index;
      all->requests[peer].wr.ud.ah = peers[peer].address;
      all->requests[peer].wr.ud.remote_qpn = peers[peer].number;
      all->requests[peer].wr.ud.remote_qkey = peers[peer].key;
    }
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(c.datagrams, all->requests, &bad) != 0 || bad != nullptr) break;
  }
  return index;
}

std::uint64_t keep_with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  const std::vector<adverb::datagram_destination> peers = peers_of(my);
  adverb::prepared_list list{send(my.region.unchecked_slice(0, 0)).to(peers[0]), peer_count};
  list[peer_count - 1].signaled();
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const auto block =
        my.region.unchecked_slice(overhead::offset_of(index), overhead::length_of(index));
    for (std::size_t peer = 0; peer < list.size(); ++peer)
      list[peer].id(index).payload(block).to(peers[peer]);
    if (!my.datagrams.post(list)) break;
  }
  return index;
}

std::uint64_t share_with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  const std::vector<adverb::datagram_destination> peers = peers_of(my);
  std::array<adverb::const_buffer, 1> message;
  adverb::prepared_list list{send(std::span{std::as_const(message)}).to(peers[0]), peer_count};
  list[peer_count - 1].signaled();
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    message[0] = my.region.unchecked_slice(overhead::offset_of(index), overhead::length_of(index));
    for (std::size_t peer = 0; peer < list.size(); ++peer) list[peer].id(index).to(peers[peer]);
    if (!my.datagrams.post(list)) break;
  }
  return index;
}

std::uint64_t batch_in_c(overhead::c_objects c, std::uint64_t count) {
  const std::vector<c_peer> peers = peers_of(c);
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t address = c.memory + overhead::offset_of(index);
    const std::uint32_t length = overhead::length_of(index);
    ibv_wr_start(c.sender);
    for (std::size_t peer = 0; peer < peers.size(); ++peer) {
      c.sender->wr_id = index;
      c.sender->wr_flags = peer + 1 < peers.size() ? 0 : IBV_SEND_SIGNALED;
      ibv_wr_send(c.sender);
      ibv_wr_set_ud_addr(c.sender, peers[peer].address, peers[peer].number, peers[peer].key);
      ibv_wr_set_sge(c.sender, c.local_key, address, length);
    }
    if (ibv_wr_complete(c.sender) != 0) break;
  }
  return index;
}

std::uint64_t batch_with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  const std::vector<adverb::datagram_destination> peers = peers_of(my);
  const adverb::extended_sender<adverb::transport::ud> sender{adverb::adopt,
                                                              &my.sender.native_handle()->qp_base};
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const auto block =
        my.region.unchecked_slice(overhead::offset_of(index), overhead::length_of(index));
    auto batch = sender.start();
    for (std::size_t peer = 0; peer < peers.size(); ++peer)
      batch.add(send(block).to(peers[peer]).id(index).signaled(peer + 1 == peers.size()));
    if (!batch.commit()) break;
  }
  return index;
}

const overhead::listed_job listed_post{{.name = "fan-out of 32 datagrams, one post",
                                        .careful_bar = 1.00,
                                        .reached = 1.05,
                                        .careful = post_in_c<false>,
                                        .ordinary = post_in_c<true>,
                                        .with_adverb = post_with_adverb}};
const overhead::listed_job listed_list{{.name = "fan-out of 32 datagrams, kept list",
                                        .careful_bar = 1.02,
                                        .reached = 1.09,
                                        .careful = keep_in_c,
                                        .ordinary = keep_in_c,
                                        .with_adverb = keep_with_adverb}};
const overhead::listed_job listed_shared{
    {.name = "fan-out of 32 datagrams, kept list, shared element",
     .careful_bar = 1.02,
     .careful = keep_in_c,
     .ordinary = keep_in_c,
     .with_adverb = share_with_adverb}};
const overhead::listed_job listed_batch{{.name = "fan-out of 32 datagrams, extended batch",
                                         .careful_bar = 1.05,
                                         .reached = 1.29,
                                         .careful = batch_in_c,
                                         .ordinary = batch_in_c,
                                         .with_adverb = batch_with_adverb}};

}  // namespace
