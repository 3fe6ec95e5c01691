// SPDX-License-Identifier: MIT
// The name of one class in sources that are compiled with different macros.
#pragma once

namespace flavours {

const char* plain();
const char* boost();
const char* poison();
const char* unchecked();

}  // namespace flavours
