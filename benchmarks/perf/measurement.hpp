// SPDX-License-Identifier: MIT
// A whole measurement over queue pairs of one transport, with one engine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "bandwidth_loop.hpp"
#include "cpu_time.hpp"
#include "interruption.hpp"
#include "latency_loop.hpp"
#include "latency_turns.hpp"
#include "measure.hpp"
#include "pace.hpp"
#include "patient.hpp"
#include "progress.hpp"
#include "requests.hpp"
#include "short_sleeps.hpp"
#include "tick_clock.hpp"

namespace perf {

/// Calls `use` with the turns that latency is measured by.
template <class Engine, class Use>
auto with_turns(side<Engine>& own, const options& wanted, std::uint32_t size, const Use& use) {
  return with_request(own, wanted, size, [&](const auto& make) {
    const auto request = make(own.lanes().front());
    using request_type = std::remove_const_t<decltype(request)>;
    if (wanted.operation == operation::send) {
      message_turns<Engine, request_type> turns{own, wanted, request, size};
      return use(turns);
    }
    if (wanted.operation == operation::write) {
      write_turns<Engine, request_type> turns{own, wanted, request, size};
      return use(turns);
    }
    answered_turns<Engine, request_type> turns{own, wanted, request, size};
    return use(turns);
  });
}

template <class Engine>
class measurement {
 public:
  explicit measurement(const surroundings& around)
      : around_{around}, own_{around.options, around.device, around.peer, around.sizes.back()} {
    around_.report.begin({.device = std::string{around.device.device().name()},
                          .mtu = adverb::bytes_of(own_.mtu()),
                          .inline_size = own_.inline_size()});
  }

  void run() {
    for (const std::uint32_t size : around_.sizes)
      around_.options.is_client() ? measure(size) : serve(size);
  }

 private:
  void measure(std::uint32_t size) {
    const result found =
        around_.options.is_latency() ? measure_latency(size) : measure_bandwidth(size);
    around_.peer.say(to_text(found));
    const std::uint64_t received = std::stoull(around_.peer.hear());
    progress_.clear();
    around_.report.add(found);
    if (around_.options.has_messages() && received < found.iterations)
      std::fprintf(stderr, "of %llu messages of %u bytes only %llu arrived\n",
                   static_cast<unsigned long long>(found.iterations), size,
                   static_cast<unsigned long long>(received));
    interruption::throw_if_requested();
  }

  void serve(std::uint32_t size) {
    const std::uint64_t received = answer(size);
    const result found = result_from(around_.peer.hear());
    around_.peer.say(std::to_string(received));
    around_.report.add(found);
  }

  [[nodiscard]] result measure_latency(std::uint32_t size) {
    const options& wanted = around_.options;
    return with_turns(own_, wanted, size, [&](auto& turns) {
      around_.peer.synchronize();
      const short_sleeps sleeps{wanted.sleep};
      pace pace{wanted, size, 1, progress_};
      std::vector<std::uint64_t> times(pace.total() + 1);
      std::size_t done = 0;
      const cpu_time cpu;
      while (const std::uint64_t chunk = pace.next(done)) {
        times.resize(std::max(times.size(), done + chunk + 1));
        const std::size_t turned = take_turns(turns, std::span{times}.subspan(done, chunk + 1),
                                              [&] { return client_patience{around_.peer}; });
        done += turned;
        if (turned < chunk) break;
      }
      const double cpu_each = cpu.microseconds_for_each(done);
      turns.finish();
      times.resize(done);
      // Half of the time there and back is the time there.
      const double parts = turns.is_answered ? 1 : 2;
      return result{.size = size,
                    .iterations = done,
                    .latency = summarize(times, tick_.in_microseconds() / parts),
                    .cpu_microseconds_per_message = cpu_each};
    });
  }

  [[nodiscard]] result measure_bandwidth(std::uint32_t size) {
    const options& wanted = around_.options;
    return with_request(own_, wanted, size, [&](const auto& make) {
      stream posts{own_, wanted, size, make};
      around_.peer.synchronize();
      const short_sleeps sleeps{wanted.sleep};
      pace pace{wanted, size, wanted.signal_interval(size), progress_};
      std::uint64_t done = 0;
      const cpu_time cpu;
      const std::uint64_t start = ticks();
      while (const std::uint64_t chunk = pace.next(done)) posts.post_until(done += chunk);
      posts.finish();
      const std::uint64_t end = ticks();
      const std::uint64_t all = done * wanted.queue_pairs;
      const double cpu_each = cpu.microseconds_for_each(all);
      return result{.size = size,
                    .iterations = all,
                    .seconds = static_cast<double>(end - start) * tick_.in_microseconds() / 1e6,
                    .cpu_microseconds_per_message = cpu_each};
    });
  }

  /// Does the server's part until the client is done. Returns how many messages it received.
  [[nodiscard]] std::uint64_t answer(std::uint32_t size) {
    const options& wanted = around_.options;
    const auto patience = [&] { return server_patience{around_.peer}; };
    const bool takes_turns = wanted.is_latency() && (wanted.operation == operation::send ||
                                                     wanted.operation == operation::write);
    if (takes_turns)
      return with_turns(own_, wanted, size, [&](auto& turns) {
        around_.peer.synchronize();
        const short_sleeps sleeps{wanted.sleep};
        return answer_turns(turns, patience);
      });
    around_.peer.synchronize();
    if (wanted.has_messages()) {
      const short_sleeps sleeps{wanted.sleep};
      return sink{own_, wanted}.take_messages(patience);
    }
    around_.peer.wait();
    return 0;
  }

  surroundings around_;
  side<Engine> own_;
  progress progress_;
  tick_length tick_;
};

}  // namespace perf
