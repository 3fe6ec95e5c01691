// SPDX-License-Identifier: MIT
// What the plugin offers, and how its functions are called.
#pragma once

#include <system_error>

#include <adverb/core/failure_hook.hpp>

extern "C" {
using plugin_tell_failure_hook = void();
using plugin_set_failure_hook = adverb::failure_hook(adverb::failure_hook);
using plugin_add_child = void(const void* parent);
using plugin_remove_child = void(const void* parent);
using plugin_completion_category = const std::error_category*();
using plugin_throw_error = void();
}
