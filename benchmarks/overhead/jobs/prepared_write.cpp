// SPDX-License-Identifier: MIT
// One write from the same memory each time, with an id and a remote address of its own: prepared,
// changed where it differs, and posted again, by the loop itself and by a member function of the
// object that keeps it. C keeps its request, too, or builds it anew.
#include "job.hpp"

namespace {

std::uint64_t kept_in_c(overhead::c_objects c, std::uint64_t count) {
  ibv_sge element;
  element.addr = c.memory;
  element.length = overhead::block_size;
  element.lkey = c.local_key;
  ibv_send_wr request;
  request.next = nullptr;
  request.sg_list = &element;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.rkey = c.remote_key;
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    request.wr_id = index;
    request.wr.rdma.remote_addr = c.remote_address + overhead::offset_of(index);
    ibv_send_wr* bad;
    if (ibv_post_send(c.pair, &request, &bad) != 0) break;
  }
  return index;
}

std::uint64_t anew_in_c(overhead::c_objects c, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    ibv_sge element;
    element.addr = c.memory;
    element.length = overhead::block_size;
    element.lkey = c.local_key;
    ibv_send_wr request;
    request.wr_id = index;
    request.next = nullptr;
    request.sg_list = &element;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.rdma.remote_addr = c.remote_address + overhead::offset_of(index);
    request.wr.rdma.rkey = c.remote_key;
    ibv_send_wr* bad;
    if (ibv_post_send(c.pair, &request, &bad) != 0) break;
  }
  return index;
}

std::uint64_t with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  constexpr std::size_t words = overhead::block_size / 8;
  adverb::prepared_request request{
      write(my.remote, my.region.unchecked_slice(0, overhead::block_size)).signaled()};
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    request.move_remote(my.remote.unchecked_slice(overhead::offset_of(index) / 8, words)).id(index);
    if (!my.pair.post(request)) break;
  }
  return index;
}

// The same as members of an object.
class c_writer {
 public:
  explicit c_writer(const overhead::c_objects& c) noexcept
      : pair_{c.pair},
        memory_{c.memory},
        remote_address_{c.remote_address},
        local_key_{c.local_key},
        remote_key_{c.remote_key},
        element_{c.memory, overhead::block_size, c.local_key},
        request_{} {
    request_.sg_list = &element_;
    request_.num_sge = 1;
    request_.opcode = IBV_WR_RDMA_WRITE;
    request_.send_flags = IBV_SEND_SIGNALED;
    request_.wr.rdma.rkey = c.remote_key;
  }

  // Return an errno, or 0.
  [[gnu::noinline]] int write_kept(std::uint64_t offset, std::uint64_t id) noexcept {
    request_.wr_id = id;
    request_.wr.rdma.remote_addr = remote_address_ + offset;
    ibv_send_wr* bad;
    return ibv_post_send(pair_, &request_, &bad);
  }
  [[gnu::noinline]] int write_anew(std::uint64_t offset, std::uint64_t id) noexcept {
    ibv_sge element;
    element.addr = memory_;
    element.length = overhead::block_size;
    element.lkey = local_key_;
    ibv_send_wr request;
    request.wr_id = id;
    request.next = nullptr;
    request.sg_list = &element;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.rdma.remote_addr = remote_address_ + offset;
    request.wr.rdma.rkey = remote_key_;
    ibv_send_wr* bad;
    return ibv_post_send(pair_, &request, &bad);
  }

 private:
  ibv_qp* pair_;
  std::uint64_t memory_;
  std::uint64_t remote_address_;
  std::uint32_t local_key_;
  std::uint32_t remote_key_;
  ibv_sge element_;
  ibv_send_wr request_;
};

class writer {
 public:
  explicit writer(const overhead::adverb_objects& my) noexcept
      : pair_{my.pair},
        remote_{adverb::adopt, my.remote.address(), my.remote.size_bytes(), my.remote.key()},
        request_{write(remote_, my.region.unchecked_slice(0, overhead::block_size)).signaled()} {}

  [[gnu::noinline]] void write_kept(std::uint64_t offset, std::uint64_t id) {
    request_.move_remote(remote_.unchecked_slice(offset, overhead::block_size)).id(id);
    pair_.post(request_).check();
  }

 private:
  using remote_bytes = adverb::remote_buffer<std::byte, adverb::access_right::remote_write>;

  adverb::queue_pair_ref<adverb::transport::rc> pair_;
  remote_bytes remote_;
  adverb::prepared_request<decltype(write(remote_bytes{}, adverb::mutable_buffer{}))> request_;
};

template <int (c_writer::*Write)(std::uint64_t, std::uint64_t) noexcept>
std::uint64_t member_in_c(overhead::c_objects c, std::uint64_t count) {
  c_writer all{c};
  std::uint64_t index = 0;
  for (; index < count; ++index)
    if ((all.*Write)(overhead::offset_of(index), index) != 0) break;
  return index;
}

std::uint64_t member(overhead::adverb_objects my, std::uint64_t count) {
  writer all{my};
  std::uint64_t index = 0;
  for (; index < count; ++index) all.write_kept(overhead::offset_of(index), index);
  return index;
}

const overhead::listed_job listed{{.name = "prepared write, posted again",
                                   .careful_bar = 1.00,
                                   .ordinary_bar = 0.65,
                                   .careful = kept_in_c,
                                   .ordinary = anew_in_c,
                                   .with_adverb = with_adverb}};
const overhead::listed_job listed_member{{.name = "prepared write, member of a class",
                                          .careful_bar = 1.00,
                                          .reached = 1.18,
                                          .careful = member_in_c<&c_writer::write_kept>,
                                          .ordinary = member_in_c<&c_writer::write_anew>,
                                          .with_adverb = member}};

}  // namespace
