// SPDX-License-Identifier: MIT
// A failure as a value of fixed size: the verb, the object, the errno and the explanation.
#pragma once

#include <cerrno>
#include <cstddef>
#include <string_view>
#include <system_error>

#include <adverb/core/detail/callable_ref.hpp>
#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Returns the name of an errno that the verbs libraries and the kernel use, or an empty text.
[[nodiscard]] constexpr std::string_view errno_name(int number) noexcept {
  switch (number) {
    case EPERM: return "EPERM";
    case ENOENT: return "ENOENT";
    case EINTR: return "EINTR";
    case EIO: return "EIO";
    case ENXIO: return "ENXIO";
    case E2BIG: return "E2BIG";
    case EBADF: return "EBADF";
    case EAGAIN: return "EAGAIN";
    case ENOMEM: return "ENOMEM";
    case EACCES: return "EACCES";
    case EFAULT: return "EFAULT";
    case EBUSY: return "EBUSY";
    case EEXIST: return "EEXIST";
    case ENODEV: return "ENODEV";
    case EINVAL: return "EINVAL";
    case ENFILE: return "ENFILE";
    case EMFILE: return "EMFILE";
    case EFBIG: return "EFBIG";
    case ENOSPC: return "ENOSPC";
    case EPIPE: return "EPIPE";
    case ERANGE: return "ERANGE";
    case ENOSYS: return "ENOSYS";
    case ENODATA: return "ENODATA";
    case EOVERFLOW: return "EOVERFLOW";
    case EBADMSG: return "EBADMSG";
    case EPROTO: return "EPROTO";
    case EPROTONOSUPPORT: return "EPROTONOSUPPORT";
    case EOPNOTSUPP: return "EOPNOTSUPP";
    case EADDRINUSE: return "EADDRINUSE";
    case EADDRNOTAVAIL: return "EADDRNOTAVAIL";
    case ENETDOWN: return "ENETDOWN";
    case ENETUNREACH: return "ENETUNREACH";
    case ECONNABORTED: return "ECONNABORTED";
    case ECONNRESET: return "ECONNRESET";
    case ENOBUFS: return "ENOBUFS";
    case ETIMEDOUT: return "ETIMEDOUT";
    case ECONNREFUSED: return "ECONNREFUSED";
    case EHOSTUNREACH: return "EHOSTUNREACH";
    case EALREADY: return "EALREADY";
    case EMSGSIZE: return "EMSGSIZE";
    default: return {};
  }
}

}  // namespace detail

class failure_description;

/// The failure of one call: self-contained, trivially copyable, without allocation. Pass one as the
/// last argument of an operation that can fail, and test it afterwards:
///
///     adverb::failure why;
///     adverb::protection_domain domain{context, why};
///     if (why) log(why.what());
class failure {
 public:
  /// Makes an object that holds no failure.
  failure() noexcept = default;

  /// Makes a failure of `verb`. Calls `describe` with a failure_description to fill in the rest.
  failure(std::error_code code, std::string_view verb,
          detail::callable_ref<failure_description&> describe);

  /// Returns true if something failed.
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(code_); }

  [[nodiscard]] const std::error_code& code() const noexcept { return code_; }
  /// Returns the C function that failed, for instance "ibv_modify_qp".
  [[nodiscard]] std::string_view verb() const noexcept { return part(verb_); }
  /// Returns the object of the failed call, for instance "rxe0 qp 0x11"; may be empty.
  [[nodiscard]] std::string_view object() const noexcept { return part(object_); }
  /// Returns the reason if the library can determine it; otherwise an empty text.
  [[nodiscard]] std::string_view explanation() const noexcept { return part(explanation_); }
  /// Returns the message: "verb detail on object: ERRNO (message); explanation". Null-terminated.
  [[nodiscard]] const char* what() const noexcept { return message_; }

 private:
  friend class failure_description;

  struct range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  [[nodiscard]] std::string_view part(range where) const noexcept;

  std::error_code code_;
  range verb_;
  range object_;
  range explanation_;
  char message_[1024] = {};
};

/// Fills in a failure. Add the parts in the order of the message: detail, object, explanation. Each
/// part is optional.
class failure_description {
 public:
  failure_description(failure& target, std::string_view verb) noexcept
      : failure_{target}, writer_{target.message_, sizeof target.message_ - 1} {
    failure_.verb_ = put_range(verb);
  }

  [[nodiscard]] const std::error_code& code() const noexcept { return failure_.code_; }

  /// Adds a detail of the call, for instance "INIT->RTR".
  failure_description& detail(std::string_view text) noexcept {
    writer_.put(" ").put(text);
    return *this;
  }

  /// Names the object: calls `write` with a text_writer.
  failure_description& object(detail::callable_ref<text_writer&> write) noexcept;

  /// Adds the reason: calls `write` with a text_writer. Adds nothing if `write` writes nothing.
  failure_description& explain(detail::callable_ref<text_writer&> write) noexcept;
  failure_description& explain(std::string_view text) noexcept {
    return explain([&](text_writer& writer) { writer.put(text); });
  }

  /// Completes the message. If there is no explanation, explains an unsupported verb.
  void finish() noexcept {
    put_code();
    if (failure_.explanation().empty()) explain_missing_feature();
  }

 private:
  /// Explains a missing feature: "rxe0 has no device memory".
  void explain_missing_feature() noexcept;

  failure::range put_range(std::string_view text) noexcept;

  void put_code() noexcept;

  /// Writes an errno: "EINVAL (Invalid argument)".
  void put_errno(int number) noexcept;

  // strerror_r has two forms: GNU's returns the message, POSIX's writes it to the buffer.
  static std::string_view message_in(const char*, const char* message) noexcept { return message; }
  static std::string_view message_in(const char* buffer, int) noexcept { return buffer; }

  /// Calls a function that may allocate. If memory runs out, the failure is reported with less
  /// text.
  template <class Function>
  static void attempt(const Function& function) noexcept {
#if defined(__cpp_exceptions)
    try {
      function();
    } catch (...) {
    }
#else
    function();
#endif
  }

  failure& failure_;
  text_writer writer_;
  bool code_written_ = false;
};

inline failure::failure(std::error_code code, std::string_view verb,
                        detail::callable_ref<failure_description&> describe)
    : code_{code} {
  failure_description description{*this, verb};
  describe(description);
  description.finish();
}

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/core/impl/failure.ipp>
#endif
