// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <rdma/rdma_cma.h>

#include <adverb/cm/detail/explain_call.hpp>
#include <adverb/cm/detail/session.hpp>
#include <adverb/core/failure.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void explain_endpoint(text_writer& writer, const std::error_code& code,
                                  const cm::socket_address& from, const cm::socket_address& to) {
  // No identifier exists that could provide details.
  const rdma_cm_id none{};
  const bool passive = to.is_empty();
  if (is_code(code, std::errc::timed_out))
    writer.put("possible causes: no neighbour answers for {}, or there is no route to it",
               {to.with_port(0)});
  else
    explain_call(writer, {passive ? "rdma_bind_addr" : "rdma_resolve_addr", code, &none,
                          passive ? from : to, passive ? cm::socket_address{} : from});
}

ADVERB_FUNC cm::identifier create_endpoint(on_failure policy, transport service,
                                           const cm::socket_address& from,
                                           const cm::socket_address& to) {
  const cm::socket_address& named = to.is_empty() ? from : to;
  rdma_addrinfo information{};
  information.ai_flags = to.is_empty() ? RAI_PASSIVE : 0;
  information.ai_family = static_cast<int>(named.family());
  information.ai_qp_type = static_cast<int>(service);
  information.ai_port_space = RDMA_PS_IB;
  information.ai_src_addr = from.native();
  information.ai_src_len = from.length();
  information.ai_dst_addr = to.native();
  information.ai_dst_len = to.length();
  rdma_cm_id* made = nullptr;
  const bool done = check_minus_one(
      policy, "rdma_create_ep",
      [&] { return rdma_create_ep(&made, &information, nullptr, nullptr); },
      [&](failure_description& description) {
        description.detail(to_text(named));
        description.explain(
            [&](text_writer& writer) { explain_endpoint(writer, description.code(), from, to); });
      });
  return done ? cm::identifier{adopt, made} : cm::identifier{};
}

ADVERB_FUNC void refuse_options_of_bind(on_failure policy, const cm::socket_address& address,
                                        bool reuses_address) {
  policy.report(EOPNOTSUPP, "rdma_create_ep", [&](failure_description& description) {
    description.detail(to_text(address));
    description.explain(reuses_address
                            ? "librdmacm binds a listener of UC or XRC as it creates it: the "
                              "listener cannot reuse the address"
                            : "librdmacm binds a listener of UC or XRC as it creates it: the "
                              "listener cannot be limited to IPv6");
  });
}

ADVERB_FUNC int errno_of(const cm::event& event) noexcept {
  if (event.status() == failed_in_librdmacm)
    return has_lost_device(event.identifier().native_handle()) ? ENODEV : EIO;
  if (event.status() == -ETIMEDOUT) return EHOSTUNREACH;
  if (event.status() < 0) return -event.status();
  if (event.is_rejection()) return ECONNREFUSED;
  switch (event.type()) {
    case cm::event_type::unreachable: return EHOSTUNREACH;
    case cm::event_type::disconnected: return ECONNRESET;
    case cm::event_type::device_removal: return ENODEV;
    default: return ECONNABORTED;
  }
}

ADVERB_FUNC void explain_address_error(text_writer& writer, const cm::event& event) {
  const cm::socket_address peer = event.identifier().peer_address();
  if (event.status() == -ENODEV)
    explain_no_device_towards(writer, peer);
  else if (event.status() == -ENETUNREACH)
    writer.put("this machine has no route to ").put(peer.with_port(0));
  else
    writer.put("no neighbour answers for ").put(peer.with_port(0));
}

ADVERB_FUNC bool has_words(std::span<const std::byte> private_data) noexcept {
  return std::ranges::any_of(private_data, [](std::byte each) { return each != std::byte{}; });
}

ADVERB_FUNC void put_words(text_writer& writer, const cm::private_data& said) {
  const std::optional<std::string_view> words = said.text();
  if (!words) return;
  // Control characters, of which some have two bytes in UTF-8, could be commands to a terminal.
  unsigned char before = 0;
  for (const char each : *words) {
    const auto byte = static_cast<unsigned char>(each);
    const bool is_second = byte >= 0x80 && byte < 0xa0 && (before < 0x80 || before == 0xc2);
    if (byte < ' ' || byte == 0x7f || is_second) return;
    before = byte;
  }
  writer.put(": \"").put(*words).put("\"");
}

ADVERB_FUNC void explain_event(text_writer& writer, const cm::event& event) {
  if (event.is_rejection()) {
    writer.put(event.type() == cm::event_type::rejected ? "the peer rejected the connection: "
                                                        : "the peer returned no queue pair: ");
    // The kernel of the peer gives the same reason if nobody listens on this address.
    if (event.reason() == cm::reject_reason::by_the_program && !has_words(event.private_data()))
      writer.put(
          "possible causes: its program refused or ended, or listens on this port of other "
          "addresses only");
    else
      writer.put(event.reason());
    put_words(writer, event.private_data());
    return;
  }
  if (event.status() == failed_in_librdmacm) {
    if (has_lost_device(event.identifier().native_handle())) {
      writer.put(device_is_gone);
      return;
    }
    problem_list problems{writer};
    problems.add(event.type() == cm::event_type::multicast_error
                     ? "librdmacm could not attach the queue pair to the group"
                 : event.type() == cm::event_type::connect_error
                     ? "librdmacm could not bring the queue pair up"
                     : "librdmacm could not query the outcome from the kernel");
    explain_closed_devices(problems);
    return;
  }
  switch (event.type()) {
    case cm::event_type::unreachable:
      writer.put("the peer did not answer; ").put(why_no_answer);
      return;
    case cm::event_type::address_error: explain_address_error(writer, event); return;
    case cm::event_type::route_error:
      writer.put(
          "the path was not found; possible causes: the subnet manager does not answer, or it has "
          "no path to the address");
      return;
    case cm::event_type::multicast_error:
      writer.put("possible causes: the join failed, or an earlier membership is lost");
      return;
    case cm::event_type::disconnected:
      writer.put(event.status() == 0 ? "the peer disconnected meanwhile"
                                     : "the peer did not answer the disconnect request");
      return;
    case cm::event_type::device_removal: writer.put(device_is_gone); return;
    default: writer.put("the answer was: ").put(event.type());
  }
}

ADVERB_FUNC void report_on(cm::identifier_ref id, int code, const char* verb, on_failure policy,
                           std::string_view why) {
  policy.report(code, verb, [&](failure_description& description) {
    on_object<identifier_traits>(id.native_handle())(description);
    description.explain(why);
  });
}

ADVERB_FUNC bool is_about(cm::identifier_ref id, const cm::event& happened, const char* verb,
                          on_failure policy) {
  if (!check_present(policy, verb, id.native_handle())) return false;
  if (happened.identifier() == id) return true;
  report_on(id, EINVAL, verb, policy, "the event belongs to another identifier");
  return false;
}

ADVERB_FUNC void report_event(cm::identifier_ref id, const cm::event& happened, const char* verb,
                              on_failure policy) {
  policy.report(errno_of(happened), verb, [&](failure_description& description) {
    on_object<identifier_traits>(id.native_handle())(description);
    description.explain([&](text_writer& writer) {
      // A peer that requested the connection does not reject it; it is gone.
      if (std::string_view{verb} == "rdma_accept" && happened.is_rejection())
        writer.put(peer_gave_up).put(": ").put(happened.reason());
      else
        explain_event(writer, happened);
    });
  });
}

ADVERB_FUNC cm_session& cm_session::operator=(cm_session&& other) noexcept {
  id = std::move(other.id);
  channel = std::move(other.channel);
  under_way = std::exchange(other.under_way, false);
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

ADVERB_FUNC bool cm_session::can_wait(const char* verb, on_failure policy) const {
  if (!check_present(policy, verb, id.native_handle())) return false;
  if (channel) return true;
  report_on(id, EINVAL, verb, policy,
            "its events arrive on a shared channel: take them there and pass them on");
  return false;
}

ADVERB_FUNC std::optional<cm::event> cm_session::next_event(const char* verb,
                                                            on_failure policy) const {
  if (!can_wait(verb, policy)) return std::nullopt;
  return channel.next_event(policy);
}

ADVERB_FUNC bool cm_session::is_started(const char* verb, on_failure policy) const {
  if (!check_present(policy, verb, id.native_handle())) return false;
  if (!under_way) report_on(id, EINVAL, verb, policy, "no step was started");
  return under_way;
}

ADVERB_FUNC void cm_session::report_wait(wait_end end, timeout limit, const char* verb,
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
