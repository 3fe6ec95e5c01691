// SPDX-License-Identifier: MIT
// The same with adverb, as the guide does it.
#include <array>

#include <adverb/adverb.hpp>

#include "work.hpp"

namespace control {
namespace {

using connected_pair = adverb::queue_pair<adverb::transport::rc>;

connected_pair connected(adverb::protection_domain_ref domain, adverb::completion_queue_ref queue) {
  auto fresh = adverb::queue_pair<adverb::transport::rc>::create(
      domain,
      {.send_cq = queue, .recv_cq = queue, .max_send_wr = requests, .max_recv_wr = requests});
  auto waiting =
      fresh.init().port(adverb::port_number{1}).allow(adverb::access_right::remote_write).apply();
  const adverb::endpoint theirs = waiting.endpoint();
  return waiting.connect(theirs);
}

struct queue_and_pair {
  adverb::completion_queue queue;
  connected_pair pair;
  adverb::send_window<adverb::queue_pair_ref<adverb::transport::rc>> window;

  explicit queue_and_pair(const shared& with)
      : queue{adverb::context_ref{with.context}, 2 * requests},
        pair{connected(with.domain, queue)},
        window{pair} {}
};

}  // namespace

std::uint64_t pair_with_adverb(const shared& with, std::uint64_t count) {
  std::uint64_t done = 0;
  for (; done < count; ++done) {
    connected_pair pair = connected(with.domain, with.queue);
    pair.close();
  }
  return done;
}

std::uint64_t region_with_adverb(const shared& with, std::uint64_t count) {
  static std::array<char, 4096> memory;
  std::uint64_t done = 0;
  for (; done < count; ++done) {
    adverb::memory_region region{with.domain, memory};
    region.close();
  }
  return done;
}

std::uint64_t own_queue_with_adverb(const shared& with, std::uint64_t count) {
  std::uint64_t done = 0;
  for (; done < count; ++done) const queue_and_pair made{with};
  return done;
}

struct others::each {
  std::unique_ptr<queue_and_pair> made;
};

others::others(const shared& with, int count) : all_{new each[static_cast<std::size_t>(count)]} {
  for (int index = 0; index < count; ++index)
    all_[static_cast<std::size_t>(index)].made = std::make_unique<queue_and_pair>(with);
}
others::~others() = default;

}  // namespace control
