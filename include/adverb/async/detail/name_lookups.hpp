// SPDX-License-Identifier: MIT
// Lookups of names, each on a thread of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <adverb/async/detail/shared_list.hpp>
#include <adverb/async/event_source.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/cm/socket_address.hpp>
#include <adverb/core/detail/event_descriptor.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

class name_lookups;

/// A lookup in progress. Its thread has it until it is done.
struct name_lookup {
  std::string host;
  std::uint16_t port;
  /// Resumed by the loop; null if nothing waits any more.
  async::waiter* waiting;
  std::vector<cm::socket_address> found{};
  failure why{};
  name_lookup* next = nullptr;
};

/// The lookups that are done, and the descriptor that wakes the loop. The threads share it, because
/// the loop may end before them.
class finished_lookups {
 public:
  explicit finished_lookups(event_descriptor&& wake) noexcept : wake_{std::move(wake)} {}
  finished_lookups(const finished_lookups&) = delete;
  finished_lookups& operator=(const finished_lookups&) = delete;
  ~finished_lookups();

  /// Adds a lookup. Thread safe.
  void add(name_lookup* done) noexcept;
  /// Takes all of them.
  [[nodiscard]] name_lookup* take() noexcept;

 private:
  event_descriptor wake_;
  shared_list<name_lookup> list_;
};

/// The lookups of a loop. Not thread safe.
class name_lookups final : public async::event_source {
 public:
  explicit name_lookups(event_descriptor&& wake)
      : event_source{wake.get()}, finished_{std::make_shared<finished_lookups>(std::move(wake))} {}
  name_lookups(const name_lookups&) = delete;
  name_lookups& operator=(const name_lookups&) = delete;
  ~name_lookups();

  /// Starts a thread for a lookup. Returns null on failure. Wraps: getaddrinfo(3).
  [[nodiscard]] name_lookup* start(const std::string& host, std::uint16_t port,
                                   async::waiter& waiting, on_failure policy);
  /// Resumes those whose lookup is done.
  ADVERB_FUNC bool ready() override;

 private:
  struct job;

  std::shared_ptr<finished_lookups> finished_;
  /// The lookups that are done and have not resumed their waiters.
  name_lookup* done_ = nullptr;
};

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/async/impl/name_lookups.ipp>
#endif
