// SPDX-License-Identifier: MIT
// The extended calls of a queue pair: each request is kept as it is built, and the whole is
// recorded when it is completed or aborted.
#include <cstring>
#include <utility>

#include "state.hpp"

namespace fake {
namespace {

queue_pair& pair_of(const ibv_qp_ex* sender) {
  return current().internals().pairs.at(&sender->qp_base);
}

extended_request& begin(ibv_qp_ex* sender, ibv_wr_opcode opcode) {
  extended_request request{};
  request.id = sender->wr_id;
  request.flags = sender->wr_flags;
  request.opcode = opcode;
  return pair_of(sender).building.emplace_back(std::move(request));
}

extended_request& last(ibv_qp_ex* sender) { return pair_of(sender).building.back(); }

extended_request& begin_remote(ibv_qp_ex* sender, ibv_wr_opcode opcode, std::uint32_t key,
                               std::uint64_t address) {
  extended_request& request = begin(sender, opcode);
  request.remote_key = key;
  request.remote_address = address;
  return request;
}

/// The pair, and what was built.
fields built(ibv_qp_ex* sender) {
  return about(&sender->qp_base).list(show_all(pair_of(sender).building));
}

void install_builders(ibv_qp_ex& pair, std::uint64_t operations) {
  const auto put = [&](std::uint64_t bit, auto& slot, auto builder) {
    if ((operations & bit) != 0) slot = builder;
  };
  put(IBV_QP_EX_WITH_RDMA_WRITE, pair.wr_rdma_write,
      [](ibv_qp_ex* sender, std::uint32_t key, std::uint64_t address) {
        begin_remote(sender, IBV_WR_RDMA_WRITE, key, address);
      });
  put(IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, pair.wr_rdma_write_imm,
      [](ibv_qp_ex* sender, std::uint32_t key, std::uint64_t address, __be32 immediate) {
        begin_remote(sender, IBV_WR_RDMA_WRITE_WITH_IMM, key, address).immediate = immediate;
      });
  put(IBV_QP_EX_WITH_SEND, pair.wr_send, [](ibv_qp_ex* sender) { begin(sender, IBV_WR_SEND); });
  put(IBV_QP_EX_WITH_SEND_WITH_IMM, pair.wr_send_imm, [](ibv_qp_ex* sender, __be32 immediate) {
    begin(sender, IBV_WR_SEND_WITH_IMM).immediate = immediate;
  });
  put(IBV_QP_EX_WITH_SEND_WITH_INV, pair.wr_send_inv, [](ibv_qp_ex* sender, std::uint32_t key) {
    begin(sender, IBV_WR_SEND_WITH_INV).invalidated_key = key;
  });
  put(IBV_QP_EX_WITH_RDMA_READ, pair.wr_rdma_read,
      [](ibv_qp_ex* sender, std::uint32_t key, std::uint64_t address) {
        begin_remote(sender, IBV_WR_RDMA_READ, key, address);
      });
  put(IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, pair.wr_atomic_cmp_swp,
      [](ibv_qp_ex* sender, std::uint32_t key, std::uint64_t address, std::uint64_t compare,
         std::uint64_t swap) {
        extended_request& request = begin_remote(sender, IBV_WR_ATOMIC_CMP_AND_SWP, key, address);
        request.compare_or_add = compare;
        request.swap = swap;
      });
  put(IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, pair.wr_atomic_fetch_add,
      [](ibv_qp_ex* sender, std::uint32_t key, std::uint64_t address, std::uint64_t addend) {
        begin_remote(sender, IBV_WR_ATOMIC_FETCH_AND_ADD, key, address).compare_or_add = addend;
      });
  put(IBV_QP_EX_WITH_LOCAL_INV, pair.wr_local_inv, [](ibv_qp_ex* sender, std::uint32_t key) {
    begin(sender, IBV_WR_LOCAL_INV).invalidated_key = key;
  });
  put(IBV_QP_EX_WITH_BIND_MW, pair.wr_bind_mw,
      [](ibv_qp_ex* sender, ibv_mw* window, std::uint32_t key, const ibv_mw_bind_info* binding) {
        extended_request& request = begin_remote(sender, IBV_WR_BIND_MW, key, 0);
        request.window = window;
        request.binding = *binding;
      });
  put(IBV_QP_EX_WITH_TSO, pair.wr_send_tso,
      [](ibv_qp_ex* sender, void* header, std::uint16_t size, std::uint16_t segment_size) {
        extended_request& request = begin(sender, IBV_WR_TSO);
        request.header.assign(static_cast<const char*>(header), size);
        request.segment_size = segment_size;
      });
  put(IBV_QP_EX_WITH_ATOMIC_WRITE, pair.wr_atomic_write,
      [](ibv_qp_ex* sender, std::uint32_t key, std::uint64_t address, const void* value) {
        std::memcpy(&begin_remote(sender, IBV_WR_ATOMIC_WRITE, key, address).written, value, 8);
      });
}

void install_setters(ibv_qp_ex& pair) {
  pair.wr_set_ud_addr = [](ibv_qp_ex* sender, ibv_ah* address, std::uint32_t number,
                           std::uint32_t key) {
    extended_request& request = last(sender);
    request.address = address;
    request.remote_queue_pair = number;
    request.remote_queue_key = key;
  };
  pair.wr_set_xrc_srqn = [](ibv_qp_ex* sender, std::uint32_t number) {
    last(sender).shared_receive_queue = number;
  };
  pair.wr_set_inline_data = [](ibv_qp_ex* sender, void* memory, std::size_t length) {
    last(sender).data_call = "inline";
    last(sender).inline_bytes.assign(static_cast<const char*>(memory), length);
  };
  pair.wr_set_inline_data_list = [](ibv_qp_ex* sender, std::size_t count,
                                    const ibv_data_buf* list) {
    last(sender).data_call = "inline_list";
    for (std::size_t index = 0; index < count; ++index)
      last(sender).inline_bytes.append(static_cast<const char*>(list[index].addr),
                                       list[index].length);
  };
  pair.wr_set_sge = [](ibv_qp_ex* sender, std::uint32_t key, std::uint64_t address,
                       std::uint32_t length) {
    last(sender).data_call = "sge";
    last(sender).elements = {{address, length, key}};
  };
  pair.wr_set_sge_list = [](ibv_qp_ex* sender, std::size_t count, const ibv_sge* list) {
    last(sender).data_call = "sge_list";
    last(sender).elements.assign(list, list + count);
  };
}

}  // namespace

void install_extended_sending(ibv_qp_ex& pair, std::uint64_t operations) {
  install_builders(pair, operations);
  install_setters(pair);
  pair.wr_start = [](ibv_qp_ex* sender) {
    record<called::wr_start>(about(&sender->qp_base));
    pair_of(sender).building.clear();
  };
  pair.wr_complete = [](ibv_qp_ex* sender) {
    return errno_of<called::wr_complete>(built(sender), {pair_of(sender).building});
  };
  pair.wr_abort = [](ibv_qp_ex* sender) { record<called::wr_abort>(built(sender)); };
}

}  // namespace fake
