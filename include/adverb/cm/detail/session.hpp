// SPDX-License-Identifier: MIT
// An identifier with its event channel, and the steps of its life.
#pragma once

#include <cerrno>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <adverb/cm/detail/event_meaning.hpp>
#include <adverb/cm/event.hpp>
#include <adverb/cm/identifier.hpp>
#include <adverb/core/timeout.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Returns true if rdma_create_ep must create the identifier of a transport. Its ports are in the
/// space of InfiniBand's own services, where requests name their transport.
[[nodiscard]] constexpr bool needs_endpoint(transport service) noexcept {
  return service == transport::uc || service == transport::xrc_send ||
         service == transport::xrc_recv;
}

/// Explains why rdma_create_ep failed for these addresses, in terms of its steps.
[[gnu::cold]] void explain_endpoint(text_writer& writer, const std::error_code& code,
                                    const cm::socket_address& from, const cm::socket_address& to);

/// Creates an identifier from addresses: bound for listening, or with its address and route
/// resolved for connecting. librdmacm waits two seconds for each resolution. The identifier is
/// synchronous until it is migrated to a channel. Wraps: rdma_create_ep(3).
[[nodiscard]] cm::identifier create_endpoint(on_failure policy, transport service,
                                             const cm::socket_address& from,
                                             const cm::socket_address& to);

/// Reports that a listener cannot reuse its address or be limited to IPv6, because librdmacm binds
/// it during creation.
void refuse_options_of_bind(on_failure policy, const cm::socket_address& address,
                            bool reuses_address);

/// An event status that is neither the kernel's nor an errno: an operation of librdmacm itself
/// failed, without a reason.
inline constexpr int failed_in_librdmacm = -1;

/// Returns the errno for an event that ends the operation in progress. Never ETIMEDOUT, which means
/// that the program's own time limit expired and the event may still arrive.
// See docs/decisions.md, "ETIMEDOUT is the program's own limit".
[[nodiscard]] int errno_of(const cm::event& event) noexcept;

[[gnu::cold]] void explain_address_error(text_writer& writer, const cm::event& event);

/// Quotes the private data of a rejection if it is printable text.
/// Returns true if private data is more than the zeros that fill the message of a kernel.
[[nodiscard]] bool has_words(std::span<const std::byte> private_data) noexcept;

[[gnu::cold]] void put_words(text_writer& writer, const cm::private_data& said);

/// Explains an event to a caller that waited for another one.
[[gnu::cold]] void explain_event(text_writer& writer, const cm::event& event);

/// A step that an event ends: the call that starts it, and what the identifier does meanwhile.
struct cm_step {
  const char* verb;
  cm_phase phase;
};

/// Reports a failure that concerns an identifier.
[[gnu::cold]] void report_on(cm::identifier_ref id, int code, const char* verb, on_failure policy,
                             std::string_view why);

/// Reports an event of another identifier. Returns true if it is about this one.
[[nodiscard]] bool is_about(cm::identifier_ref id, const cm::event& happened, const char* verb,
                            on_failure policy);

/// Reports an event as the failure of `verb`.
[[gnu::cold]] void report_event(cm::identifier_ref id, const cm::event& happened, const char* verb,
                                on_failure policy);

/// Takes events from a non-blocking channel until `take` returns a result, fails, or none is left.
template <class Take>
[[nodiscard]] auto take_events(cm::event_channel_ref channel, on_failure policy, const Take& take) {
  using made_type = decltype(take(std::declval<cm::event&>()));
  while (std::optional<cm::event> event = channel.next_event(policy)) {
    made_type made = take(*event);
    if (made || policy.failed()) return made;
  }
  return made_type{};
}

/// The common parts of connectors, requests, listeners, connections and datagram endpoints. The
/// channel is destroyed after the identifier.
struct cm_session {
  /// The channel of this identifier alone; empty if it shares one.
  cm::event_channel channel;
  cm::identifier id;
  /// True while a started step waits for its event.
  bool under_way = false;

  cm_session() noexcept = default;
  cm_session(cm_session&& other) noexcept
      : channel{std::move(other.channel)},
        id{std::move(other.id)},
        under_way{std::exchange(other.under_way, false)} {}
  cm_session& operator=(cm_session&& other) noexcept;
  ~cm_session() = default;

  /// Creates an identifier on the shared channel, or on its own if that is empty.
  /// Wraps: rdma_create_id(3).
  [[nodiscard]] static cm_session create(cm::event_channel_ref shared, cm::port_space space,
                                         on_failure policy);

  /// Takes the identifier of a request, or a synchronous one, and moves it to the shared channel,
  /// or to its own if that is empty.
  [[nodiscard]] static cm_session of_identifier(cm::identifier&& id, cm::event_channel_ref shared,
                                                on_failure policy);

  /// Moves the events to a shared channel. Wraps: rdma_migrate_id(3).
  void migrate(cm::event_channel_ref shared, on_failure policy);

  [[nodiscard]] int file_descriptor() const noexcept {
    return id ? id.channel().file_descriptor() : -1;
  }

  /// Reports an empty identifier, or one on a shared channel, where a wait would take the events of
  /// others. Returns true if it can wait.
  [[nodiscard]] bool can_wait(const char* verb, on_failure policy) const;

  /// Returns the next event on its own channel, or nothing if none is pending.
  [[nodiscard]] std::optional<cm::event> next_event(const char* verb, on_failure policy) const;

  /// Starts a step with the call `start`. Fails with EALREADY while another step is in progress.
  template <class Start>
  void start(const char* verb, on_failure policy, const Start& start) {
    if (!check_present(policy, verb, id.native_handle())) return;
    if (under_way) {
      report_on(id, EALREADY, verb, policy, "the step is under way: finish() returns its outcome");
      return;
    }
    start();
    if (!policy.failed()) under_way = true;
  }

  /// Returns true if an event ends the step successfully. An event that ends it otherwise is passed
  /// to `failed_event` and reported. Other events are ignored.
  template <class OnFailure>
  [[nodiscard]] bool is_ended_by(const cm::event& happened, const cm_step& step, on_failure policy,
                                 const OnFailure& failed_event) {
    policy.clear();
    const event_meaning meaning = meaning_of(happened, step.phase);
    if (meaning == event_meaning::nothing) return false;
    if (happened.type() != cm::event_type::device_removal && !is_started(step.verb, policy))
      return false;
    under_way = false;
    if (meaning == event_meaning::success) return true;
    failed_event(happened);
    report_event(id, happened, step.verb, policy);
    return false;
  }
  [[nodiscard]] bool is_started(const char* verb, on_failure policy) const;

  /// Calls `start`, which starts a step, unless it is in progress, and waits for its end. If the
  /// time limit expires or a signal handler runs, the step stays in progress. Calling it again then
  /// only waits, because the kernel would refuse a second start.
  template <class Start, class Finish>
  [[nodiscard]] auto take_step(timeout limit, const char* verb, on_failure policy,
                               const Start& start, const Finish& finish) -> decltype(finish()) {
    if (!can_wait(verb, policy)) return {};
    if (!under_way) {
      start();
      if (policy.failed()) return {};
    }
    return wait(limit, verb, policy, finish);
  }

  /// Takes events from its own channel. See the function of that name.
  template <class Take>
  [[nodiscard]] auto take_events(const char* verb, on_failure policy, const Take& take) const
      -> decltype(take(std::declval<cm::event&>())) {
    if (!can_wait(verb, policy)) return {};
    return detail::take_events(channel, policy, take);
  }

  /// Repeats `finish` whenever its own channel is readable, until it returns a result, fails, or
  /// the wait ends. Every blocking call is this loop over its non-blocking form.
  template <class Finish>
  [[nodiscard]] auto wait(timeout limit, const char* verb, on_failure policy,
                          const Finish& finish) const -> decltype(finish()) {
    if (!can_wait(verb, policy)) return {};
    const deadline until{limit};
    while (true) {
      const wait_end end = until.wait_either_readable(channel.file_descriptor(), -1);
      if (end != wait_end::readable) {
        report_wait(end, limit, verb, policy);
        return {};
      }
      auto made = finish();
      if (made || policy.failed()) return made;
    }
  }

 private:
  /// Reports a wait that ended without an event: ETIMEDOUT, EINTR or ECANCELED.
  [[gnu::cold]] void report_wait(wait_end end, timeout limit, const char* verb,
                                 on_failure policy) const;

  [[nodiscard]] bool choose_channel(cm::event_channel_ref& shared, on_failure policy);
};

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/session.ipp>
#endif
