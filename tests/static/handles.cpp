// SPDX-License-Identifier: MIT
// Owners and references: what they weigh, and what can be done with them.
#include <iterator>
#include <memory>
#include <type_traits>

#include <adverb/completion/completion_queue.hpp>
#include <adverb/memory/imported.hpp>
#include <adverb/memory/memory_region.hpp>
#include <adverb/memory/memory_window.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/queue/tag_matching_queue.hpp>
#include <adverb/queue/xrc_shared_receive_queue.hpp>

namespace {

template <class Handle>
constexpr bool moves_only =
    std::is_nothrow_default_constructible_v<Handle> &&
    std::is_nothrow_move_constructible_v<Handle> && std::is_nothrow_move_assignable_v<Handle> &&
    !std::is_copy_constructible_v<Handle> && !std::is_copy_assignable_v<Handle> &&
    std::is_nothrow_destructible_v<Handle> && !std::is_polymorphic_v<Handle>;

/// Testable in a condition, and nothing else: it does not turn into a number.
template <class Handle>
constexpr bool tells_emptiness =
    std::is_constructible_v<bool, const Handle&> && !std::is_convertible_v<const Handle&, bool>;

template <class Owner>
constexpr bool owns =
    moves_only<Owner> && tells_emptiness<Owner> &&
    std::is_nothrow_constructible_v<Owner, adverb::adopt_t, typename Owner::native_type*>;

static_assert(owns<adverb::context>);
static_assert(owns<adverb::protection_domain>);
static_assert(owns<adverb::thread_domain>);
static_assert(owns<adverb::parent_domain>);
static_assert(owns<adverb::imported_protection_domain>);
static_assert(moves_only<adverb::imported_memory_region> &&
              tells_emptiness<adverb::imported_memory_region>);
static_assert(moves_only<adverb::device_memory> && tells_emptiness<adverb::device_memory>);
static_assert(moves_only<adverb::imported_device_memory> &&
              tells_emptiness<adverb::imported_device_memory>);
static_assert(owns<adverb::completion_channel>);
static_assert(owns<adverb::completion_queue>);
static_assert(moves_only<adverb::memory_region> && tells_emptiness<adverb::memory_region>);
static_assert(owns<adverb::shared_receive_queue>);
static_assert(owns<adverb::xrc_domain>);
static_assert(owns<adverb::xrc_shared_receive_queue>);
static_assert(owns<adverb::tag_matching_queue>);

using window_1 = adverb::memory_window<adverb::window_type::one>;
using window_2 = adverb::memory_window<adverb::window_type::two>;
static_assert(moves_only<window_1> && tells_emptiness<window_1>);
static_assert(moves_only<window_2> && tells_emptiness<window_2>);

static_assert(sizeof(window_1) == sizeof(void*) && sizeof(window_2) == sizeof(void*));
static_assert(sizeof(adverb::context) == sizeof(void*));
static_assert(sizeof(adverb::protection_domain) == sizeof(void*));
static_assert(sizeof(adverb::completion_channel) == sizeof(void*));
static_assert(sizeof(adverb::completion_queue) == sizeof(void*));
static_assert(sizeof(adverb::shared_receive_queue) == sizeof(void*));
static_assert(sizeof(adverb::xrc_domain) == sizeof(void*));
static_assert(sizeof(adverb::xrc_shared_receive_queue) == sizeof(void*));
static_assert(sizeof(adverb::tag_matching_queue) == sizeof(void*));
static_assert(sizeof(adverb::thread_domain) == sizeof(void*));
static_assert(sizeof(adverb::parent_domain) == sizeof(void*));
// The handle also has the size, which the C struct lacks.
static_assert(sizeof(adverb::device_memory) == 2 * sizeof(void*));
// The C struct keeps neither the rights nor the device address.
static_assert(sizeof(adverb::memory_region) <= 6 * sizeof(void*));
static_assert(sizeof(adverb::memory_region_ref) == 5 * sizeof(void*));

// An owner is never made from a C pointer by accident, nor from a reference.
static_assert(!std::is_constructible_v<adverb::protection_domain, ibv_pd*>);
static_assert(!std::is_constructible_v<adverb::protection_domain, adverb::protection_domain_ref>);
static_assert(!std::is_convertible_v<ibv_context*, adverb::context>);

template <class Reference, class Owner>
constexpr bool refers_to =
    sizeof(Reference) == sizeof(void*) && std::is_trivially_copyable_v<Reference> &&
    std::is_nothrow_default_constructible_v<Reference> && tells_emptiness<Reference> &&
    std::is_nothrow_convertible_v<const Owner&, Reference> &&
    std::is_nothrow_convertible_v<Owner&, Reference> &&
    std::is_nothrow_convertible_v<typename Owner::native_type*, Reference> &&
    // A reference to a temporary does not compile.
    !std::is_convertible_v<Owner, Reference> && !std::is_convertible_v<const Owner, Reference>;

static_assert(refers_to<adverb::context_ref, adverb::context>);
static_assert(refers_to<adverb::protection_domain_ref, adverb::protection_domain>);
static_assert(refers_to<adverb::protection_domain_ref, adverb::parent_domain>);
static_assert(refers_to<adverb::protection_domain_ref, adverb::imported_protection_domain>);
static_assert(refers_to<adverb::thread_domain_ref, adverb::thread_domain>);
static_assert(refers_to<adverb::completion_channel_ref, adverb::completion_channel>);
static_assert(refers_to<adverb::completion_queue_ref, adverb::completion_queue>);
static_assert(refers_to<adverb::shared_receive_queue_ref, adverb::shared_receive_queue>);
static_assert(refers_to<adverb::shared_receive_queue_ref, adverb::tag_matching_queue>);
static_assert(refers_to<adverb::xrc_domain_ref, adverb::xrc_domain>);
static_assert(refers_to<adverb::xrc_shared_receive_queue_ref, adverb::xrc_shared_receive_queue>);
static_assert(refers_to<adverb::tag_matching_queue_ref, adverb::tag_matching_queue>);

template <adverb::window_type Type>
using window_ref = adverb::memory_window_ref<Type>;
static_assert(sizeof(window_ref<adverb::window_type::one>) == sizeof(void*) &&
              std::is_trivially_copyable_v<window_ref<adverb::window_type::one>>);
static_assert(std::is_nothrow_convertible_v<const window_2&, window_ref<adverb::window_type::two>>);
static_assert(!std::is_convertible_v<window_2, window_ref<adverb::window_type::two>>);
static_assert(!std::is_constructible_v<window_ref<adverb::window_type::one>, const window_2&>);
static_assert(!std::is_constructible_v<window_ref<adverb::window_type::one>, ibv_mw*>);

// A reference is made only from an owner of its own kind.
static_assert(!std::is_constructible_v<adverb::context_ref, const adverb::protection_domain&>);
static_assert(!std::is_constructible_v<adverb::protection_domain_ref, adverb::context_ref>);

// It can be made at compile time, where there is nothing to refer to yet.
static_assert(!adverb::context_ref{} && adverb::context_ref{}.native_handle() == nullptr);
static_assert(!adverb::completion_channel_ref{nullptr});

static_assert(sizeof(adverb::device_ref) == sizeof(void*));
static_assert(std::is_trivially_copyable_v<adverb::device_ref>);
static_assert(adverb::device_ref{} == adverb::device_ref{} && !adverb::device_ref{});

static_assert(std::is_nothrow_move_constructible_v<adverb::device_list> &&
              std::is_nothrow_move_assignable_v<adverb::device_list> &&
              !std::is_copy_constructible_v<adverb::device_list> &&
              !std::is_copy_assignable_v<adverb::device_list>);
static_assert(std::forward_iterator<adverb::device_list::iterator>);

// The tag has to be written out: no braces become one.
static_assert(!std::is_convertible_v<std::initializer_list<int>, adverb::adopt_t> &&
              std::is_empty_v<adverb::adopt_t>);

}  // namespace
