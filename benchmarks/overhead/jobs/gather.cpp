// SPDX-License-Identifier: MIT
// One send of a message in 1 to 16 pieces, whose places a vector holds: a list of elements whose
// length is known at run time. adverb has it in a buffer_list, in a std::array and in a std::vector
// that is kept. C has an array of elements, or one that is kept and grows, and looks at its size
// for each piece, too.
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>
#include <stdexcept>
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

[[gnu::always_inline]] inline int post_in_c(ibv_qp* pair, bool zeroed, ibv_sge* list, int count,
                                            std::uint64_t id) noexcept {
  ibv_send_wr request;
  if (zeroed) std::memset(&request, 0, sizeof request);
  request.wr_id = id;
  request.next = nullptr;
  request.sg_list = list;
  request.num_sge = count;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* bad;
  return ibv_post_send(pair, &request, &bad);
}

template <bool Zeroed, bool Checked>
[[gnu::noinline]] int send_in_c(const overhead::c_objects& c, const std::vector<piece>& pieces,
                                std::uint64_t index) noexcept {
  ibv_sge list[most];
  if (Zeroed) std::memset(list, 0, sizeof list);
  std::uint32_t count = 0;
  for (const piece& each : pieces) {
    if (Checked && (each.offset > c.memory_size || each.length > c.memory_size - each.offset))
      return ERANGE;
    if (count == most) return E2BIG;
    list[count].addr = c.memory + each.offset;
    list[count].length = each.length;
    list[count].lkey = c.local_key;
    ++count;
  }
  return post_in_c(c.pair, Zeroed, list, static_cast<int>(count), index);
}

template <bool Zeroed, bool Checked>
std::uint64_t in_c(overhead::c_objects c, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index)
    if (send_in_c<Zeroed, Checked>(c, message(index), index) != 0) break;
  return index;
}

struct c_vector {
  ibv_sge* elements;
  std::uint32_t count;
  std::uint32_t capacity;
};

[[gnu::noinline]] bool grow(c_vector& list) noexcept {
  const std::uint32_t capacity = list.capacity == 0 ? 4 : 2 * list.capacity;
  void* const larger = std::realloc(list.elements, capacity * sizeof *list.elements);
  if (larger == nullptr) return false;
  list.elements = static_cast<ibv_sge*>(larger);
  list.capacity = capacity;
  return true;
}

template <bool Zeroed>
[[gnu::noinline]] int send_growing(const overhead::c_objects& c, c_vector& list,
                                   const std::vector<piece>& pieces, std::uint64_t index) noexcept {
  list.count = 0;
  for (const piece& each : pieces) {
    if (list.count == list.capacity && !grow(list)) return ENOMEM;
    ibv_sge& element = list.elements[list.count++];
    element.addr = c.memory + each.offset;
    element.length = each.length;
    element.lkey = c.local_key;
  }
  return post_in_c(c.pair, Zeroed, list.elements, static_cast<int>(list.count), index);
}

template <bool Zeroed>
std::uint64_t growing_in_c(overhead::c_objects c, std::uint64_t count) {
  c_vector list{};
  std::uint64_t index = 0;
  for (; index < count; ++index)
    if (send_growing<Zeroed>(c, list, message(index), index) != 0) break;
  std::free(list.elements);
  return index;
}

template <bool Checked>
[[gnu::noinline]] void send_list(const overhead::adverb_objects& my,
                                 const std::vector<piece>& pieces, std::uint64_t index) {
  adverb::buffer_list<most> list;
  for (const piece& each : pieces)
    if constexpr (Checked)
      list.push_back(my.region.slice(each.offset, each.length));
    else
      list.push_back(my.region.unchecked_slice(each.offset, each.length));
  my.pair.post(adverb::send(std::span{list}).id(index).signaled()).check();
}

[[gnu::noinline]] void send_array(const overhead::adverb_objects& my,
                                  const std::vector<piece>& pieces, std::uint64_t index) {
  std::array<adverb::const_buffer, most> list;
  std::size_t count = 0;
  for (const piece& each : pieces) {
    if (count == most) throw std::length_error{"too many pieces"};
    list[count++] = my.region.unchecked_slice(each.offset, each.length);
  }
  my.pair.post(adverb::send(std::span{list.data(), count}).id(index).signaled()).check();
}

[[gnu::noinline]] void send_vector(const overhead::adverb_objects& my,
                                   std::vector<adverb::const_buffer>& list,
                                   const std::vector<piece>& pieces, std::uint64_t index) {
  list.clear();
  for (const piece& each : pieces)
    list.push_back(my.region.unchecked_slice(each.offset, each.length));
  my.pair.post(adverb::send(std::span{list}).id(index).signaled()).check();
}

template <auto Send>
std::uint64_t with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) Send(my, message(index), index);
  return index;
}

std::uint64_t with_vector(overhead::adverb_objects my, std::uint64_t count) {
  std::vector<adverb::const_buffer> list;
  std::uint64_t index = 0;
  for (; index < count; ++index) send_vector(my, list, message(index), index);
  return index;
}

const overhead::listed_job listed{{.name = "gather of 1 to 16, buffer_list",
                                   .careful_bar = 1.05,
                                   .reached = 1.15,
                                   .careful = in_c<false, false>,
                                   .ordinary = in_c<true, false>,
                                   .with_adverb = with_adverb<send_list<false>>}};
const overhead::listed_job listed_checked{{.name = "gather of 1 to 16, buffer_list, slice each",
                                           .careful_bar = 1.05,
                                           .reached = 1.09,
                                           .careful = in_c<false, true>,
                                           .ordinary = in_c<true, true>,
                                           .with_adverb = with_adverb<send_list<true>>}};
const overhead::listed_job listed_array{{.name = "gather of 1 to 16, std::array",
                                         .careful_bar = 1.05,
                                         .reached = 1.30,
                                         .careful = in_c<false, false>,
                                         .ordinary = in_c<true, false>,
                                         .with_adverb = with_adverb<send_array>}};
const overhead::listed_job listed_vector{{.name = "gather of 1 to 16, std::vector",
                                          .careful_bar = 1.05,
                                          .reached = 1.09,
                                          .careful = growing_in_c<false>,
                                          .ordinary = growing_in_c<true>,
                                          .with_adverb = with_vector}};

}  // namespace
