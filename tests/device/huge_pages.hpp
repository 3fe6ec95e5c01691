// SPDX-License-Identifier: MIT
// Huge pages of the system.
#pragma once

#include <cstdlib>
#include <fstream>

/// Sets huge pages aside for as long as it lives, in the virtual machine only.
class huge_pages {
 public:
  explicit huge_pages(unsigned count) : is_guest_{std::getenv("SOFTRDMA_ADDRESS") != nullptr} {
    if (is_guest_) std::ofstream{"/proc/sys/vm/nr_hugepages"} << count;
  }
  huge_pages(const huge_pages&) = delete;
  huge_pages& operator=(const huge_pages&) = delete;
  ~huge_pages() {
    if (is_guest_) std::ofstream{"/proc/sys/vm/nr_hugepages"} << 0;
  }

  [[nodiscard]] bool are_set_aside() const {
    unsigned count = 0;
    std::ifstream{"/proc/sys/vm/nr_hugepages"} >> count;
    return is_guest_ && count > 0;
  }

 private:
  bool is_guest_;
};
