// SPDX-License-Identifier: MIT
// Attempts to connect to one address after the other, and which failure of them is told.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <system_error>

#include <adverb/cm/connect_options.hpp>
#include <adverb/cm/connection.hpp>
#include <adverb/cm/connector.hpp>
#include <adverb/cm/prepare.hpp>
#include <adverb/cm/rejection.hpp>
#include <adverb/core/failure.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// What an attempt failed for; the further it came, the more its failure tells.
enum class attempt_lacks : std::uint8_t {
  way,
  queue_pair,
  answer,
  consent,
  /// It is no use, or not wanted, to try another address.
  permission_to_go_on,
};

/// Whether a rejection is of the peer's program, as far as can be told: a kernel rejects alike, but
/// sends no words, where somebody listens on the addresses of another family alone.
[[nodiscard]] inline bool seems_program_s(const cm::rejection& rejection) noexcept {
  return rejection.reason == cm::reject_reason::by_the_program ||
         rejection.reason == cm::reject_reason::unspecified;
}
[[nodiscard]] inline bool has_words(const cm::rejection& rejection) noexcept {
  const auto bytes = rejection.private_data.bytes();
  return std::any_of(bytes.begin(), bytes.end(),
                     [](std::byte each) { return each != std::byte{}; });
}

/// What is to be told of several attempts that failed: the first failure of those that came
/// furthest; and which addresses are still worth an attempt.
class failed_attempts {
 public:
  /// A program that has rejected is not asked again by another of its addresses; one that listens
  /// on another family is another one.
  [[nodiscard]] bool may_try(const cm::socket_address& next) const noexcept {
    return next.family() != rejecting_family_;
  }

  /// Takes note of one. False when no other address is to be tried.
  bool note(const cm::socket_address& to, const failure& why, attempt_lacks missing,
            const std::optional<cm::rejection>& rejection = {}) {
    if (why.code() == std::errc::connection_refused) missing = attempt_lacks::consent;
    if (rejection && seems_program_s(*rejection)) {
      missing = has_words(*rejection) ? attempt_lacks::permission_to_go_on : attempt_lacks::consent;
      rejecting_family_ = to.family();
    }
    if (why.code() == std::errc::interrupted || why.code() == std::errc::operation_canceled)
      missing = attempt_lacks::permission_to_go_on;
    if (!told_ || missing > missing_) {
      told_ = why;
      missing_ = missing;
    }
    return missing != attempt_lacks::permission_to_go_on;
  }

  [[nodiscard]] const failure& told() const noexcept { return told_; }

 private:
  failure told_;
  attempt_lacks missing_{};
  cm::address_family rejecting_family_ = cm::address_family::unspecified;
};

/// Connects to one address, or takes note of why not. True when another one is to be tried.
template <transport Transport, class Prepare>
[[nodiscard]] bool attempt_to_connect(cm::connection<Transport>& made, failed_attempts& failed,
                                      const cm::socket_address& to,
                                      const cm::connect_options& options, Prepare& prepare) {
  static_assert(Transport != transport::ud,
                "datagrams (UD) have no connections: a datagram_endpoint sends them, and its "
                "resolve_peer() finds out where to");
  static_assert(Transport != transport::xrc_recv,
                "the target of XRC listens; what connects is its initiator: transport::xrc_send");
  if constexpr (Transport != transport::ud) {
    if (!failed.may_try(to)) return true;
    failure why;
    auto far = cm::connector<Transport>::resolve(
        to, {.from = options.from, .timeout = options.resolve_timeout}, why);
    if (!far) return failed.note(to, why, attempt_lacks::way);
    auto ready = far.create_queue_pair(options.queue_pair, options.domain, why);
    if (!ready || !prepared(why, "cm::connect", ready, prepare))
      return failed.note(to, why, attempt_lacks::queue_pair);
    made = ready.connect(options.connection, options.connect_timeout, why);
    return !made && failed.note(to, why, attempt_lacks::answer, ready.rejection());
  } else {
    return false;
  }
}

}  // namespace adverb::inline ADVERB_ABI::detail
