// SPDX-License-Identifier: MIT
// Eight requests through the extended calls with one doorbell: in one call, and added one by one.
#include "job.hpp"

namespace {

std::uint64_t in_c(overhead::c_objects c, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t offset = overhead::offset_of(index);
    const std::uint32_t length = overhead::length_of(index);
    ibv_wr_start(c.sender);

    c.sender->wr_id = index + 0;
    c.sender->wr_flags = 0;
    ibv_wr_rdma_write(c.sender, c.remote_key, c.remote_address + offset + 0);
    ibv_wr_set_sge(c.sender, c.local_key, c.memory + offset + 0, length);

    c.sender->wr_id = index + 1;
    c.sender->wr_flags = 0;
    ibv_wr_send(c.sender);
    ibv_wr_set_sge(c.sender, c.local_key, c.memory + offset + 256, length);

    c.sender->wr_id = index + 2;
    c.sender->wr_flags = 0;
    ibv_wr_rdma_write(c.sender, c.remote_key, c.remote_address + offset + 512);
    ibv_wr_set_sge(c.sender, c.local_key, c.memory + offset + 512, length);

    c.sender->wr_id = index + 3;
    c.sender->wr_flags = 0;
    ibv_wr_send(c.sender);
    ibv_wr_set_sge(c.sender, c.local_key, c.memory + offset + 768, length);

    c.sender->wr_id = index + 4;
    c.sender->wr_flags = 0;
    ibv_wr_rdma_write(c.sender, c.remote_key, c.remote_address + offset + 1024);
    ibv_wr_set_sge(c.sender, c.local_key, c.memory + offset + 1024, length);

    c.sender->wr_id = index + 5;
    c.sender->wr_flags = 0;
    ibv_wr_send(c.sender);
    ibv_wr_set_sge(c.sender, c.local_key, c.memory + offset + 1280, length);

    c.sender->wr_id = index + 6;
    c.sender->wr_flags = 0;
    ibv_wr_rdma_write(c.sender, c.remote_key, c.remote_address + offset + 1536);
    ibv_wr_set_sge(c.sender, c.local_key, c.memory + offset + 1536, length);

    c.sender->wr_id = index + 7;
    c.sender->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_send(c.sender);
    ibv_wr_set_sge(c.sender, c.local_key, c.memory + offset + 1792, length);

    if (ibv_wr_complete(c.sender) != 0) break;
  }
  return index;
}

std::uint64_t posted_with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t offset = overhead::offset_of(index);
    const std::uint32_t length = overhead::length_of(index);
    const auto blocks = my.region.unchecked_slice(offset, 8 * overhead::block_size);
    const auto words = my.remote.unchecked_slice(offset / 8, overhead::block_size);
    const auto here = [&](unsigned block) {
      return blocks.unchecked_slice(block * overhead::block_size, length);
    };
    const auto there = [&](unsigned block) {
      return words.unchecked_slice(block * overhead::block_size / 8, overhead::block_size / 8);
    };
    if (!my.sender.post(write(there(0), here(0)).id(index), send(here(1)).id(index + 1),
                        write(there(2), here(2)).id(index + 2), send(here(3)).id(index + 3),
                        write(there(4), here(4)).id(index + 4), send(here(5)).id(index + 5),
                        write(there(6), here(6)).id(index + 6),
                        send(here(7)).id(index + 7).signaled()))
      break;
  }
  return index;
}

const overhead::listed_job listed_post{{.name = "extended post of 8",
                                        .careful_bar = 1.10,
                                        .careful = in_c,
                                        .ordinary = in_c,
                                        .with_adverb = posted_with_adverb}};

std::uint64_t added_with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t offset = overhead::offset_of(index);
    const std::uint32_t length = overhead::length_of(index);
    const auto blocks = my.region.unchecked_slice(offset, 8 * overhead::block_size);
    const auto words = my.remote.unchecked_slice(offset / 8, overhead::block_size);
    const auto here = [&](unsigned block) {
      return blocks.unchecked_slice(block * overhead::block_size, length);
    };
    const auto there = [&](unsigned block) {
      return words.unchecked_slice(block * overhead::block_size / 8, overhead::block_size / 8);
    };
    auto batch = my.sender.start();
    batch.add(write(there(0), here(0)).id(index));
    batch.add(send(here(1)).id(index + 1));
    batch.add(write(there(2), here(2)).id(index + 2));
    batch.add(send(here(3)).id(index + 3));
    batch.add(write(there(4), here(4)).id(index + 4));
    batch.add(send(here(5)).id(index + 5));
    batch.add(write(there(6), here(6)).id(index + 6));
    batch.add(send(here(7)).id(index + 7).signaled());
    if (!batch.commit()) break;
  }
  return index;
}

const overhead::listed_job listed_batch{{.name = "extended batch of 8",
                                         .careful_bar = 1.10,
                                         .careful = in_c,
                                         .ordinary = in_c,
                                         .with_adverb = added_with_adverb}};

}  // namespace
