// SPDX-License-Identifier: MIT
// The addresses of this machine, as a test chooses them: to be included by the one source file of a
// test program, whose getifaddrs this is.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <ifaddrs.h>
#include <net/if.h>

#include <adverb/cm/socket_address.hpp>

/// During its lifetime these are all local addresses, in their order. One at a time.
class local_addresses {
 public:
  struct entry {
    std::string interface;
    /// Empty for an interface without one, which getifaddrs lists as well.
    adverb::cm::socket_address address;
    unsigned flags = IFF_UP;
  };

  explicit local_addresses(std::vector<entry> entries) {
    for (entry& each : entries) {
      entries_.push_back(std::move(each));
      ifaddrs native{};
      native.ifa_name = entries_.back().interface.data();
      native.ifa_flags = entries_.back().flags;
      native.ifa_addr = entries_.back().address.native();
      list_.push_back(native);
    }
    for (std::size_t number = 1; number < list_.size(); ++number)
      list_[number - 1].ifa_next = &list_[number];
    running() = this;
  }
  ~local_addresses() { running() = nullptr; }
  local_addresses(const local_addresses&) = delete;
  local_addresses& operator=(const local_addresses&) = delete;

  /// The number of lists that were returned and not freed.
  [[nodiscard]] int not_freed() const noexcept { return not_freed_; }

  [[nodiscard]] static local_addresses*& running() noexcept {
    static local_addresses* one = nullptr;
    return one;
  }
  [[nodiscard]] ifaddrs* give() noexcept {
    ++not_freed_;
    return list_.empty() ? nullptr : list_.data();
  }
  void take_back() noexcept { --not_freed_; }

 private:
  std::deque<entry> entries_;
  std::vector<ifaddrs> list_;
  int not_freed_ = 0;
};

extern "C" int getifaddrs(ifaddrs** list) noexcept {
  if (local_addresses::running() == nullptr) return -1;
  *list = local_addresses::running()->give();
  return 0;
}
extern "C" void freeifaddrs(ifaddrs*) noexcept { local_addresses::running()->take_back(); }
