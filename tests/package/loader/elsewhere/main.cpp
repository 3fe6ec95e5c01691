// SPDX-License-Identifier: MIT
// Has no call of a C library itself.
#include <cstdio>

int devices();

int main() { std::printf("%d\n", devices()); }
