// SPDX-License-Identifier: MIT
// A provider that does nothing, and one that writes down what it is given.
#pragma once

#include <string>
#include <vector>

#include "job.hpp"

namespace provider {

/// Objects whose calls return success at once. The cost of their functions is subtracted from the
/// counts; they call no others.
[[nodiscard]] const overhead::c_objects& idle() noexcept;

/// Objects whose calls write down what they are given, in lines.
[[nodiscard]] const overhead::c_objects& recording() noexcept;

/// Returns the lines that were recorded since the last call.
[[nodiscard]] std::vector<std::string> take_record();

}  // namespace provider
