// SPDX-License-Identifier: MIT
// Flow actions: operations of a device on the packets of flows, besides steering.
#pragma once

#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/device/context_ref.hpp>
#include <adverb/device/detail/explain_device.hpp>
#include <adverb/fwd.hpp>
#include <adverb/steering/esp.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

struct flow_action_traits {
  using native_type = ibv_flow_action;
  static constexpr const char* destroy_verb = "ibv_destroy_flow_action";
  static int destroy(ibv_flow_action* action) noexcept { return ibv_destroy_flow_action(action); }
  static void list_parents(const ibv_flow_action* action, parent_visitor& parents) noexcept {
    parents.add(action->context);
  }
  static void describe(const ibv_flow_action* action, text_writer& writer) noexcept {
    put_device(writer, action->context).put(" flow action");
  }
};

/// Checks the headers around ESP. Fails with EINVAL if one is not a header or has a value out of
/// range. Returns true on success.
bool check_tunnel_headers(on_failure policy, const char* verb, const esp_changes& asked);

/// Explains why an ESP action was refused, if the cause is visible.
[[gnu::cold]] void explain_esp(failure_description& description, const esp_changes& asked);

/// The operations on a flow action, owned or referenced.
class flow_action_base : public handle_base<ibv_flow_action> {
 public:
  using handle_base::handle_base;

  /// Returns the context that the object belongs to.
  [[nodiscard]] context_ref context() const noexcept { return checked_handle()->context; }

  /// Modifies the action for all flows that use it. On failure it is unchanged.
  /// Wraps: ibv_modify_flow_action_esp(3).
  void modify(const esp_changes& changes, on_failure policy = throwing{}) const;
};

}  // namespace detail

/// A reference to a flow action that another object keeps alive. Pass it by value; it is as cheap
/// as a pointer.
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
                                        on_failure policy);
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/steering/impl/flow_action.ipp>
#endif
