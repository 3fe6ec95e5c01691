// SPDX-License-Identifier: MIT
// The TCP sockets of a loop, behind one descriptor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <sys/epoll.h>
#include <unistd.h>

#include <adverb/async/detail/epoll.hpp>
#include <adverb/async/event_source.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

class watched_socket;

/// Watches sockets with an epoll instance of its own, so that every loop that can watch a readable
/// descriptor can run them. Not thread safe.
class loop_sockets final : public async::event_source {
 public:
  explicit loop_sockets(epoll&& members) noexcept
      : event_source{members.get()}, members_{std::move(members)} {}
  loop_sockets(const loop_sockets&) = delete;
  loop_sockets& operator=(const loop_sockets&) = delete;

  [[nodiscard]] const epoll& members() const noexcept { return members_; }
  /// A socket is watched no more.
  void forget(const watched_socket& which) noexcept {
    for (std::size_t each = next_; each < count_; ++each)
      if (events_[each].data.ptr == &which) events_[each].data.ptr = nullptr;
  }
  /// Passes the events to the sockets.
  inline bool ready() override;

 private:
  epoll members_;
  std::array<epoll_event, 16> events_{};
  std::size_t next_ = 0;
  std::size_t count_ = 0;
};

/// A socket that a loop watches, and its owner. It stays where it is.
class watched_socket {
 public:
  watched_socket(const watched_socket&) = delete;
  watched_socket& operator=(const watched_socket&) = delete;

 protected:
  watched_socket() noexcept = default;
  ~watched_socket() { close_socket(); }

  /// Takes over a socket, and watches it for reading, and for writing on demand. Closes it on
  /// failure. Wraps: epoll_ctl(2).
  void watch_socket(loop_sockets& by, int descriptor, bool for_writing, on_failure policy) {
    close_socket();
    // The destructor closes it if the policy throws.
    descriptor_ = descriptor;
    by.members().add(descriptor, this, policy, events_for(for_writing));
    if (policy.failed())
      ::close(std::exchange(descriptor_, -1));
    else
      sockets_ = &by;
  }
  /// Watches it for writing as well, or not.
  void watch_for_writing(bool for_writing) noexcept {
    sockets_->members().change(descriptor_, this, events_for(for_writing));
  }
  /// Watches it for nothing but errors.
  void pause_watching() noexcept { sockets_->members().change(descriptor_, this, 0); }
  /// Gives the socket up, unwatched. Returns its descriptor.
  [[nodiscard]] int release_socket() noexcept {
    if (sockets_ != nullptr) {
      sockets_->members().remove(descriptor_);
      std::exchange(sockets_, nullptr)->forget(*this);
    }
    return std::exchange(descriptor_, -1);
  }
  void close_socket() noexcept {
    if (const int descriptor = release_socket(); descriptor != -1) ::close(descriptor);
  }
  /// Returns its descriptor; -1 if it is closed.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  friend class loop_sockets;

  [[nodiscard]] static std::uint32_t events_for(bool for_writing) noexcept {
    return for_writing ? std::uint32_t{EPOLLIN} | std::uint32_t{EPOLLOUT} : std::uint32_t{EPOLLIN};
  }
  /// It can be read or written, or has failed. It may be destroyed by this.
  virtual void socket_ready() = 0;
  loop_sockets* sockets_ = nullptr;
  int descriptor_ = -1;
};

inline bool loop_sockets::ready() {
  if (next_ == count_) {
    next_ = 0;
    count_ = members_.wait(events_, 0).size();
    if (count_ == 0) return true;
  }
  while (next_ < count_)
    if (auto* const member = static_cast<watched_socket*>(events_[next_++].data.ptr))
      member->socket_ready();
  return false;
}

}  // namespace adverb::inline ADVERB_ABI::detail
