// SPDX-License-Identifier: MIT
// The functions of the plugin, and their types.
#pragma once

#include <cstddef>
#include <system_error>

#include <infiniband/verbs.h>

#include <adverb/core/failure.hpp>

extern "C" {
using plugin_tell_failure_hook = void();
using plugin_set_failure_hook = adverb::failure_hook(adverb::failure_hook);
using plugin_add_child = void(const void* parent);
using plugin_remove_child = void(const void* parent);
using plugin_note_parent = void(const void* child, const void* parent);
using plugin_reserve = void(ibv_cq* queue, std::size_t entries);
using plugin_give_back = void();
using plugin_completion_category = const std::error_category*();
using plugin_throw_error = void();
}
