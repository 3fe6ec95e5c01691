// SPDX-License-Identifier: MIT
// A provider that does nothing, and one that writes down what it is given.
#pragma once

#include <string>
#include <vector>

#include "job.hpp"

namespace provider {

/// Objects whose calls return success at once. What their functions cost is taken off the counts;
/// they call no others.
[[nodiscard]] const overhead::c_objects& idle() noexcept;

/// Objects whose calls write down what they are given, in lines.
[[nodiscard]] const overhead::c_objects& recording() noexcept;

/// What was written down since the last time.
[[nodiscard]] std::vector<std::string> take_record();

}  // namespace provider
