// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>

#include <adverb/core/detail/dead_device.hpp>
#include <adverb/core/detail/missing_feature.hpp>
#include <adverb/core/failure.hpp>

/// Writes the reason why a function of the C libraries could not be called to `text`, and returns
/// its length. <adverb/loader/loader.cpp> defines it; its address is null in other programs.
extern "C" [[gnu::weak]] std::size_t adverb_loader_reason(const char* verb, std::size_t length,
                                                          char* text, std::size_t size);

namespace adverb::inline ADVERB_ABI::detail {

[[gnu::noinline]] ADVERB_FUNC std::string_view errno_name(int number) noexcept {
  static constexpr unsigned char numbers[] = {
      EPERM,        ENOENT,       EINTR,           EIO,        ENXIO,      E2BIG,
      EBADF,        EAGAIN,       ENOMEM,          EACCES,     EFAULT,     EBUSY,
      EEXIST,       ENODEV,       EINVAL,          ENFILE,     EMFILE,     EFBIG,
      ENOSPC,       EPIPE,        ERANGE,          ENOSYS,     ENODATA,    EOVERFLOW,
      EBADMSG,      EPROTO,       EPROTONOSUPPORT, EOPNOTSUPP, EADDRINUSE, EADDRNOTAVAIL,
      ENETDOWN,     ENETUNREACH,  ECONNABORTED,    ECONNRESET, ENOBUFS,    ETIMEDOUT,
      ECONNREFUSED, EHOSTUNREACH, EALREADY,        EMSGSIZE,   ECANCELED};
  constexpr std::string_view names =
      "EPERM|ENOENT|EINTR|EIO|ENXIO|E2BIG|EBADF|EAGAIN|ENOMEM|EACCES|EFAULT|EBUSY|EEXIST|ENODEV|"
      "EINVAL|ENFILE|EMFILE|EFBIG|ENOSPC|EPIPE|ERANGE|ENOSYS|ENODATA|EOVERFLOW|EBADMSG|EPROTO|"
      "EPROTONOSUPPORT|EOPNOTSUPP|EADDRINUSE|EADDRNOTAVAIL|ENETDOWN|ENETUNREACH|ECONNABORTED|"
      "ECONNRESET|ENOBUFS|ETIMEDOUT|ECONNREFUSED|EHOSTUNREACH|EALREADY|EMSGSIZE|"
      "ECANCELED";
  for (std::size_t index = 0; index < sizeof numbers; ++index)
    if (numbers[index] == number) return listed_name(names, index);
  return {};
}

[[gnu::noinline]] ADVERB_FUNC bool is_code(const std::error_code& code,
                                           std::errc condition) noexcept {
  return code == condition;
}

[[gnu::noinline]] ADVERB_FUNC bool is_unsupported(const std::error_code& code) noexcept {
  return is_code(code, std::errc::operation_not_supported) ||
         is_code(code, std::errc::function_not_supported);
}

[[gnu::noinline]] ADVERB_FUNC void problem_list::add(callable_ref<text_writer&> write) {
  writer_.put(empty_ ? "" : "; ");
  empty_ = false;
  write(writer_);
}

[[gnu::noinline]] ADVERB_FUNC void problem_list::add(
    const char* sentence, std::initializer_list<text_argument> arguments) {
  add([&](text_writer& writer) { writer.put(sentence, arguments); });
}

[[gnu::noinline]] ADVERB_FUNC void problem_list::add(std::string_view problem) {
  if (!problem.empty()) add("{}", {problem});
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

[[gnu::noinline]] ADVERB_FUNC failure::failure(std::error_code code, const char* verb,
                                               detail::callable_ref<failure_description&> describe)
    : code_{code}, message_{} {
  failure_description description{*this, verb};
  describe(description);
  description.finish();
}

ADVERB_FUNC failure_description::failure_description(failure& target, const char* verb) noexcept
    : failure_{target}, writer_{target.message_, sizeof target.message_ - 1} {
  failure_.verb_ = put_range(verb);
}

ADVERB_FUNC void failure_description::finish() noexcept {
  put_code();
  if (failure_.explanation().empty()) explain("");
  if (failure_.explanation().empty()) explain_missing_feature();
  if (failure_.explanation().empty()) explain_full_table();
}

ADVERB_FUNC void failure_description::explain_full_table() noexcept {
  if (detail::is_code(failure_.code_, std::errc::too_many_files_open))
    explain("too many files are open in this process: see \"ulimit -n\"");
  else if (detail::is_code(failure_.code_, std::errc::too_many_files_open_in_system))
    explain("too many files are open in the system: see fs.file-max");
}

ADVERB_FUNC std::string_view failure::part(range where) const noexcept {
  return {message_ + where.begin, where.end - where.begin};
}

[[gnu::noinline]] ADVERB_FUNC failure_description& failure_description::detail(
    std::string_view text) noexcept {
  writer_.put(" ").put(text);
  return *this;
}

[[gnu::noinline]] ADVERB_FUNC failure_description& failure_description::object(
    const char* sentence, std::initializer_list<text_argument> arguments) noexcept {
  return object([&](text_writer& writer) { writer.put(sentence, arguments); });
}

[[gnu::noinline]] ADVERB_FUNC failure_description& failure_description::object(
    detail::callable_ref<text_writer&> write) noexcept {
  writer_.put(" on ");
  const std::size_t begin = writer_.size();
  write(writer_);
  failure_.object_ = {begin, writer_.size()};
  return *this;
}

[[gnu::noinline]] ADVERB_FUNC failure_description& failure_description::explain(
    const char* sentence, std::initializer_list<text_argument> arguments) noexcept {
  return explain([&](text_writer& writer) { writer.put(sentence, arguments); });
}

[[gnu::noinline]] ADVERB_FUNC failure_description& failure_description::explain(
    detail::callable_ref<text_writer&> write) noexcept {
  put_code();
  const adverb::static_string<640> why{
      [&](text_writer& writer) { attempt([&] { write_reason(writer, write); }); }};
  if (why.view().empty()) return *this;
  writer_.put("; ");
  failure_.explanation_ = put_range(why);
  return *this;
}

ADVERB_FUNC void failure_description::write_reason(
    text_writer& writer, detail::callable_ref<text_writer&> otherwise) const {
  // See docs/decisions.md, "A program can load the C libraries itself".
  if (&adverb_loader_reason != nullptr &&
      detail::is_code(failure_.code_, std::errc::function_not_supported)) {
    char text[512];
    const std::string_view verb = failure_.verb();
    const std::size_t length = adverb_loader_reason(verb.data(), verb.size(), text, sizeof text);
    if (length != 0) {
      writer.put(std::string_view{text, length});
      return;
    }
  }
  if (device_ != nullptr && detail::is_code(failure_.code_, std::errc::io_error)) {
    detail::explain_dead_device(writer, device_);
    if (writer.size() != 0) return;
  }
  otherwise(writer);
}

ADVERB_FUNC void failure_description::explain_missing_feature() noexcept {
  const std::string_view feature = detail::feature_of(failure_.verb());
  if (feature.empty() || !detail::is_unsupported(failure_.code_)) return;
  // The name of the device comes first.
  const std::string_view object = failure_.object();
  std::size_t end = 0;
  while (end < object.size() && object[end] != ':' && object[end] != ' ') ++end;
  const std::string_view device{object.data(), end};
  explain("{} has no {}", {device.empty() ? "the device" : device, feature});
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
