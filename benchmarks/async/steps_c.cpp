// SPDX-License-Identifier: MIT
// The same steps as careful C does them, written in the common part of C and C++, in the shape of
// echo_c.c: a request in progress is a struct with the function that completes it, a function of
// the connection posts any message, and every result is checked.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "steps.hpp"

namespace {

enum { batch_size = 16, block_size = 4096 };

struct operation {
  void (*complete)(operation* self, const ibv_wc* done);
};

struct connection;

struct block {
  operation received;
  operation sent;
  connection* owner;
  char* bytes;
};

struct connection {
  ibv_qp* pair;
  ibv_mr* region;
  block blocks[steps::depth];
  std::uint32_t in_progress;
  std::uint64_t left;
  operation asked;
  char* message;
};

struct loop {
  ibv_cq* queue;
  connection only;
};

void check(const ibv_wc* done) {
  if (done->status != IBV_WC_SUCCESS) std::abort();
}

void post_receive(block* which) {
  ibv_sge into = {reinterpret_cast<std::uintptr_t>(which->bytes), block_size,
                  which->owner->region->lkey};
  ibv_recv_wr request;
  ibv_recv_wr* bad;
  request.wr_id = reinterpret_cast<std::uintptr_t>(&which->received);
  request.next = nullptr;
  request.sg_list = &into;
  request.num_sge = 1;
  if (ibv_post_recv(which->owner->pair, &request, &bad) != 0) std::abort();
}

void post_send(connection* from, char* bytes, std::uint32_t length, operation* sent) {
  if (from->in_progress == steps::depth) std::abort();
  ibv_sge element = {reinterpret_cast<std::uintptr_t>(bytes), length, from->region->lkey};
  ibv_send_wr request;
  ibv_send_wr* bad;
  request.wr_id = reinterpret_cast<std::uintptr_t>(sent);
  request.next = nullptr;
  request.sg_list = &element;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
  if (ibv_post_send(from->pair, &request, &bad) != 0) std::abort();
  ++from->in_progress;
}

/// The echo has left, so its block can receive again.
void complete_echo(operation* self, const ibv_wc* done) {
  block* const which =
      reinterpret_cast<block*>(reinterpret_cast<char*>(self) - offsetof(block, sent));
  --which->owner->in_progress;
  check(done);
  if (which->owner->left != 0) --which->owner->left;
  post_receive(which);
}

void complete_receive(operation* self, const ibv_wc* done) {
  block* const which = reinterpret_cast<block*>(self);
  check(done);
  post_send(which->owner, which->bytes, done->byte_len, &which->sent);
}

void complete_question(operation* self, const ibv_wc* done) {
  connection* const from =
      reinterpret_cast<connection*>(reinterpret_cast<char*>(self) - offsetof(connection, asked));
  --from->in_progress;
  check(done);
  if (--from->left != 0) post_send(from, from->message, 64, &from->asked);
}

void run(loop* of) {
  ibv_wc done[batch_size];
  while (of->only.left != 0) {
    const int count = ibv_poll_cq(of->queue, batch_size, done);
    if (count < 0) std::abort();
    for (int each = 0; each < count; ++each) {
      operation* const completed = reinterpret_cast<operation*>(done[each].wr_id);
      completed->complete(completed, &done[each]);
    }
  }
}

}  // namespace

int main() {
  const adverb::context device = adverb::open_device();
  adverb::protection_domain domain{device};
  adverb::completion_queue queue{device, 2 * steps::depth};
  const auto pair = steps::connected(domain, queue, steps::depth, steps::depth);
  static char bytes[(steps::depth + 1) * block_size];
  const adverb::memory_region region{domain, bytes};

  static loop here;
  here.queue = queue.native_handle();
  here.only.pair = pair.native_handle();
  here.only.region = region.native_handle();
  here.only.message = bytes + steps::depth * block_size;
  here.only.asked.complete = complete_question;
  counting::count("send", "C", [](std::uint64_t times) {
    here.only.left = times;
    post_send(&here.only, here.only.message, 64, &here.only.asked);
    run(&here);
  });
  for (std::size_t each = 0; each < steps::depth; ++each) {
    block* const which = &here.only.blocks[each];
    which->received.complete = complete_receive;
    which->sent.complete = complete_echo;
    which->owner = &here.only;
    which->bytes = bytes + each * block_size;
    post_receive(which);
  }
  counting::count("echo", "C", [](std::uint64_t times) {
    here.only.left = times;
    run(&here);
  });
}
