// SPDX-License-Identifier: MIT
#include <conformance/place.hpp>
#include <fake/fake.hpp>

struct place::contents {
  fake::machine machine;
};

place::place() : contents_{std::make_unique<contents>()} {}
place::~place() = default;
bool place::is_linux() noexcept { return false; }
