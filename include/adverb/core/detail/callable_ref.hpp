// SPDX-License-Identifier: MIT
// How cold code takes a callable.
#pragma once

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Refers to what can be called with an Argument, a lambda for instance, whatever its type: what
/// takes one is compiled once, and not once for each callable. Passed by value; the callable has to
/// outlive it.
template <class Argument>
class callable_ref {
 public:
  // Not std::invocable, which takes longer to compile than all the rest of this.
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
