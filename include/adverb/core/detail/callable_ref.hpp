// SPDX-License-Identifier: MIT
// A reference to a callable, for cold code.
#pragma once

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// A reference to any callable that takes an Argument. A function that takes one is compiled once,
/// not once for each type of callable. Passed by value; the callable must outlive it.
template <class Argument>
class callable_ref {
 public:
  // Not std::invocable, which takes longer to compile than the rest of this header.
  template <class Callable>
    requires requires(const Callable& callable, Argument argument) { callable(argument); }
  callable_ref(const Callable& callable) noexcept : object_{&callable}, call_{&call<Callable>} {}

  void operator()(Argument argument) const { call_(object_, argument); }

 private:
  template <class Callable>
  static void call(const void* object, Argument argument) {
    (*static_cast<const Callable*>(object))(argument);
  }

  const void* object_;
  void (*call_)(const void*, Argument);
};

}  // namespace adverb::inline ADVERB_ABI::detail
