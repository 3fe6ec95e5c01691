// SPDX-License-Identifier: MIT
// The provider that writes down what it is given, so that what is compared is known to do the same.
// It writes down what the operation needs; other fields may hold anything.
#include <cstdio>
#include <utility>

#include "provider.hpp"

namespace provider {
namespace {

std::vector<std::string> record;

template <class... Arguments>
void note(const char* format, Arguments... arguments) {
  char line[256];
  std::snprintf(line, sizeof line, format, arguments...);
  record.emplace_back(line);
}
void note(const char* text) { record.emplace_back(text); }

unsigned long long number(std::uint64_t value) { return value; }

void note_elements(std::size_t count, const ibv_sge* list) {
  for (std::size_t index = 0; index < count; ++index)
    note("  element 0x%llx, %u bytes, key 0x%x", number(list[index].addr), list[index].length,
         list[index].lkey);
}

// Inline bytes may lie anywhere.
void note_bytes(const void* address, std::size_t length) {
  std::string line = "  inline";
  for (std::size_t index = 0; index < length; ++index) {
    char byte[4];
    std::snprintf(byte, sizeof byte, " %02x", static_cast<const unsigned char*>(address)[index]);
    line += byte;
  }
  record.push_back(std::move(line));
}

void note_inline(std::size_t count, const ibv_sge* list) {
  for (std::size_t index = 0; index < count; ++index)
    note_bytes(reinterpret_cast<const void*>(static_cast<std::uintptr_t>(list[index].addr)),
               list[index].length);
}

void note_operation(const ibv_send_wr& request) {
  switch (request.opcode) {
    case IBV_WR_SEND_WITH_IMM: note("  immediate 0x%x", request.imm_data); break;
    case IBV_WR_RDMA_WRITE_WITH_IMM: note("  immediate 0x%x", request.imm_data); [[fallthrough]];
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_READ:
      note("  remote 0x%llx, key 0x%x", number(request.wr.rdma.remote_addr), request.wr.rdma.rkey);
      break;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      note("  swap 0x%llx", number(request.wr.atomic.swap));
      [[fallthrough]];
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      note("  remote 0x%llx, key 0x%x, compare or add 0x%llx",
           number(request.wr.atomic.remote_addr), request.wr.atomic.rkey,
           number(request.wr.atomic.compare_add));
      break;
    case IBV_WR_SEND_WITH_INV: [[fallthrough]];
    case IBV_WR_LOCAL_INV: note("  invalidate 0x%x", request.invalidate_rkey); break;
    default: break;
  }
}

int post_send(ibv_qp* pair, ibv_send_wr* request, ibv_send_wr**) {
  note("post_send");
  for (; request != nullptr; request = request->next) {
    note(" id %llu, opcode %d, flags %u", number(request->wr_id), static_cast<int>(request->opcode),
         request->send_flags);
    if ((request->send_flags & IBV_SEND_INLINE) != 0)
      note_inline(static_cast<std::size_t>(request->num_sge), request->sg_list);
    else
      note_elements(static_cast<std::size_t>(request->num_sge), request->sg_list);
    note_operation(*request);
    if (pair->qp_type == IBV_QPT_UD)
      note("  to %p, qp 0x%x, key 0x%x", static_cast<void*>(request->wr.ud.ah),
           request->wr.ud.remote_qpn, request->wr.ud.remote_qkey);
  }
  return 0;
}

int note_receives(const ibv_recv_wr* request) {
  note("post_recv");
  for (; request != nullptr; request = request->next) {
    note(" id %llu", number(request->wr_id));
    note_elements(static_cast<std::size_t>(request->num_sge), request->sg_list);
  }
  return 0;
}

void note_operation(const ibv_qp_ex* sender, const char* name) {
  note(" %s, id %llu, flags %u", name, number(sender->wr_id), sender->wr_flags);
}

void make_sender(ibv_qp_ex& sender) {
  sender.wr_start = [](ibv_qp_ex*) { note("start"); };
  sender.wr_complete = [](ibv_qp_ex*) {
    note("complete");
    return 0;
  };
  sender.wr_abort = [](ibv_qp_ex*) { note("abort"); };
  sender.wr_send = [](ibv_qp_ex* self) { note_operation(self, "send"); };
  sender.wr_send_imm = [](ibv_qp_ex* self, __be32 immediate) {
    note_operation(self, "send_imm");
    note("  immediate 0x%x", immediate);
  };
  sender.wr_rdma_write = [](ibv_qp_ex* self, std::uint32_t key, std::uint64_t address) {
    note_operation(self, "rdma_write");
    note("  remote 0x%llx, key 0x%x", number(address), key);
  };
  sender.wr_rdma_write_imm = [](ibv_qp_ex* self, std::uint32_t key, std::uint64_t address,
                                __be32 immediate) {
    note_operation(self, "rdma_write_imm");
    note("  remote 0x%llx, key 0x%x, immediate 0x%x", number(address), key, immediate);
  };
  sender.wr_rdma_read = [](ibv_qp_ex* self, std::uint32_t key, std::uint64_t address) {
    note_operation(self, "rdma_read");
    note("  remote 0x%llx, key 0x%x", number(address), key);
  };
  sender.wr_atomic_cmp_swp = [](ibv_qp_ex* self, std::uint32_t key, std::uint64_t address,
                                std::uint64_t compare, std::uint64_t swap) {
    note_operation(self, "atomic_cmp_swp");
    note("  remote 0x%llx, key 0x%x, compare 0x%llx, swap 0x%llx", number(address), key,
         number(compare), number(swap));
  };
  sender.wr_atomic_fetch_add = [](ibv_qp_ex* self, std::uint32_t key, std::uint64_t address,
                                  std::uint64_t addend) {
    note_operation(self, "atomic_fetch_add");
    note("  remote 0x%llx, key 0x%x, add 0x%llx", number(address), key, number(addend));
  };
  sender.wr_set_ud_addr = [](ibv_qp_ex*, ibv_ah* address, std::uint32_t pair, std::uint32_t key) {
    note("  to %p, qp 0x%x, key 0x%x", static_cast<void*>(address), pair, key);
  };
  sender.wr_set_sge = [](ibv_qp_ex*, std::uint32_t key, std::uint64_t address,
                         std::uint32_t length) {
    const ibv_sge element{address, length, key};
    note_elements(1, &element);
  };
  sender.wr_set_sge_list = [](ibv_qp_ex*, std::size_t count, const ibv_sge* list) {
    note_elements(count, list);
  };
  sender.wr_set_inline_data = [](ibv_qp_ex*, void* address, std::size_t length) {
    note_bytes(address, length);
  };
}

/// The idle objects with other functions.
struct objects {
  ibv_context context = *provider::idle().pair->context;
  ibv_qp_ex pair = *provider::idle().sender;
  ibv_qp datagrams = *provider::idle().datagrams;
  ibv_srq shared = *provider::idle().shared;
  overhead::c_objects for_jobs = provider::idle();

  objects() {
    context.ops.post_send = post_send;
    context.ops.post_recv = [](ibv_qp*, ibv_recv_wr* first, ibv_recv_wr**) {
      return note_receives(first);
    };
    context.ops.post_srq_recv = [](ibv_srq*, ibv_recv_wr* first, ibv_recv_wr**) {
      return note_receives(first);
    };
    pair.qp_base.context = datagrams.context = shared.context = &context;
    make_sender(pair);
    for_jobs.pair = &pair.qp_base;
    for_jobs.sender = &pair;
    for_jobs.datagrams = &datagrams;
    for_jobs.shared = &shared;
  }
};

}  // namespace

const overhead::c_objects& recording() noexcept {
  static objects all;
  return all.for_jobs;
}

std::vector<std::string> take_record() { return std::exchange(record, {}); }

}  // namespace provider
