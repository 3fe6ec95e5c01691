// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>

#include <adverb/core/detail/missing_feature.hpp>
#include <adverb/core/failure.hpp>

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC std::string_view failure::part(range where) const noexcept {
  return std::string_view{message_}.substr(where.begin, where.end - where.begin);
}

ADVERB_FUNC failure_description& failure_description::object(
    detail::callable_ref<text_writer&> write) noexcept {
  writer_.put(" on ");
  const std::size_t begin = writer_.size();
  write(writer_);
  failure_.object_ = {begin, writer_.size()};
  return *this;
}

ADVERB_FUNC failure_description& failure_description::explain(
    detail::callable_ref<text_writer&> write) noexcept {
  put_code();
  const adverb::static_string<640> why{
      [&](text_writer& writer) { attempt([&] { write(writer); }); }};
  if (why.view().empty()) return *this;
  writer_.put("; ");
  failure_.explanation_ = put_range(why);
  return *this;
}

ADVERB_FUNC void failure_description::explain_missing_feature() noexcept {
  const std::string_view feature = detail::feature_of(failure_.verb());
  if (feature.empty() || !detail::is_unsupported(failure_.code_)) return;
  const std::string_view device =
      failure_.object().substr(0, failure_.object().find_first_of(": "));
  const adverb::static_string<160> why{[&](text_writer& writer) {
    writer.put(device.empty() ? "the device" : device).put(" has no ").put(feature);
  }};
  writer_.put("; ");
  failure_.explanation_ = put_range(why);
}

ADVERB_FUNC failure::range failure_description::put_range(std::string_view text) noexcept {
  const std::size_t begin = writer_.size();
  writer_.put(text);
  return {begin, writer_.size()};
}

ADVERB_FUNC void failure_description::put_code() noexcept {
  if (code_written_) return;
  code_written_ = true;
  writer_.put(": ");
  const std::error_code& code = failure_.code_;
  if (code.category() == std::generic_category())
    put_errno(code.value());
  else
    attempt([&] { writer_.put(code.message()); });
}

ADVERB_FUNC void failure_description::put_errno(int number) noexcept {
  const std::string_view name = detail::errno_name(number);
  char buffer[128] = {};
  const std::string_view message = message_in(buffer, ::strerror_r(number, buffer, sizeof buffer));
  if (name.empty())
    writer_.put(message);
  else
    writer_.put(name).put(" (").put(message).put(")");
}

}  // namespace adverb::inline ADVERB_ABI
