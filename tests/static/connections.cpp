// SPDX-License-Identifier: MIT
// Identifiers, events and connections: what they weigh, and what can be done with them.
#include <chrono>
#include <type_traits>
#include <utility>

#include <adverb/cm.hpp>

namespace {

using namespace adverb;

template <class Handle>
constexpr bool moves_only =
    std::is_nothrow_move_constructible_v<Handle> && std::is_nothrow_move_assignable_v<Handle> &&
    !std::is_copy_constructible_v<Handle> && !std::is_copy_assignable_v<Handle> &&
    std::is_nothrow_destructible_v<Handle> && !std::is_polymorphic_v<Handle>;

/// Empty by default, and testable in a condition, without turning into a number.
template <class Handle>
constexpr bool can_be_empty =
    std::is_nothrow_default_constructible_v<Handle> &&
    std::is_constructible_v<bool, const Handle&> && !std::is_convertible_v<const Handle&, bool>;

template <class Handle>
constexpr bool owns = moves_only<Handle> && can_be_empty<Handle>;

static_assert(owns<cm::event_channel> && sizeof(cm::event_channel) == sizeof(void*));
static_assert(owns<cm::identifier> && sizeof(cm::identifier) == sizeof(void*));

template <class Reference, class Owner>
constexpr bool refers_to =
    sizeof(Reference) == sizeof(void*) && std::is_trivially_copyable_v<Reference> &&
    can_be_empty<Reference> && std::is_nothrow_convertible_v<const Owner&, Reference> &&
    std::is_nothrow_convertible_v<typename Owner::native_type*, Reference> &&
    !std::is_convertible_v<Owner, Reference>;

static_assert(refers_to<cm::event_channel_ref, cm::event_channel>);
static_assert(refers_to<cm::identifier_ref, cm::identifier>);
static_assert(!std::is_constructible_v<cm::identifier_ref, const cm::event_channel&>);
static_assert(!std::is_constructible_v<cm::identifier, rdma_cm_id*>);

// An event is one, as long as nobody moves from it.
static_assert(moves_only<cm::event> && !std::is_default_constructible_v<cm::event>);
static_assert(sizeof(cm::event) <= 3 * sizeof(void*));
static_assert(noexcept(std::declval<cm::event&>().acknowledge()));
static_assert(noexcept(std::declval<cm::event&>().release()));
static_assert(noexcept(std::declval<cm::event&>().take_request()));

constexpr auto rc = transport::rc;
static_assert(owns<cm::connector<rc>>);
static_assert(owns<cm::connector<rc, cm::step::address_resolved>>);
static_assert(owns<cm::connector<rc, cm::step::route_resolved>>);
static_assert(owns<cm::connector<rc, cm::step::ready>>);
static_assert(owns<cm::listener<rc>>);
static_assert(owns<cm::connection_request<rc>>);
static_assert(owns<cm::connection_request<rc, cm::step::ready>>);
static_assert(owns<cm::connection<rc>>);

// A step is another type, and none turns into another but by being taken.
static_assert(!std::is_convertible_v<cm::connector<rc>, cm::connector<rc, cm::step::ready>>);
static_assert(std::is_same_v<decltype(std::declval<cm::connector<rc>&>().resolve_address({})),
                             cm::connector<rc, cm::step::address_resolved>>);
static_assert(std::is_same_v<decltype(std::declval<cm::connector<rc, cm::step::address_resolved>&>()
                                          .resolve_route()),
                             cm::connector<rc, cm::step::route_resolved>>);
static_assert(std::is_same_v<decltype(std::declval<cm::connector<rc, cm::step::route_resolved>&>()
                                          .create_queue_pair()),
                             cm::connector<rc, cm::step::ready>>);
static_assert(
    std::is_same_v<decltype(std::declval<cm::connector<rc, cm::step::ready>&>().connect()),
                   cm::connection<rc>>);

// Before it is connected receives can be posted, and afterwards sends.
static_assert(
    std::is_same_v<decltype(std::declval<cm::connector<rc, cm::step::ready>&>().queue_pair()),
                   queue_pair_ref<rc, qp_state::init>>);
static_assert(std::is_same_v<decltype(std::declval<cm::connection<rc>&>().queue_pair()),
                             queue_pair_ref<rc, qp_state::rts>>);
static_assert(detail::created_state(transport::ud) == qp_state::rts);

static_assert(cm::port_space_of(transport::rc) == cm::port_space::tcp &&
              cm::port_space_of(transport::ud) == cm::port_space::udp);

// Values: handed around without cost or failure.
static_assert(std::is_trivially_copyable_v<cm::private_data> &&
              std::is_nothrow_default_constructible_v<cm::private_data>);
static_assert(std::is_trivially_copyable_v<cm::socket_address> &&
              std::is_nothrow_default_constructible_v<cm::socket_address>);
static_assert(std::is_trivially_copyable_v<cm::peer_parameters>);

// One timeout after another; what is too long is for ever.
static_assert(std::chrono::seconds{1} + std::chrono::seconds{2} == std::chrono::seconds{3});
static_assert((timeout::endless() + std::chrono::seconds{1}).is_endless());
static_assert((std::chrono::seconds{1} + timeout::endless()).is_endless());
static_assert((timeout::endless() + timeout::endless()).is_endless());

}  // namespace
