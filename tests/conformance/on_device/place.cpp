// SPDX-License-Identifier: MIT
#include <conformance/place.hpp>

struct place::contents {};

place::place() = default;
place::~place() = default;
bool place::is_linux() noexcept { return true; }
