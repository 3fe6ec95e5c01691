// SPDX-License-Identifier: MIT
// Flow actions: operations of a device on the packets of flows, besides steering.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string_view>
#include <system_error>

#include <infiniband/verbs.h>

#include <adverb/core/detail/problem_list.hpp>
#include <adverb/device/context.hpp>
#include <adverb/fwd.hpp>
#include <adverb/steering/esp.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

struct flow_action_traits {
  using native_type = ibv_flow_action;
  static constexpr std::string_view destroy_verb = "ibv_destroy_flow_action";
  static int destroy(ibv_flow_action* action) noexcept { return ibv_destroy_flow_action(action); }
  template <class Function>
  static void for_each_parent(const ibv_flow_action* action, const Function& function) noexcept {
    function(action->context);
  }
  static void describe(const ibv_flow_action* action, text_writer& writer) noexcept {
    put_device(writer, action->context).put(" flow action");
  }
};

/// Checks the headers around ESP. Fails with EINVAL if one is not a header or has a value out of
/// range. Returns true on success.
inline bool check_tunnel_headers(on_failure policy, std::string_view verb,
                                 const esp_changes& asked) {
  if (!asked.attributes || !asked.attributes->full_offload) return true;
  for (const flow_specification& header : asked.attributes->full_offload->tunnel_headers) {
    const auto out_of_range = range_problem(header.notes());
    const std::string_view problem = header.values().empty()
                                         ? "a header around ESP is a match, not an action"
                                         : out_of_range.view();
    if (problem.empty()) continue;
    policy.report(EINVAL, verb,
                  [&](failure_description& description) { description.explain(problem); });
    return false;
  }
  return true;
}

/// Explains why an ESP action was refused, if the cause is visible.
inline void explain_esp(failure_description& description, const esp_changes& asked) {
  if (description.code() != std::errc::invalid_argument) return;
  description.explain([&](text_writer& writer) {
    problem_list problems{writer};
    const std::uint32_t length = asked.integrity_check_length;
    if (asked.key && length != 8 && length != 12 && length != 16)
      problems.add([&](text_writer& out) {
        out.put("integrity_check_length is ").decimal(length).put(": it can be 8, 12 or 16");
      });
    if (!asked.attributes) return;
    const esp_attributes& attributes = *asked.attributes;
    const bool full = attributes.full_offload.has_value();
    if (attributes.new_sequence_window && !asked.extended_sequence_number)
      problems.add("new_sequence_window goes with an extended_sequence_number");
    if (attributes.new_sequence_window && full)
      problems.add("new_sequence_window is for inline crypto, not for full offload");
    if (full &&
        (attributes.mode == esp_mode::tunnel) == attributes.full_offload->tunnel_headers.empty())
      problems.add(attributes.mode == esp_mode::tunnel
                       ? "full offload in tunnel mode needs tunnel_headers"
                       : "tunnel_headers are for tunnel mode");
  });
}

}  // namespace detail

namespace detail {

/// The operations on a flow action, owned or referenced.
class flow_action_base : public handle_base<ibv_flow_action> {
 public:
  using handle_base::handle_base;

  [[nodiscard]] context_ref context() const noexcept { return native_handle()->context; }

  /// Modifies the action for all flows that use it. On failure it is unchanged.
  /// Wraps: ibv_modify_flow_action_esp(3).
  void modify(const esp_changes& changes, on_failure policy = throwing{}) const {
    constexpr std::string_view verb = "ibv_modify_flow_action_esp";
    if (!detail::check_present(policy, verb, native_handle()) ||
        !detail::check_tunnel_headers(policy, verb, changes))
      return;
    detail::native_esp native{changes};
    const int result = ibv_modify_flow_action_esp(native_handle(), native.get());
    detail::check_returned(policy, verb, result, [&](failure_description& description) {
      detail::on_object<detail::flow_action_traits>(native_handle())(description);
      detail::explain_esp(description, changes);
    });
  }
};

}  // namespace detail

/// A reference to a flow action that another object keeps alive. As cheap as a pointer; pass it by
/// value.
class flow_action_ref : public detail::reference_to<detail::flow_action_base> {
 public:
  using reference_to::reference_to;
};

/// A flow action: encrypts or decrypts ESP packets for flows that name it in an `action_handle`. It
/// must outlive these flows. Only one thread at a time may modify it.
class [[nodiscard]] flow_action
    : public detail::owner<detail::flow_action_base, detail::flow_action_traits> {
 public:
  using owner::owner;

  /// Creates an ESP action. Wraps: ibv_create_flow_action_esp(3).
  flow_action(context_ref context, const esp_options& options, on_failure policy = throwing{})
      : flow_action{make(context,
                         {.key = options.key,
                          .integrity_check_length = options.integrity_check_length,
                          .attributes = options.attributes,
                          .extended_sequence_number = options.extended_sequence_number},
                         policy)} {}

 private:
  [[nodiscard]] static flow_action make(context_ref context, const esp_changes& asked,
                                        on_failure policy) {
    constexpr std::string_view verb = "ibv_create_flow_action_esp";
    if (!detail::check_tunnel_headers(policy, verb, asked)) return {};
    detail::native_esp native{asked};
    return detail::make_handle<flow_action>(
        policy, verb,
        [&] { return ibv_create_flow_action_esp(context.native_handle(), native.get()); },
        [&](failure_description& description) {
          detail::on_device(context.native_handle())(description);
          detail::explain_esp(description, asked);
        },
        context);
  }
};

}  // namespace adverb::inline ADVERB_ABI
