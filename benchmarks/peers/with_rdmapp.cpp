// SPDX-License-Identifier: MIT
// The jobs with rdmapp, on one thread: the thread that posts also polls, and calls the callbacks as
// an executor of rdmapp does. Memory is registered in blocks, because a request names a whole
// region.
#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <vector>

#include <rdmapp/rdmapp.h>

#include "program.hpp"

namespace {

std::array<std::byte, peers::block_count * peers::block_size> memory;

using region = std::shared_ptr<rdmapp::local_mr>;

/// From the device to a queue pair in RTS, which is connected to itself.
struct objects {
  explicit objects(bool serves)
      : domain{std::make_shared<rdmapp::pd>(device)},
        queue{std::make_shared<rdmapp::cq>(device)},
        whole{std::make_shared<rdmapp::local_mr>(domain->reg_mr(memory.data(), memory.size()))},
        pair{std::make_shared<rdmapp::qp>(
            domain, queue,
            serves ? std::make_shared<rdmapp::srq>(domain, peers::receive_count) : nullptr)} {
    const auto bytes = pair->serialize();
    const auto own = rdmapp::deserialized_qp::deserialize(bytes.begin()).header;
    pair->rtr(own.lid, own.qp_num, own.sq_psn, own.gid);
    pair->rts();
  }

  /// Registers the first `count` blocks of the memory, one by one.
  [[nodiscard]] std::vector<region> blocks(std::size_t count) const {
    std::vector<region> all;
    for (std::size_t index = 0; index < count; ++index)
      all.push_back(std::make_shared<rdmapp::local_mr>(
          domain->reg_mr(&memory[index * peers::block_size], peers::block_size)));
    return all;
  }

  std::shared_ptr<rdmapp::device> device = std::make_shared<rdmapp::device>();
  std::shared_ptr<rdmapp::pd> domain;
  std::shared_ptr<rdmapp::cq> queue;
  region whole;
  std::shared_ptr<rdmapp::qp> pair;
};

/// Polls once and resumes the coroutines whose requests have completed.
void take_back(rdmapp::cq& queue, std::vector<ibv_wc>& batch) {
  const std::size_t count = queue.poll(batch);
  for (std::size_t index = 0; index < count; ++index) {
    const auto callback = reinterpret_cast<rdmapp::executor::callback_ptr>(batch[index].wr_id);
    (*callback)(batch[index]);
    rdmapp::executor::destroy_callback(callback);
  }
}

/// Waits until a coroutine has another put.
struct next_put {
  std::coroutine_handle<>& sleeper;
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) const noexcept { sleeper = waiting; }
  void await_resume() const noexcept {}
};

class client {
 public:
  explicit client(const objects& all)
      : pair_{all.pair},
        queue_{all.queue},
        local_{all.blocks(1).front()},
        remote_{all.whole->addr(), static_cast<std::uint32_t>(all.whole->length()),
                all.whole->rkey()} {
    for (std::uint32_t slot = 0; slot < peers::window_size; ++slot) {
      free_.push_back(slot);
      write(slot).detach();
    }
  }

  [[gnu::noinline]] void put(std::uint64_t, std::uint32_t, const peers::callback& done) {
    while (free_.empty()) take_back(*queue_, batch_);
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    callbacks_[slot] = done;
    sleepers_[slot].resume();
  }

  void finish() {
    while (free_.size() < peers::window_size) take_back(*queue_, batch_);
  }

 private:
  rdmapp::task<void> write(std::uint32_t slot) {
    while (true) {
      co_await next_put{sleepers_[slot]};
      co_await pair_->write(remote_, local_);
      callbacks_[slot].function(callbacks_[slot].argument);
      free_.push_back(slot);
    }
  }

  std::shared_ptr<rdmapp::qp> pair_;
  std::shared_ptr<rdmapp::cq> queue_;
  region local_;
  rdmapp::remote_mr remote_;
  std::vector<std::uint32_t> free_;
  std::vector<ibv_wc> batch_ = std::vector<ibv_wc>(peers::window_size);
  std::array<peers::callback, peers::window_size> callbacks_{};
  std::array<std::coroutine_handle<>, peers::window_size> sleepers_{};
};

class server {
 public:
  explicit server(const objects& all)
      : pair_{all.pair}, queue_{all.queue}, blocks_{all.blocks(peers::receive_count)} {
    for (const region& each : blocks_) answer(each).detach();
  }

  /// Polls once. Returns the number of requests that were answered.
  [[gnu::noinline]] std::uint64_t serve() {
    const std::uint64_t before = answered_;
    take_back(*queue_, batch_);
    return answered_ - before;
  }

 private:
  rdmapp::task<void> answer(region block) {
    while (true) {
      co_await pair_->recv(block);
      ++answered_;
      co_await pair_->send(block);
    }
  }

  std::shared_ptr<rdmapp::qp> pair_;
  std::shared_ptr<rdmapp::cq> queue_;
  std::vector<region> blocks_;
  std::vector<ibv_wc> batch_ = std::vector<ibv_wc>(16);
  std::uint64_t answered_ = 0;
};

}  // namespace

int main() try {
  const objects all{false};
  client writer{all};
  peers::count_puts("rdmapp", "put", writer);
  peers::missing("put, ranges checked", "no range checks");
  const objects serving{true};
  server answering{serving};
  peers::count_answers("rdmapp", answering);
  peers::count_set_up("rdmapp", [] { return objects{false}; });
  return 0;
} catch (const std::exception& failed) {
  std::fprintf(stderr, "%s\n", failed.what());
  return 1;
}
