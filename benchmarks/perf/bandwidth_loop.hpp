// SPDX-License-Identifier: MIT
// The loops that keep the send queues of all lanes filled, and that take what comes of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "engines.hpp"
#include "options.hpp"
#include "patient.hpp"
#include "setup.hpp"

namespace perf {

/// Posts over and over what `make` makes for each lane.
template <class Engine, class MakeRequest>
class stream {
 public:
  stream(side<Engine>& own, const options& wanted, std::uint32_t size, const MakeRequest& make)
      : own_{&own},
        depth_{*wanted.send_depth},
        list_{wanted.post_list},
        interval_{wanted.signal_interval(size)} {
    for (lane<Engine>& each : own.lanes()) {
      each.posted = each.completed = 0;
      sources_.push_back({&each, {each.sender, make(each).id(&each), list_}});
    }
  }

  /// Posts until each lane has posted so many messages in all, of which the last is signaled. Does
  /// not wait for the end of those that are then in progress.
  void post_until(std::uint64_t limit) {
    for (std::uint64_t unfinished = sources_.size();;) {
      for (source& each : sources_)
        if (fill(each, limit)) --unfinished;
      if (unfinished == 0) return;
      collect();
    }
  }

  /// Waits until everything that was posted has completed.
  void finish() {
    const auto is_done = [](const source& each) { return each.to->completed == each.to->posted; };
    while (!std::all_of(sources_.begin(), sources_.end(), is_done)) collect();
  }

 private:
  using request_type =
      decltype(std::declval<const MakeRequest&>()(std::declval<const lane<Engine>&>()));

  struct source {
    lane<Engine>* to;
    typename Engine::template repeated<request_type> requests;
  };

  /// Posts what there is room for. True when that made the lane reach the limit.
  [[nodiscard]] bool fill(source& each, std::uint64_t limit) {
    lane<Engine>& to = *each.to;
    if (to.posted == limit) return false;
    while (to.posted - to.completed + list_ <= depth_) {
      to.posted += list_;
      to.unsignaled += list_;
      const bool is_last = to.posted == limit;
      const bool signaled = to.unsignaled == interval_ || is_last;
      if (signaled) to.unsignaled = 0;
      each.requests.post(signaled);
      if (is_last) return true;
    }
    return false;
  }

  /// Waits for completions. Each stands for an interval of messages, or for what is left at the
  /// end.
  void collect() {
    static_cast<void>(own_->sent().template wait<16>(
        [&](const auto& completion) {
          lane<Engine>& of = *completion.template pointer<lane<Engine>>();
          of.completed = std::min(of.completed + interval_, of.posted);
        },
        [] { return own_patience{}; }));
  }

  side<Engine>* own_;
  std::vector<source> sources_;
  std::uint32_t depth_;
  std::uint32_t list_;
  std::uint32_t interval_;
};

/// Takes messages, and posts receives in their place, several in one call.
template <class Engine>
class sink {
 public:
  sink(side<Engine>& own, const options& wanted) : own_{&own} {
    const std::size_t batch = std::clamp<std::size_t>(wanted.receive_depth / 4, 1, 16);
    for (lane<Engine>& each : own.lanes())
      drains_.push_back({&each, {own.receive_for(each), batch}});
  }

  /// Until no more come. Returns how many came.
  template <class MakePatience>
  [[nodiscard]] std::uint64_t take_messages(const MakePatience& make_patience) {
    std::uint64_t count = 0;
    const auto replace = [&](const auto& completion) {
      ++count;
      const lane<Engine>* const of = completion.template pointer<lane<Engine>>();
      drain& each = drains_[static_cast<std::size_t>(of - own_->lanes().data())];
      if (++each.used < each.receives.size()) return;
      each.used = 0;
      of->pair.post(each.receives).check();
    };
    while (own_->received().template wait<16>(replace, make_patience)) {
    }
    for (drain& each : drains_) each.of->pair.post(each.receives.first(each.used)).check();
    return count;
  }

 private:
  struct drain {
    lane<Engine>* of;
    adverb::prepared_list<typename side<Engine>::receive_request> receives;
    std::size_t used = 0;
  };

  side<Engine>* own_;
  std::vector<drain> drains_;
};

}  // namespace perf
