// SPDX-License-Identifier: MIT
// The jobs with adverb, as the guide describes them. Failures are exceptions.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>

#include <adverb/adverb.hpp>

#include "program.hpp"

namespace {

using adverb::access_right;
using adverb::transport;

std::array<std::byte, peers::block_count * peers::block_size> memory;

/// Connects a queue pair to itself.
[[nodiscard]] adverb::queue_pair<transport::rc> connected(
    const adverb::protection_domain& domain, const adverb::queue_pair_options& options) {
  auto fresh = adverb::queue_pair<transport::rc>::create(domain, options);
  auto waiting =
      fresh.init().port(adverb::port_number{1}).allow(access_right::remote_write).apply();
  return waiting.connect(waiting.endpoint());
}

/// From the device to a queue pair in RTS.
struct objects {
  adverb::context device = adverb::open_device();
  adverb::protection_domain domain{device};
  adverb::completion_queue queue{device, 128};
  adverb::memory_region region{domain, memory,
                               access_right::local_write | access_right::remote_write};
  adverb::queue_pair<transport::rc> pair = connected(
      domain, {.send_cq = queue, .recv_cq = queue, .max_send_wr = 128, .max_inline_data = 64});
};

template <bool Checked>
class client {
 public:
  explicit client(const objects& all)
      : pair_{all.pair},
        queue_{all.queue},
        region_{all.region},
        remote_{all.region.remote<std::byte, access_right::remote_write>()} {}

  [[gnu::noinline]] void put(std::uint64_t offset, std::uint32_t length,
                             const peers::callback& done) {
    if (in_progress_ == peers::window_size) take_back();
    const std::uint32_t slot = next_++ % peers::window_size;
    callbacks_[slot] = done;
    if constexpr (Checked) {
      const auto from = region_.slice(offset, length);
      pair_.post(write(remote_.slice(offset, length), from).id(slot).signaled()).check();
    } else {
      const auto from = region_.unchecked_slice(offset, length);
      const auto to = remote_.unchecked_slice(offset, length);
      pair_.post(write(to, from).id(slot).signaled()).check();
    }
    ++in_progress_;
  }

  void finish() {
    while (in_progress_ > 0) take_back();
  }

 private:
  [[gnu::noinline]] void take_back() {
    std::array<adverb::completion, peers::window_size> batch;
    for (const adverb::completion& each : queue_.poll(batch)) {
      each.check();
      const peers::callback& done = callbacks_[each.id() % peers::window_size];
      done.function(done.argument);
      --in_progress_;
    }
  }

  adverb::queue_pair_ref<transport::rc> pair_;
  adverb::completion_queue_ref queue_;
  adverb::memory_region_ref region_;
  adverb::remote_buffer<std::byte, access_right::remote_write> remote_;
  std::uint32_t next_ = 0;
  std::uint32_t in_progress_ = 0;
  std::array<peers::callback, peers::window_size> callbacks_{};
};

class server {
 public:
  server() { receives_.fill().check(); }

  /// Polls once. Returns the number of requests that were answered.
  [[gnu::noinline]] std::uint64_t serve() {
    std::array<adverb::completion, 16> batch;
    std::uint64_t answered = 0;
    for (const adverb::completion& each : queue_.poll(batch)) {
      each.check();
      switch (each.success().opcode()) {
        case adverb::completion_opcode::receive:
          answer(receives_.bytes(each));
          receives_.give_back(each).check();
          ++answered;
          break;
        case adverb::completion_opcode::send: --in_progress_; break;
        default: peers::require(false, "an unexpected completion");
      }
    }
    return answered;
  }

 private:
  /// Sends the message back.
  void answer(std::span<const std::byte> message) {
    pair_.post(send(adverb::inline_data{message}).id(peers::receive_count).signaled()).check();
    ++in_progress_;
  }

  adverb::context device_ = adverb::open_device();
  adverb::protection_domain domain_{device_};
  adverb::completion_queue queue_{device_, 128};
  adverb::memory_region region_{domain_,
                                std::span{memory}.first<peers::receive_count * peers::block_size>(),
                                access_right::local_write};
  adverb::shared_receive_queue shared_{domain_, {.max_wr = peers::receive_count}};
  adverb::queue_pair<transport::rc> pair_ = connected(domain_, {.send_cq = queue_,
                                                                .recv_cq = queue_,
                                                                .srq = shared_,
                                                                .max_send_wr = 128,
                                                                .max_inline_data = 64});
  adverb::receive_refill<adverb::shared_receive_queue_ref> receives_{
      shared_, region_.blocks(peers::block_size), {.batch = peers::batch_size}};
  std::uint32_t in_progress_ = 0;
};

}  // namespace

int main() try {
  const objects all;
  client<false> writer{all};
  peers::count_puts("adverb", "put", writer);
  client<true> checking{all};
  peers::count_puts("adverb", "put, ranges checked", checking);
  server answering;
  peers::count_answers("adverb", answering);
  peers::count_set_up("adverb", [] { return objects{}; });
  return 0;
} catch (const std::exception& failed) {
  std::fprintf(stderr, "%s\n", failed.what());
  return 1;
}
