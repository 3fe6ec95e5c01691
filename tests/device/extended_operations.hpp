// SPDX-License-Identifier: MIT
// Operations that only the extended calls have, and not those of every rdma-core and every device.
#pragma once

#include <support/skip.hpp>

#include "support.hpp"

/// Two RC pairs whose near one is created for one more operation than the basic ones.
template <adverb::send_operation Operation>
class extended_link : public loopback<adverb::transport::rc> {
 public:
  static constexpr adverb::send_operations operations =
      basic_operations(adverb::transport::rc) | Operation;
  static constexpr adverb::access_rights all_rights =
      Operation == adverb::send_operation::flush ? every_right | adverb::access_right::flush_global
                                                 : every_right;

  explicit extended_link(adverb::access_rights far_grants = all_rights)
      : loopback{with_operation(far_grants)} {}

  /// Posts a request that the headers declare if the device has the operation.
  template <class Request>
  void post(const Request& request) const {
    if constexpr (adverb::can_post<sender_type, Request>)
      near_pair.template extended<operations>().post(request).check();
    else
      FAIL("the headers of rdma-core lack the operation");
  }
  /// Posts a request that must fail, and returns its status.
  template <class Request>
  [[nodiscard]] adverb::completion_status status_of(const Request& request) const {
    post(request.id(1));
    const adverb::completion done = next_completion(near_end.queue);
    CHECK(done.id() == 1);
    check_fails_soon(near_pair);
    return done.status();
  }

 private:
  using sender_type = adverb::extended_sender<adverb::transport::rc, operations>;

  [[nodiscard]] static loopback_options<adverb::transport::rc> with_operation(
      adverb::access_rights far_grants) {
    loopback_options<adverb::transport::rc> options;
    options.pair.send_operations = operations;
    options.far_grants = far_grants;
    return options;
  }
};

/// Why this machine lacks the operation of a link: its headers, its device or its provider; nothing
/// if it has it.
template <class Link, class Request>
[[nodiscard]] std::string_view lack_of_operation(adverb::device_capability capability) {
  using sender_type = adverb::extended_sender<adverb::transport::rc, Link::operations>;
  if (!adverb::can_post<sender_type, Request>) return "the headers of rdma-core lack it";
  const adverb::context device = adverb::open_device();
  if (!device.query_device().capabilities().contains(capability)) return "the device lacks it";
  const adverb::protection_domain domain{device};
  const adverb::completion_queue queue{device, 16};
  std::error_code code;
  const auto pair = adverb::queue_pair<adverb::transport::rc>::create(
      domain, {.send_cq = queue, .recv_cq = queue, .send_operations = Link::operations}, code);
  if (code == std::errc::operation_not_supported) return "the provider lacks it";
  REQUIRE(pair);
  return {};
}

/// Returns whether this machine has the operation of a link; reports a skip if not.
template <class Link, class Request>
[[nodiscard]] bool has_operation(adverb::device_capability capability, std::string_view test) {
  const std::string_view reason = lack_of_operation<Link, Request>(capability);
  if (!reason.empty()) tell_skip(test, reason);
  return reason.empty();
}
