// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/cm/detail/explain_event.hpp>
#include <adverb/cm/detail/session.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC bool cm_step::ends_well_with(const cm::event& event) const noexcept {
  return event.status() == 0 && (event.type() == wanted || event.type() == or_else);
}

ADVERB_FUNC void report_on(cm::identifier_ref id, int code, std::string_view verb,
                           on_failure policy, std::string_view why) {
  policy.report(code, verb, [&](failure_description& description) {
    on_object<identifier_traits>(id.native_handle())(description);
    description.explain(why);
  });
}

ADVERB_FUNC bool is_about(cm::identifier_ref id, const cm::event& happened, std::string_view verb,
                          on_failure policy) {
  if (!check_present(policy, verb, id.native_handle())) return false;
  if (happened.identifier() == id) return true;
  report_on(id, EINVAL, verb, policy, "the event is about another identifier");
  return false;
}

ADVERB_FUNC bool ends_nothing(const cm::event& happened) noexcept {
  return happened.type() == cm::event_type::address_change ||
         happened.type() == cm::event_type::timewait_exit;
}

ADVERB_FUNC void report_event(cm::identifier_ref id, const cm::event& happened,
                              std::string_view verb, on_failure policy) {
  policy.report(errno_of(happened), verb, [&](failure_description& description) {
    on_object<identifier_traits>(id.native_handle())(description);
    description.explain([&](text_writer& writer) {
      // A peer that requested the connection does not reject it; it is gone.
      if (verb == "rdma_accept" && happened.is_rejection())
        writer.put(peer_gave_up).put(": ").put(happened.reason());
      else
        explain_event(writer, happened);
    });
  });
}

ADVERB_FUNC cm_session& cm_session::operator=(cm_session&& other) noexcept {
  id = std::move(other.id);
  channel = std::move(other.channel);
  under_way = other.under_way;
  return *this;
}

ADVERB_FUNC cm_session cm_session::create(cm::event_channel_ref shared, cm::port_space space,
                                          on_failure policy) {
  cm_session session;
  if (!session.choose_channel(shared, policy)) return {};
  session.id = cm::identifier::create(shared, space, nullptr, policy);
  if (!session.id) return {};
  return session;
}

ADVERB_FUNC cm_session cm_session::of_identifier(cm::identifier&& id, cm::event_channel_ref shared,
                                                 on_failure policy) {
  cm_session session;
  if (!session.choose_channel(shared, policy)) return {};
  session.id = std::move(id);
  if (session.id.channel() == shared) return session;
  session.id.migrate(shared, policy);
  if (policy.failed()) return {};
  return session;
}

ADVERB_FUNC void cm_session::migrate(cm::event_channel_ref shared, on_failure policy) {
  id.migrate(shared, policy);
  if (!policy.failed()) channel = {};
}

ADVERB_FUNC bool cm_session::can_wait(std::string_view verb, on_failure policy) const {
  if (!check_present(policy, verb, id.native_handle())) return false;
  if (channel) return true;
  report_on(id, EINVAL, verb, policy,
            "its events come on a channel that others share: take them there, and pass them on");
  return false;
}

ADVERB_FUNC std::optional<cm::event> cm_session::next_event(std::string_view verb,
                                                            on_failure policy) const {
  if (!can_wait(verb, policy)) return std::nullopt;
  return channel.next_event(policy);
}

ADVERB_FUNC bool cm_session::is_started(std::string_view verb, on_failure policy) const {
  if (!check_present(policy, verb, id.native_handle())) return false;
  if (!under_way) report_on(id, EINVAL, verb, policy, "no step was started");
  return under_way;
}

ADVERB_FUNC void cm_session::report_wait(wait_end end, timeout limit, std::string_view verb,
                                         on_failure policy) const {
  if (end == wait_end::woken) return report_on(id, ECANCELED, verb, policy, woken_by_descriptor);
  if (end == wait_end::interrupted)
    return report_on(id, EINTR, verb, policy, "a signal handler ran meanwhile");
  policy.report(ETIMEDOUT, verb, [&](failure_description& description) {
    on_object<identifier_traits>(id.native_handle())(description);
    description.explain(
        [&](text_writer& writer) { explain_silence(writer, verb, id.native_handle(), limit); });
  });
}

ADVERB_FUNC bool cm_session::choose_channel(cm::event_channel_ref& shared, on_failure policy) {
  if (shared) return true;
  channel = cm::event_channel::create(policy);
  if (!channel) return false;
  channel.set_non_blocking(true, policy);
  shared = channel;
  return !policy.failed();
}

}  // namespace adverb::inline ADVERB_ABI::detail
