// SPDX-License-Identifier: MIT
// One send of a message in 1 to 16 pieces, of which a vector holds the places: a list of elements
// whose length is known at run time.
#include <cstring>
#include <vector>

#include "job.hpp"

namespace {

constexpr std::uint32_t most = 16;

struct piece {
  std::uint64_t offset;
  std::uint32_t length;
};

/// A message of the given number.
const std::vector<piece>& message(std::uint64_t index) {
  static const std::vector<std::vector<piece>> all = [] {
    std::vector<std::vector<piece>> made;
    for (std::uint32_t size = 1; size <= most; ++size) {
      std::vector<piece>& pieces = made.emplace_back();
      for (std::uint32_t number = 0; number < size; ++number)
        pieces.push_back({overhead::offset_of(number + size), overhead::length_of(number + 1)});
    }
    return made;
  }();
  return all[index % most];
}

template <bool Zeroed, bool Checked>
[[gnu::noinline]] int send_in_c(const overhead::c_objects& c, const std::vector<piece>& pieces,
                                std::uint64_t index) {
  ibv_sge list[most];
  ibv_send_wr request;
  if (Zeroed) {
    std::memset(list, 0, sizeof list);
    std::memset(&request, 0, sizeof request);
  }
  int count = 0;
  for (const piece& each : pieces) {
    if (Checked && (each.offset > c.memory_size || each.length > c.memory_size - each.offset))
      return ERANGE;
    list[count].addr = c.memory + each.offset;
    list[count].length = each.length;
    list[count].lkey = c.local_key;
    ++count;
  }
  request.wr_id = index;
  request.next = nullptr;
  request.sg_list = list;
  request.num_sge = count;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* bad;
  return ibv_post_send(c.pair, &request, &bad);
}

template <bool Zeroed, bool Checked>
std::uint64_t in_c(overhead::c_objects c, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index)
    if (send_in_c<Zeroed, Checked>(c, message(index), index) != 0) break;
  return index;
}

template <bool Checked>
[[gnu::noinline]] void send_pieces(const overhead::adverb_objects& my,
                                   const std::vector<piece>& pieces, std::uint64_t index) {
  adverb::buffer_list<most> list;
  for (const piece& each : pieces)
    if constexpr (Checked)
      list.push_back(my.region.slice(each.offset, each.length));
    else
      list.push_back(my.region.unchecked_slice(each.offset, each.length));
  my.pair.post(adverb::send(std::span{list}).id(index).signaled()).check();
}

template <bool Checked>
std::uint64_t with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) send_pieces<Checked>(my, message(index), index);
  return index;
}

// A post, and 8.5 pieces on average.
constexpr std::uint64_t operations = 9;
const overhead::listed_job listed{{.name = "gather of 1 to 16 buffers from a vector",
                                   .careful_bar = 1.05,
                                   .reached = 1.15,
                                   .operations = operations,
                                   .careful = in_c<false, false>,
                                   .ordinary = in_c<true, false>,
                                   .with_adverb = with_adverb<false>}};
const overhead::listed_job listed_checked{{.name = "gather of 1 to 16 buffers, slice each",
                                           .careful_bar = 1.10,
                                           .reached = 1.11,
                                           .operations = operations,
                                           .careful = in_c<false, true>,
                                           .ordinary = in_c<true, true>,
                                           .with_adverb = with_adverb<true>}};

}  // namespace
