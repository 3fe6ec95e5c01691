// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>

#include <adverb/device/context.hpp>
#include <adverb/queue/completion_counter.hpp>
#include <adverb/request/detail/queue_traits.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Calls a function of a counter that returns 0 or an errno.
template <class Call>
void call_counter(const completion_counter_base& counter, on_failure policy, const char* verb,
                  const Call& call) {
  if (!check_present(policy, verb, counter.native_handle())) return;
  const auto describe = on_object<completion_counter_traits>(counter.native_handle());
  call_if_declared<bool>(
      policy, verb, describe,
      [&](auto* native)
        requires std::invocable<const Call&, decltype(native)>
      { return check_returned(policy, verb, call(native), describe); },
      counter.native_handle());
}

ADVERB_FUNC std::uint64_t completion_counter_base::value(on_failure policy) const {
  std::uint64_t result = 0;
  call_counter(
      *this, policy, "ibv_read_comp_cntr",
      [&](auto* native)
        requires requires(std::uint64_t any) { ibv_read_comp_cntr(native, &any); }
      { return ibv_read_comp_cntr(native, &result); });
  return result;
}

ADVERB_FUNC std::uint64_t completion_counter_base::errors(on_failure policy) const {
  std::uint64_t result = 0;
  call_counter(
      *this, policy, "ibv_read_err_comp_cntr",
      [&](auto* native)
        requires requires(std::uint64_t any) { ibv_read_err_comp_cntr(native, &any); }
      { return ibv_read_err_comp_cntr(native, &result); });
  return result;
}

ADVERB_FUNC void completion_counter_base::set(std::uint64_t value, on_failure policy) const {
  call_counter(
      *this, policy, "ibv_set_comp_cntr",
      [&](auto* native)
        requires requires { ibv_set_comp_cntr(native, 0U); }
      { return ibv_set_comp_cntr(native, value); });
}

ADVERB_FUNC void completion_counter_base::set_errors(std::uint64_t value, on_failure policy) const {
  call_counter(
      *this, policy, "ibv_set_err_comp_cntr",
      [&](auto* native)
        requires requires { ibv_set_err_comp_cntr(native, 0U); }
      { return ibv_set_err_comp_cntr(native, value); });
}

ADVERB_FUNC void completion_counter_base::add(std::uint64_t amount, on_failure policy) const {
  call_counter(
      *this, policy, "ibv_inc_comp_cntr",
      [&](auto* native)
        requires requires { ibv_inc_comp_cntr(native, 0U); }
      { return ibv_inc_comp_cntr(native, amount); });
}

ADVERB_FUNC void completion_counter_base::add_errors(std::uint64_t amount,
                                                     on_failure policy) const {
  call_counter(
      *this, policy, "ibv_inc_err_comp_cntr",
      [&](auto* native)
        requires requires { ibv_inc_err_comp_cntr(native, 0U); }
      { return ibv_inc_err_comp_cntr(native, amount); });
}

ADVERB_FUNC void completion_counter_base::attach_to(ibv_qp* pair, counted_operations operations,
                                                    on_failure policy) const {
  constexpr const char* verb = "ibv_qp_attach_comp_cntr";
  if (!check_present(policy, verb, native_handle()) || !check_present(policy, verb, pair)) return;
  const auto describe = [&](failure_description& description) {
    on_object<queue_pair_traits>(pair)(description);
    description.explain([&](text_writer& writer) {
      problem_list problems{writer};
      if (context_of(native_handle()) != pair->context)
        problems.add("the counter belongs to another context");
      if (is_code(description.code(), std::errc::device_or_resource_busy))
        problems.add("the pair counts one of the operations in another counter");
      if (is_code(description.code(), std::errc::invalid_argument) &&
          pair->state != IBV_QPS_RESET && pair->state != IBV_QPS_INIT)
        problems.add("the pair is neither in RESET nor in INIT");
    });
  };
  call_if_declared<bool>(
      policy, verb, describe,
      [&]<class Attributes>(auto* native, Attributes*)
        requires requires(ibv_qp* any, Attributes attributes) {
          ibv_qp_attach_comp_cntr(any, native, &attributes);
        }
      {
        Attributes attributes{};
        attributes.op_mask = operations.bits();
        return check_returned(policy, verb, ibv_qp_attach_comp_cntr(pair, native, &attributes),
                              describe);
      },
      native_handle(), static_cast<ibv_qp_attach_comp_cntr_attr*>(nullptr));
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC completion_counter_limits query_completion_counters(context_ref context,
                                                                on_failure policy) {
  constexpr const char* verb = "ibv_query_comp_cntr_caps";
  if (!detail::check_present(policy, verb, context.native_handle())) return {};
  const auto describe = detail::on_device(context.native_handle());
  return detail::call_if_declared<completion_counter_limits>(
      policy, verb, describe,
      [&]<class Limits>(auto* native, Limits*)
        requires requires(Limits limits) { ibv_query_comp_cntr_caps(native, &limits); }
      {
        Limits limits{};
        if (!detail::check_returned(policy, verb, ibv_query_comp_cntr_caps(native, &limits),
                                    describe))
          return completion_counter_limits{};
        return completion_counter_limits{
            .max_value = limits.max_value,
            .max_counters = limits.max_counters,
            .operations = counted_operations::from_bits(limits.supported_qp_attach_ops)};
      },
      context.native_handle(), static_cast<ibv_comp_cntr_caps*>(nullptr));
}

ADVERB_FUNC ibv_comp_cntr* completion_counter::make(context_ref context, counted_completions what,
                                                    on_failure policy) {
  constexpr const char* verb = "ibv_create_comp_cntr";
  if (!detail::check_present(policy, verb, context.native_handle())) return nullptr;
  const auto describe = detail::on_device(context.native_handle());
  return detail::call_if_declared<ibv_comp_cntr*>(
      policy, verb, describe,
      [&]<class Attributes>(auto* native, Attributes*)
        requires requires(Attributes attributes) { ibv_create_comp_cntr(native, &attributes); }
      {
        Attributes attributes{};
        attributes.type = static_cast<decltype(attributes.type)>(what);
        return detail::check_pointer(
            policy, verb, [&] { return ibv_create_comp_cntr(native, &attributes); }, describe);
      },
      context.native_handle(), static_cast<ibv_comp_cntr_init_attr*>(nullptr));
}

}  // namespace adverb::inline ADVERB_ABI
