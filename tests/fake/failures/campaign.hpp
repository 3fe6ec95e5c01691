// SPDX-License-Identifier: MIT
// Paths through the library of which every C call is made to fail, one after the other, with each
// errno of errnos.hpp.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "cm/cm_bench.hpp"

namespace campaign {

/// A fresh fake, on which a path makes objects and calls.
class place : public cm_bench {
 public:
  /// A path calls this when it is through; then its objects are destroyed.
  void arrived() { lines_at_arrival_ = machine.log().size(); }
  [[nodiscard]] std::size_t lines_at_arrival() const { return lines_at_arrival_; }

 private:
  std::size_t lines_at_arrival_ = 0;
};

/// Makes objects, uses them, and calls `arrived`. An error is thrown.
using path = void (*)(place& here);

/// Names C functions.
using functions = std::span<const std::string_view>;

/// Follows the path once without a failure, then once for each call that can fail and each errno of
/// its function. Checks the error, that all that was made is destroyed once and in reverse order,
/// and that nothing else is called. `restoring` are the functions that may be called after a
/// failure in order to restore an object.
void fail_each_call(path follow, functions restoring = {});

/// Follows the path once for each destroy that can fail and each errno of a destroy. Checks that an
/// object that fails to be destroyed stays with those that it is made of, each with one report to
/// the failure hook, and that objects whose device has gone (EIO) are taken for destroyed.
void fail_each_destroy(path follow);

}  // namespace campaign
