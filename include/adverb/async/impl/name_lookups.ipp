// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include <pthread.h>

#include <adverb/async/detail/name_lookups.hpp>
#include <adverb/cm/connect.hpp>
#include <adverb/core/detail/check.hpp>
#include <adverb/core/detail/lack_of_memory.hpp>

namespace adverb::inline ADVERB_ABI::detail {

inline void destroy(name_lookup* each) noexcept {
  while (each != nullptr) delete std::exchange(each, each->next);
}

ADVERB_FUNC finished_lookups::~finished_lookups() { destroy(list_.take()); }

ADVERB_FUNC void finished_lookups::add(name_lookup* done) noexcept {
  list_.push(*done);
  wake_.set();
}

ADVERB_FUNC name_lookup* finished_lookups::take() noexcept {
  wake_.clear();
  return list_.take();
}

/// The argument of a thread.
struct name_lookups::job {
  static void* run(void* given) {
    const std::unique_ptr<job> self{static_cast<job*>(given)};
    name_lookup& lookup = *self->lookup;
    const auto look_up = [&lookup] {
      const host_addresses all{lookup.host, lookup.port, cm::address_family::unspecified,
                               lookup.why};
      all.for_each([&](const cm::socket_address& each) {
        lookup.found.push_back(each);
        return true;
      });
    };
    // An exception would end the program with this thread.
    if (!has_memory_for(look_up)) {
      lookup.found.clear();
      report_lack_of_memory(lookup.why, "getaddrinfo");
    }
    self->to->add(self->lookup.release());
    return nullptr;
  }

  std::unique_ptr<name_lookup> lookup;
  std::shared_ptr<finished_lookups> to;
};

ADVERB_FUNC name_lookup* name_lookups::start(const std::string& host, std::uint16_t port,
                                             async::waiter& waiting, on_failure policy) {
  auto made = std::make_unique<job>();
  made->lookup.reset(new name_lookup{.host = host, .port = port, .waiting = &waiting});
  made->to = finished_;
  name_lookup* const lookup = made->lookup.get();
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // The signals of the program are for its own threads.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int result = ::pthread_create(&thread, &attributes, &job::run, made.get());
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  const auto describe = [&](failure_description& description) {
    if (result != EAGAIN) return;
    description.object("the lookup of {}", {std::string_view{host}});
    description.explain(
        "no thread could be created for it; possible causes: the limit of the user (\"ulimit "
        "-u\"), "
        "of the control group (pids.max), or of the system (kernel.threads-max)");
  };
  if (!check_returned(policy, "pthread_create", result, describe)) return nullptr;
  static_cast<void>(made.release());
  return lookup;
}

ADVERB_FUNC name_lookups::~name_lookups() { destroy(done_); }

ADVERB_FUNC bool name_lookups::ready() {
  if (done_ == nullptr) done_ = finished_->take();
  // A waiter that throws leaves the rest to the next call.
  while (done_ != nullptr) {
    const std::unique_ptr<name_lookup> first{std::exchange(done_, done_->next)};
    if (first->waiting != nullptr) first->waiting->go_on();
  }
  return true;
}

}  // namespace adverb::inline ADVERB_ABI::detail
