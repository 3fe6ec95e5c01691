// SPDX-License-Identifier: MIT
// Two RC pairs of one process that are connected by hand or by librdmacm, for tests that are the
// same for both, and on soft-iWARP, where only librdmacm connects.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <utility>

#include <adverb/cm.hpp>

#include "cm/support.hpp"
#include "support.hpp"

/// The objects that connect two pairs.
enum class connected_by { hand, librdmacm };

/// Each of what connects pairs on this device; to be called by a test case.
[[nodiscard]] inline connected_by every_way_to_connect() {
  if (cm_test::on_iwarp()) return connected_by::librdmacm;
  return GENERATE(connected_by::hand, connected_by::librdmacm);
}

/// Two connections of librdmacm, whose pairs have the program's own queues.
template <class Queue>
class cm_loopback {
 public:
  explicit cm_loopback(const adverb::queue_pair_options& options) : options_{options} {}

 private:
  using connections = std::pair<cm_test::rc_connection, cm_test::rc_connection>;

  [[nodiscard]] adverb::queue_pair_options completing_on(const Queue& queue) const {
    adverb::queue_pair_options options = options_;
    options.send_cq = queue;
    options.recv_cq = queue;
    return options;
  }
  [[nodiscard]] connections connect() {
    auto accepted = std::async(std::launch::async, [this] {
      auto request = listener_.next_request(std::chrono::seconds{10});
      auto ready = request.create_queue_pair(completing_on(far_end.queue), domain);
      return ready.accept();
    });
    auto ready = route_.create_queue_pair(completing_on(near_end.queue), domain);
    auto near = ready.connect();
    return {std::move(near), accepted.get()};
  }

  adverb::queue_pair_options options_;
  cm_test::rc_listener listener_ = cm_test::rc_listener::create(cm_test::device_address());
  adverb::cm::connector<adverb::transport::rc, adverb::cm::step::route_resolved> route_ =
      adverb::cm::connector<adverb::transport::rc>::resolve(
          cm_test::device_address(listener_.port()));

 public:
  adverb::context_ref context = route_.context();
  adverb::protection_domain domain{context};
  end_with<Queue> near_end{context, domain};
  end_with<Queue> far_end{context, domain};

 private:
  connections connections_ = connect();

 public:
  adverb::queue_pair_ref<adverb::transport::rc> near_pair = connections_.first.queue_pair();
  adverb::queue_pair_ref<adverb::transport::rc> far_pair = connections_.second.queue_pair();
};

/// Two RC pairs that talk to each other, connected by each of what there is in turn.
template <class Queue>
class rc_link {
  using by_hand = loopback<adverb::transport::rc, Queue>;
  using pair_ref = adverb::queue_pair_ref<adverb::transport::rc>;

 public:
  explicit rc_link(const adverb::queue_pair_options& options)
      : rc_link{options, every_way_to_connect()} {}

 private:
  rc_link(const adverb::queue_pair_options& options, connected_by way)
      : hand_{way != connected_by::hand
                  ? nullptr
                  : std::make_unique<by_hand>(
                        loopback_options<adverb::transport::rc>{.pair = options})},
        librdmacm_{hand_ ? nullptr : std::make_unique<cm_loopback<Queue>>(options)} {}

  std::unique_ptr<by_hand> hand_;
  std::unique_ptr<cm_loopback<Queue>> librdmacm_;

 public:
  adverb::context_ref context = hand_ ? adverb::context_ref{hand_->context} : librdmacm_->context;
  end_with<Queue>& near_end = hand_ ? hand_->near_end : librdmacm_->near_end;
  end_with<Queue>& far_end = hand_ ? hand_->far_end : librdmacm_->far_end;
  pair_ref near_pair = hand_ ? pair_ref{hand_->near_pair} : librdmacm_->near_pair;
  pair_ref far_pair = hand_ ? pair_ref{hand_->far_pair} : librdmacm_->far_pair;
};
