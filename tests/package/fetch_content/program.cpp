// SPDX-License-Identifier: MIT
// A program that uses adverb only through a library over it.
#include "greeter.hpp"

int main() { return greet().code() ? 0 : 1; }
