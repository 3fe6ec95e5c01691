// SPDX-License-Identifier: MIT
// An identifier with a channel of its own, on which each step waits for its event.
#pragma once

#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include <adverb/cm/detail/explain_event.hpp>
#include <adverb/cm/event.hpp>
#include <adverb/core/timeout.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The event that ends a step well, or either of two.
struct wanted_events {
  cm::event_type first;
  cm::event_type second = first;

  [[nodiscard]] bool include(const cm::event& event) const noexcept {
    return event.status() == 0 && (event.type() == first || event.type() == second);
  }
};

/// How an acceptance ends: a peer that disconnects has had its connection, although what tells of
/// it is still to come, or is lost (the kernel handles messages on several processors, so that the
/// end may overtake the beginning).
// See docs/decisions.md, "accept() returns connections that have already ended".
inline constexpr wanted_events accepted{cm::event_type::established, cm::event_type::disconnected};

/// What connectors, requests, listeners and connections consist of. The channel is destroyed after
/// the identifier.
struct cm_session {
  cm::event_channel channel;
  cm::identifier id;
  /// Whether a step was started whose event has not come yet.
  bool under_way = false;

  cm_session() noexcept = default;
  cm_session(cm_session&&) noexcept = default;
  cm_session& operator=(cm_session&& other) noexcept {
    id = std::move(other.id);
    channel = std::move(other.channel);
    under_way = other.under_way;
    return *this;
  }
  ~cm_session() = default;

  /// A channel that returns at once when it is empty. Wraps: rdma_create_event_channel(3).
  [[nodiscard]] static cm::event_channel own_channel(on_failure policy) {
    cm::event_channel channel = cm::event_channel::create(policy);
    if (!channel) return {};
    channel.set_non_blocking(true, policy);
    if (policy.failed()) return {};
    return channel;
  }

  [[nodiscard]] static cm_session create(cm::port_space space, on_failure policy) {
    cm_session session;
    session.channel = own_channel(policy);
    if (!session.channel) return {};
    session.id = cm::identifier::create(session.channel, space, nullptr, policy);
    if (!session.id) return {};
    return session;
  }

  /// An identifier that came with a request, or that was synchronous, on a channel of its own.
  [[nodiscard]] static cm_session of_request(cm::identifier&& request, on_failure policy) {
    cm_session session;
    session.channel = own_channel(policy);
    if (!session.channel) return {};
    session.id = std::move(request);
    session.id.migrate(session.channel, policy);
    if (policy.failed()) return {};
    return session;
  }

  /// Waits for any event. Nothing when the time is up (ETIMEDOUT), or a signal handler ran (EINTR):
  /// both are reported, as `verb` that failed.
  [[nodiscard]] std::optional<cm::event> wait(const deadline& until, timeout limit,
                                              std::string_view verb, on_failure policy) const {
    if (!check_present(policy, verb, id.native_handle())) return std::nullopt;
    while (true) {
      if (!until.wait_readable(channel.file_descriptor())) {
        const bool late = until.passed();
        policy.report(late ? ETIMEDOUT : EINTR, verb, [&](failure_description& description) {
          on_object<identifier_traits>(id.native_handle())(description);
          description.explain([&](text_writer& writer) {
            if (late)
              explain_silence(writer, verb, id.native_handle(), limit);
            else
              writer.put("a signal handler ran meanwhile");
          });
        });
        return std::nullopt;
      }
      std::optional<cm::event> event = channel.next_event(policy);
      if (event || policy.failed()) return event;
    }
  }

  /// Waits for the event that ends a step; any other that ends it is reported as the failure of
  /// `verb`, after `failed_event` has seen it.
  template <class OnFailure>
  [[nodiscard]] std::optional<cm::event> wait_for(const wanted_events& wanted, timeout limit,
                                                  std::string_view verb, on_failure policy,
                                                  const OnFailure& failed_event) const {
    const deadline until{limit};
    while (true) {
      std::optional<cm::event> event = wait(until, limit, verb, policy);
      if (!event) return std::nullopt;
      if (wanted.include(*event)) return event;
      if (event->type() == cm::event_type::address_change ||
          event->type() == cm::event_type::timewait_exit)
        continue;
      failed_event(*event);
      policy.report(errno_of(*event), verb, [&](failure_description& description) {
        on_object<identifier_traits>(id.native_handle())(description);
        description.explain([&](text_writer& writer) { explain_event(writer, *event); });
      });
      return std::nullopt;
    }
  }
  [[nodiscard]] std::optional<cm::event> wait_for(const wanted_events& wanted, timeout limit,
                                                  std::string_view verb, on_failure policy) const {
    return wait_for(wanted, limit, verb, policy, [](const cm::event&) {});
  }

  /// Takes a step: `start` makes the call, with a policy, and its event is waited for. A step whose
  /// event did not come, because the time was up or a signal handler ran, is under way: taken again
  /// it is not started again, which the kernel would refuse, but waited for.
  template <class Start, class OnFailure>
  [[nodiscard]] std::optional<cm::event> take_step(const wanted_events& wanted, timeout limit,
                                                   std::string_view verb, const Start& start,
                                                   on_failure policy,
                                                   const OnFailure& failed_event) {
    if (!under_way) {
      start(policy);
      if (policy.failed()) return std::nullopt;
      under_way = true;
    }
    std::optional<cm::event> event =
        wait_for(wanted, limit, verb, policy, [&](const cm::event& failed_with) {
          under_way = false;
          failed_event(failed_with);
        });
    if (event) under_way = false;
    return event;
  }
  template <class Start>
  [[nodiscard]] std::optional<cm::event> take_step(const wanted_events& wanted, timeout limit,
                                                   std::string_view verb, const Start& start,
                                                   on_failure policy) {
    return take_step(wanted, limit, verb, start, policy, [](const cm::event&) {});
  }
};

}  // namespace adverb::inline ADVERB_ABI::detail
