// SPDX-License-Identifier: MIT
// A program that knows adverb only through a library over it.
#include "greeter.hpp"

int main() { return greet().code() ? 0 : 1; }
