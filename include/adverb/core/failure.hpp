// SPDX-License-Identifier: MIT
// A failure as a value of fixed size: the verb, the object, the errno and the explanation.
#pragma once

#include <cstddef>
#include <cstdio>
#include <initializer_list>
#include <string_view>
#include <system_error>
#include <type_traits>

#include <adverb/core/text.hpp>
#include <adverb/version.hpp>

struct ibv_context;

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// A reference to any callable that takes an Argument. A function that takes one is compiled once,
/// not once for each type of callable. Passed by value; the callable must outlive it.
template <class Argument>
class callable_ref {
 public:
  // Not std::invocable, which takes longer to compile than the rest of this header.
  template <class Callable>
    requires requires(const Callable& callable, Argument argument) { callable(argument); }
  callable_ref(const Callable& callable) noexcept
      : object_{&callable}, call_{function_of<Callable>()} {}

  void operator()(Argument argument) const { call_(object_, argument); }

 private:
  template <class Callable>
  static void call(const void* object, Argument argument) {
    (*static_cast<const Callable*>(object))(argument);
  }
  // A reference as the argument means a description of a failure, which is cold; a value means a
  // visit, which may be hot.
  template <class Callable>
  [[gnu::cold]] static void describe(const void* object, Argument argument) {
    (*static_cast<const Callable*>(object))(argument);
  }
  template <class Callable>
  static constexpr auto function_of() noexcept {
    if constexpr (std::is_lvalue_reference_v<Argument>)
      return &describe<Callable>;
    else
      return &call<Callable>;
  }

  const void* object_;
  void (*call_)(const void*, Argument);
};

/// Writes problems one after the other, separated by "; ".
class problem_list {
 public:
  explicit problem_list(text_writer& writer) noexcept : writer_{writer} {}

  [[nodiscard]] bool empty() const noexcept { return empty_; }

  /// Adds a problem: calls `write` with the text_writer.
  [[gnu::cold]] void add(callable_ref<text_writer&> write);
  [[gnu::cold]] void add(std::string_view problem);
  /// Adds a sentence with its arguments; see text_writer.
  [[gnu::cold]] void add(const char* sentence, std::initializer_list<text_argument> arguments);

 private:
  text_writer& writer_;
  bool empty_ = true;
};

/// Returns the name of an errno that the verbs libraries and the kernel use, or an empty text.
[[nodiscard, gnu::cold]] std::string_view errno_name(int number) noexcept;

/// Returns `code == condition`: a comparison on the spot is four times as large as this call.
[[nodiscard, gnu::cold]] bool is_code(const std::error_code& code, std::errc condition) noexcept;

/// Returns whether an error means that the device or the kernel lacks a feature.
[[nodiscard, gnu::cold]] bool is_unsupported(const std::error_code& code) noexcept;

}  // namespace detail

class failure_description;
class on_failure;

/// The failure of one call: self-contained, trivially copyable, without allocation. Pass one as the
/// last argument of an operation that can fail, and test it afterwards:
///
///     adverb::failure why;
///     adverb::protection_domain domain{context, why};
///     if (why) log(why.what());
class failure {
 public:
  /// Makes an object that holds no failure.
  failure() noexcept { message_[0] = '\0'; }

  /// Makes a failure of `verb`. Calls `describe` with a failure_description to fill in the rest.
  [[gnu::cold]] failure(std::error_code code, const char* verb,
                        detail::callable_ref<failure_description&> describe);

  /// Returns true if something failed.
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(code_); }

  /// Returns the error code; clear if nothing failed.
  [[nodiscard]] const std::error_code& code() const noexcept { return code_; }
  /// Returns the C function that failed, for instance "ibv_modify_qp".
  [[nodiscard]] std::string_view verb() const noexcept ADVERB_LIFETIME_BOUND { return part(verb_); }
  /// Returns the object of the failed call, for instance "rxe0 qp 0x11"; may be empty.
  [[nodiscard]] std::string_view object() const noexcept ADVERB_LIFETIME_BOUND {
    return part(object_);
  }
  /// Returns the reason if the library can determine it; otherwise an empty text.
  [[nodiscard]] std::string_view explanation() const noexcept ADVERB_LIFETIME_BOUND {
    return part(explanation_);
  }
  /// Returns the message: "verb detail on object: ERRNO (message); explanation". Null-terminated.
  [[nodiscard]] const char* what() const noexcept ADVERB_LIFETIME_BOUND { return message_; }

 private:
  friend class failure_description;
  friend class on_failure;

  struct range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  [[nodiscard]] std::string_view part(range where) const noexcept;

  // The first member: on_failure relies on that.
  std::error_code code_;
  range verb_;
  range object_;
  range explanation_;
  // Only the first byte is initialized until something fails.
  char message_[1024];
};

/// Fills in a failure. Add the parts in the order of the message: detail, object, explanation. Each
/// part is optional.
class failure_description {
 public:
  /// Starts the message of a failed verb in `target`.
  [[gnu::cold]] failure_description(failure& target, const char* verb) noexcept;

  /// Returns the error code of the failure.
  [[nodiscard]] const std::error_code& code() const noexcept { return failure_.code_; }

  /// Adds a detail of the call, for instance "INIT->RTR".
  [[gnu::cold]] failure_description& detail(std::string_view text) noexcept;

  /// Names the object: calls `write` with a text_writer.
  [[gnu::cold]] failure_description& object(detail::callable_ref<text_writer&> write) noexcept;
  /// The same, with a sentence and its arguments; see text_writer.
  [[gnu::cold]] failure_description& object(
      const char* sentence, std::initializer_list<text_argument> arguments) noexcept;
  /// Gives the opened device of the object; may be null. If the code is EIO and the device is dead,
  /// that is the explanation.
  failure_description& device(const ibv_context* opened) noexcept {
    device_ = opened;
    return *this;
  }

  /// Adds the reason: calls `write` with a text_writer. Adds nothing if `write` writes nothing.
  [[gnu::cold]] failure_description& explain(detail::callable_ref<text_writer&> write) noexcept;
  /// The same, with a sentence and its arguments; see text_writer.
  [[gnu::cold]] failure_description& explain(
      const char* sentence, std::initializer_list<text_argument> arguments = {}) noexcept;
  [[gnu::cold]] failure_description& explain(std::string_view reason) noexcept {
    return explain("{}", {reason});
  }

  /// Completes the message. If there is no explanation, explains an unsupported verb.
  [[gnu::cold]] void finish() noexcept;

 private:
  /// Writes the reason of the loader if a function of the C libraries is missing, or that the
  /// device is dead; otherwise calls `otherwise`.
  [[gnu::cold]] void write_reason(text_writer& writer,
                                  detail::callable_ref<text_writer&> otherwise) const;

  /// Explains a missing feature: "rxe0 has no device memory".
  [[gnu::cold]] void explain_missing_feature() noexcept;

  failure::range put_range(std::string_view text) noexcept;

  [[gnu::cold]] void put_code() noexcept;

  /// Explains an errno that has one cause, whatever the call was: a table of files is full.
  [[gnu::cold]] void explain_full_table() noexcept;

  /// Writes an errno: "EINVAL (Invalid argument)".
  [[gnu::cold]] void put_errno(int number) noexcept;

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
  const ibv_context* device_ = nullptr;
  bool code_written_ = false;
};

/// A function that receives failures that cannot be returned to a caller. These are a failed
/// destroy in a destructor and a parent destroyed before its children. It also receives a failed
/// hardening check and, without exceptions, every failure of an operation without an error policy;
/// the program aborts after either. Several threads may call the hook at once.
using failure_hook = void (*)(const failure&) noexcept;

/// The default hook: prints one line to standard error.
inline void print_failure(const failure& why) noexcept {
  std::fprintf(stderr, "adverb: %s\n", why.what());
}

namespace detail {
// One for the whole program, even across shared objects built with hidden visibility. A plain
// pointer for the builtins, because <atomic> would be a fifteenth of the library's include cost.
[[gnu::visibility("default")]] inline failure_hook current_failure_hook = &print_failure;
}  // namespace detail

/// Replaces the failure hook of the program and returns the previous one. Null restores
/// `print_failure`. Thread safe.
inline failure_hook set_failure_hook(failure_hook hook) noexcept {
  return __atomic_exchange_n(&detail::current_failure_hook, hook == nullptr ? &print_failure : hook,
                             __ATOMIC_ACQ_REL);
}

namespace detail {
inline void tell_failure_hook(const failure& why) noexcept {
  __atomic_load_n(&current_failure_hook, __ATOMIC_ACQUIRE)(why);
}
}  // namespace detail

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/core/impl/failure.ipp>
#endif
