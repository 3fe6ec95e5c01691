// SPDX-License-Identifier: MIT
// A shared object with an adverb of its own inside.
#include "plugin.hpp"

#include <cerrno>

#include <adverb/completion/completion_queue.hpp>
#include <adverb/completion/status.hpp>
#include <adverb/core/detail/lifetime.hpp>
#include <adverb/core/error.hpp>

#define EXPORTED extern "C" [[gnu::visibility("default")]]

namespace {
const adverb::failure some_failure{std::error_code{EBUSY, std::generic_category()}, "plugin",
                                   [](adverb::failure_description&) {}};
adverb::completion_reservation reserved;
}  // namespace

EXPORTED void tell_failure_hook() { adverb::detail::tell_failure_hook(some_failure); }

EXPORTED adverb::failure_hook set_failure_hook(adverb::failure_hook hook) {
  return adverb::set_failure_hook(hook);
}

EXPORTED void add_child(const void* parent) {
  adverb::detail::lifetime_registry::instance().add_child(parent, adverb::object_kind::queue_pair);
}
EXPORTED void remove_child(const void* parent) {
  adverb::detail::lifetime_registry::instance().remove_child(parent,
                                                             adverb::object_kind::queue_pair);
}

EXPORTED void note_parent(const void* child, const void* parent) {
  adverb::detail::lifetime_registry::instance().note_parents(child, &parent, 1);
}

EXPORTED void reserve(ibv_cq* queue, std::size_t entries) {
  reserved = adverb::completion_reservation{adverb::completion_queue_ref{queue}, entries};
}
EXPORTED void give_back() { reserved = {}; }

EXPORTED const std::error_category* completion_category() { return &adverb::completion_category(); }

EXPORTED void throw_error() { adverb::detail::fail(some_failure); }
