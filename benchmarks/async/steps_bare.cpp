// SPDX-License-Identifier: MIT
// The same steps in coroutines that keep no rule: no window, no deadline, no slot that outlives its
// operation, no order of those that wait, and any failure ends the program. They show the share of
// the language in the steps of tasks.
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "steps.hpp"

namespace {

constexpr int batch_size = 16;
constexpr std::uint32_t block_size = 4096;

struct operation {
  void (*complete)(operation* self, const ibv_wc& done);
};

struct block : operation {
  ibv_wc received;
  char* bytes;
  block* next;
};

struct connection {
  ibv_qp* pair;
  ibv_mr* region;
  ibv_cq* queue;
  block blocks[steps::depth];
  block* first = nullptr;
  block* last = nullptr;
  std::coroutine_handle<> reader = nullptr;
  std::uint32_t in_progress = 0;
};
connection only;

void post_receive(block& which) {
  ibv_sge into{reinterpret_cast<std::uintptr_t>(which.bytes), block_size, only.region->lkey};
  ibv_recv_wr request;
  ibv_recv_wr* bad;
  request.wr_id = reinterpret_cast<std::uintptr_t>(static_cast<operation*>(&which));
  request.next = nullptr;
  request.sg_list = &into;
  request.num_sge = 1;
  if (ibv_post_recv(only.pair, &request, &bad) != 0) std::abort();
}

struct task {
  struct promise_type {
    static task get_return_object() { return {}; }
    static std::suspend_never initial_suspend() noexcept { return {}; }
    static std::suspend_never final_suspend() noexcept { return {}; }
    static void return_void() {}
    [[noreturn]] static void unhandled_exception() { std::abort(); }
  };
};

struct next {
  static bool await_ready() { return only.first != nullptr; }
  static void await_suspend(std::coroutine_handle<> who) { only.reader = who; }
  static block& await_resume() {
    block& taken = *only.first;
    only.first = taken.next;
    return taken;
  }
};

void complete_receive(operation* self, const ibv_wc& done) {
  if (done.status != IBV_WC_SUCCESS) std::abort();
  auto& arrived = static_cast<block&>(*self);
  arrived.received = done;
  arrived.next = nullptr;
  (only.first == nullptr ? only.first : only.last->next) = &arrived;
  only.last = &arrived;
  if (const std::coroutine_handle<> reader = only.reader) {
    only.reader = nullptr;
    reader.resume();
  }
}

struct send : operation {
  send(char* bytes, std::uint32_t length) noexcept
      : operation{&completed}, bytes_{bytes}, length_{length} {}
  send(const send&) = delete;
  send& operator=(const send&) = delete;

  static bool await_ready() { return false; }
  void await_suspend(std::coroutine_handle<> who) {
    if (only.in_progress == steps::depth) std::abort();
    who_ = who;
    ibv_sge element{reinterpret_cast<std::uintptr_t>(bytes_), length_, only.region->lkey};
    ibv_send_wr request;
    ibv_send_wr* bad;
    request.wr_id = reinterpret_cast<std::uintptr_t>(static_cast<operation*>(this));
    request.next = nullptr;
    request.sg_list = &element;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    if (ibv_post_send(only.pair, &request, &bad) != 0) std::abort();
    ++only.in_progress;
  }
  static void await_resume() {}

 private:
  static void completed(operation* self, const ibv_wc& done) {
    if (done.status != IBV_WC_SUCCESS) std::abort();
    --only.in_progress;
    static_cast<send*>(self)->who_.resume();
  }

  char* bytes_;
  std::uint32_t length_;
  std::coroutine_handle<> who_;
};

bool is_done;

task echo(std::uint64_t times) {
  for (std::uint64_t each = 0; each < times; ++each) {
    block& message = co_await next{};
    co_await send{message.bytes, message.received.byte_len};
    post_receive(message);
  }
  is_done = true;
}

task ask(char* bytes, std::uint64_t times) {
  for (std::uint64_t each = 0; each < times; ++each) co_await send{bytes, 64};
  is_done = true;
}

void run() {
  ibv_wc done[batch_size];
  for (is_done = false; !is_done;) {
    const int count = ibv_poll_cq(only.queue, batch_size, done);
    if (count < 0) std::abort();
    for (int each = 0; each < count; ++each) {
      auto* const completed = reinterpret_cast<operation*>(done[each].wr_id);
      completed->complete(completed, done[each]);
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
  only.pair = pair.native_handle();
  only.region = region.native_handle();
  only.queue = queue.native_handle();

  counting::count("send", "bare coroutines", [](std::uint64_t times) {
    ask(bytes + steps::depth * block_size, times);
    run();
  });
  for (std::size_t each = 0; each < steps::depth; ++each) {
    only.blocks[each].complete = complete_receive;
    only.blocks[each].bytes = bytes + each * block_size;
    post_receive(only.blocks[each]);
  }
  counting::count("echo", "bare coroutines", [](std::uint64_t times) {
    echo(times);
    run();
  });
}
