// SPDX-License-Identifier: MIT
// Names devices in failures, and compares requested values with their limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include <infiniband/verbs.h>

#include <adverb/core/failure.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/device/device_attributes.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Writes "rxe0".
inline text_writer& put_device(text_writer& writer, const ibv_context* context) noexcept {
  return writer.put(context->device->name);
}

/// Names the device in a failure, "rxe0", or the port, "rxe0:1".
[[nodiscard]] inline auto on_device(const ibv_context* context) noexcept {
  return [context](failure_description& description) {
    description.object("{}", {context->device->name}).device(context);
  };
}
[[nodiscard]] inline auto on_port(const ibv_context* context, port_number port) noexcept {
  return [context, port](failure_description& description) {
    description.object("{}:{}", {context->device->name, port}).device(context);
  };
}

/// One row of a table of limits: a requested value, its name in messages, and the accessor of the
/// device's maximum.
struct device_limit {
  const char* name;
  std::uint64_t asked;
  std::uint64_t (*allowed)(const device_attributes& device) noexcept;
};

/// Makes a row. The limit is an accessor of device_attributes, or a member of its result:
///
///     limit<&device_attributes::max_sge>("max_sge", options.max_sge)
///     limit<&device_attributes::tag_matching, &tag_matching_limits::max_tags>("max_tags", tags)
template <auto Accessor>
[[nodiscard]] constexpr device_limit limit(const char* name, std::uint64_t asked) noexcept {
  return {name, asked, [](const device_attributes& device) noexcept -> std::uint64_t {
            return (device.*Accessor)();
          }};
}
template <auto Accessor, auto Member>
[[nodiscard]] constexpr device_limit limit(const char* name, std::uint64_t asked) noexcept {
  return {name, asked, [](const device_attributes& device) noexcept -> std::uint64_t {
            return (device.*Accessor)().*Member;
          }};
}

/// Adds the values over their limits: "max_send_wr is 100000, the device allows 16384".
[[gnu::cold]] void add_exceeded(problem_list& problems, const device_attributes& device,
                                std::initializer_list<device_limit> limits);

/// Adds a part that was created on another device than `context`, or on another opening of it.
[[gnu::cold]] void explain_other_context(problem_list& problems, const char* name,
                                         const ibv_context* of_part, const ibv_context* context);
/// The same for a part of the C API. Skips a null part.
template <class Part>
void explain_other_device(problem_list& problems, const char* name, const Part* part,
                          const ibv_context* context) {
  if (part != nullptr) explain_other_context(problems, name, part->context, context);
}

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/device/impl/explain_device.ipp>
#endif
