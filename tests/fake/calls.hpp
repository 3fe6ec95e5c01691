// SPDX-License-Identifier: MIT
// What the fake records: one type for each function of the C API, with the arguments it was given.
#pragma once

#include <any>
#include <string>
#include <typeindex>
#include <utility>

#include "calls/completion.hpp"
#include "calls/device.hpp"
#include "calls/domain.hpp"
#include "calls/extended_completion.hpp"
#include "calls/memory.hpp"
#include "calls/queue.hpp"
#include "calls/registration.hpp"
#include "calls/shared_receive_queue.hpp"
#include "calls/steering.hpp"
#include "calls/window.hpp"
#include "calls/work_queue.hpp"

namespace fake {

/// A call of any function: one of the types in `called`.
class call {
 public:
  template <class Call>
  call(Call what) : line_{line_of(what)}, what_{std::move(what)} {}

  /// Which function it was.
  [[nodiscard]] std::type_index kind() const { return what_.type(); }
  /// The call, when it was one of this function, or null.
  template <class Call>
  [[nodiscard]] const Call* as() const {
    return std::any_cast<Call>(&what_);
  }
  /// The call as text: render.hpp says how it reads.
  [[nodiscard]] const std::string& line() const { return line_; }

 private:
  template <class Call>
  static std::string line_of(const Call& what) {
    if constexpr (requires { what.line(); })
      return what.line();
    else
      return std::string{typeid(Call).name()} + " (without a rendering)";
  }

  std::string line_;
  std::any what_;
};

}  // namespace fake
