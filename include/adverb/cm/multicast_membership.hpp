// SPDX-License-Identifier: MIT
// Multicast group memberships.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <rdma/rdma_cma.h>

#include <adverb/cm/datagram_peer.hpp>
#include <adverb/cm/detail/session.hpp>
#include <adverb/cm/event.hpp>
#include <adverb/cm/identifier.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// Options for joining a group.
struct multicast_options {
  /// Selects whether the member also receives.
  multicast_role role = multicast_role::full_member;
  /// The time for joining.
  adverb::timeout timeout = detail::seconds{10};
};

}  // namespace adverb::inline ADVERB_ABI::cm

namespace adverb::inline ADVERB_ABI::detail {

/// A group that is joined or being joined. Its address is the join context, which its events carry.
struct joined_group {
  bool is_lost = false;
};

/// The groups of an endpoint. Every event of the endpoint is recorded here, so an event of one
/// group that arrives during the join of another is not lost.
class group_list {
 public:
  [[nodiscard]] joined_group* add();
  void remove(const joined_group* group) noexcept;
  void note(const cm::event& happened) noexcept;

 private:
  std::vector<std::unique_ptr<joined_group>> groups_;
};

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::cm {

/// Keeps an identifier in a multicast group for its own lifetime. The queue pair of the identifier
/// receives the messages sent to the group. A membership is also a destination:
///
///     const cm::multicast_membership group =
///         here.join(*cm::socket_address::parse("239.1.2.3", 0));
///     here.queue_pair().post(send(text).to(group)).check();
///
/// The identifier and its queue pair must outlive the membership. The network can end it earlier:
/// the identifier then gets an event (`event_type::multicast_error`), and `is_lost` returns true.
///
/// Move-only; empty by default and after being moved from. The destructor calls the failure hook if
/// it cannot leave. Leaving blocks until the events about the group are acknowledged. Only one
/// thread at a time may join, leave or take the events of an endpoint.
class [[nodiscard]] multicast_membership : public datagram_target {
 public:
  /// Creates an empty membership.
  multicast_membership() noexcept = default;

  /// Takes over a group that `identifier::join_multicast` joined; `joined` is the join event. Queue
  /// pairs in `domain` can send to the group. The default is the domain of the identifier's queue
  /// pair, or librdmacm's without one. Leaves the group if the address handle cannot be created.
  multicast_membership(adopt_t, identifier_ref id, const socket_address& group, event& joined,
                       protection_domain_ref domain = {}, on_failure policy = throwing{});

  multicast_membership(multicast_membership&& other) noexcept
      : datagram_target{std::move(other)},
        id_{std::exchange(other.id_, {})},
        group_{std::exchange(other.group_, {})},
        groups_{std::move(other.groups_)},
        state_{std::exchange(other.state_, nullptr)} {}
  multicast_membership& operator=(multicast_membership&& other) noexcept;
  ~multicast_membership() { close(detail::to_failure_hook{}); }

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(id_); }
  /// Returns the address of the group.
  [[nodiscard]] const socket_address& group() const noexcept { return group_; }
  /// Returns true if an event that was taken reported that the network has ended the membership.
  /// Always false for a membership created from an event of the program.
  [[nodiscard]] bool is_lost() const noexcept { return state_ != nullptr && state_->is_lost; }
  /// Returns the identifier that is the member.
  [[nodiscard]] identifier_ref identifier() const noexcept { return id_; }

  /// Leaves the group, and reports errors. The membership is empty afterwards even on failure:
  /// librdmacm drops its record of the membership, which then ends with the identifier. Does
  /// nothing if it is empty. Wraps: rdma_leave_multicast(3).
  void close(on_failure policy = throwing{});

 private:
  friend class multicast_join;

  /// Creates the membership of a group that is being joined. It cannot be a destination yet.
  multicast_membership(adopt_t, identifier_ref id, const socket_address& group,
                       std::shared_ptr<detail::group_list> groups = {},
                       detail::joined_group* state = nullptr) noexcept
      : id_{id}, group_{group}, groups_{std::move(groups)}, state_{state} {
    detail::lifetime_registry::instance().add_child(id.native_handle(),
                                                    object_kind::multicast_membership);
  }

  [[nodiscard]] static protection_domain_ref domain_of(identifier_ref id) noexcept;

  void find_way(protection_domain_ref domain, const datagram_parameters& there, on_failure policy);

  identifier_ref id_;
  socket_address group_;
  std::shared_ptr<detail::group_list> groups_;
  detail::joined_group* state_ = nullptr;
};

/// A multicast join in progress, returned by `datagram_endpoint::start_join`. Destroying it
/// abandons the join. The endpoint must outlive it.
class [[nodiscard]] multicast_join {
 public:
  /// Creates an empty object.
  multicast_join() noexcept = default;

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(joining_); }

  /// Returns true if an event of a shared channel ends this join. One endpoint can have several
  /// joins in progress.
  [[nodiscard]] bool is_about(const event& happened) const noexcept {
    return joining_ && happened.identifier() == joining_.identifier() &&
           (happened.join_context() == joining_.state_ ||
            happened.type() == event_type::device_removal);
  }

  /// Returns a descriptor that becomes readable when `finish` has an event to take, or -1 if it is
  /// empty.
  [[nodiscard]] int file_descriptor() const noexcept {
    return joining_ ? joining_.identifier().channel().file_descriptor() : -1;
  }

  /// Returns the membership, or an empty one until its event arrives. Does not block. Success
  /// empties this object. Fails with EINVAL if the endpoint shares a channel.
  /// Wraps: rdma_get_cm_event(3).
  [[nodiscard]] multicast_membership finish(on_failure policy = throwing{});
  /// Passes an event of a shared channel to the join, and acknowledges it. Records an event about
  /// another group of the endpoint.
  [[nodiscard]] multicast_membership finish(event& happened, on_failure policy = throwing{});

 private:
  friend class datagram_endpoint;

  static constexpr const char* verb = "rdma_join_multicast";

  /// `own_channel` is empty if the identifier shares a channel.
  multicast_join(identifier_ref id, event_channel_ref own_channel,
                 std::shared_ptr<detail::group_list> groups, const socket_address& group,
                 const multicast_options& options, on_failure policy);

  multicast_membership joining_;
  event_channel_ref own_channel_;
};

}  // namespace adverb::inline ADVERB_ABI::cm

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/multicast_membership.ipp>
#endif
