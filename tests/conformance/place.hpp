// SPDX-License-Identifier: MIT
// The place of a body: the fake or a real device, whichever it is linked with.
#pragma once

#include <memory>
#include <string_view>

#include <device/support.hpp>
#include <infiniband/verbs.h>

#include <adverb/adverb.hpp>

/// An object that lives as long as a test uses the device: the fake machine, or nothing.
class place {
 public:
  place();
  ~place();
  place(const place&) = delete;
  place& operator=(const place&) = delete;

  /// True where Linux answers, which leaves the specification in a few places of its own.
  [[nodiscard]] static bool is_linux() noexcept;

 private:
  struct contents;
  std::unique_ptr<contents> contents_;
};

/// A device, and what nearly all other objects stand on.
struct bench {
  place here;
  adverb::context device = adverb::open_device();
  adverb::protection_domain domain{device};
  adverb::completion_queue queue{device, 64};

  template <adverb::transport Transport>
  [[nodiscard]] auto fresh(adverb::queue_pair_options options = {}) const {
    options.send_cq = queue;
    options.recv_cq = queue;
    return adverb::queue_pair<Transport>::create(domain, options);
  }
  template <adverb::transport Transport>
  [[nodiscard]] auto waiting(const adverb::queue_pair_options& options = {}) const {
    auto pair = fresh<Transport>(options);
    return initialised(pair);
  }
};
