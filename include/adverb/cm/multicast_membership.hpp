// SPDX-License-Identifier: MIT
// Memberships in multicast groups.
#pragma once

#include <cerrno>
#include <utility>

#include <rdma/rdma_cma.h>

#include <adverb/cm/datagram_way.hpp>
#include <adverb/cm/detail/session.hpp>
#include <adverb/cm/event.hpp>
#include <adverb/cm/multicast_role.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// How a group is joined.
struct multicast_options {
  multicast_role role = multicast_role::full_member;
  adverb::timeout timeout = adverb::timeout::seconds(10);
};

/// A multicast group that an identifier is in, for as long as this lives: the network delivers what
/// is sent to the group, and the queue pair of the identifier receives it. It is a destination,
/// too:
///
///     const cm::multicast_membership group = here.join(*cm::socket_address::parse("239.1.2.3",
///     0)); here.queue_pair().post(send(text).to(group)).check();
///
/// The identifier and its queue pair have to outlive it. It can end before: the identifier tells by
/// `event_type::multicast_error`.
///
/// Move-only; empty by default and after being moved from. When the destructor cannot leave, the
/// failure hook is told. Leaving waits until the events about the group are acknowledged.
class [[nodiscard]] multicast_membership : public datagram_way {
 public:
  /// Empty.
  multicast_membership() noexcept = default;

  /// Takes over what `identifier::join_multicast` began and `joined`, the event, has told. Sends to
  /// the group come from pairs in the domain; without one it is that of librdmacm, or of the
  /// identifier's queue pair. When the address handle is not made, the group is left.
  multicast_membership(adopt_t, identifier_ref id, const socket_address& group, event& joined,
                       protection_domain_ref domain = {}, on_failure policy = throwing{})
      : multicast_membership{adopt, id, group} {
    const datagram_parameters there = joined.datagram_parameters();
    // Leaving waits for it.
    joined.acknowledge();
    find_way(domain ? domain : domain_of(id), there, policy);
  }

  multicast_membership(multicast_membership&& other) noexcept
      : datagram_way{std::move(other)},
        id_{std::exchange(other.id_, {})},
        group_{std::exchange(other.group_, {})} {}
  multicast_membership& operator=(multicast_membership&& other) noexcept {
    if (this != &other) {
      close(detail::telling{});
      datagram_way::operator=(std::move(other));
      id_ = std::exchange(other.id_, {});
      group_ = std::exchange(other.group_, {});
    }
    return *this;
  }
  ~multicast_membership() { close(detail::telling{}); }

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(id_); }
  [[nodiscard]] const socket_address& group() const noexcept { return group_; }
  /// Who is the member.
  [[nodiscard]] identifier_ref id() const noexcept { return id_; }

  /// Leaves now, and reports an error. It is empty afterwards, whatever happened: librdmacm forgets
  /// a membership that could not be left, which ends with the identifier then. Closing an empty one
  /// does nothing. Wraps: rdma_leave_multicast(3).
  void close(on_failure policy = throwing{}) {
    policy.clear();
    if (!id_) return;
    detail::lifetime_registry::instance().remove_child(id_.native_handle(),
                                                       object_kind::multicast_membership);
    const identifier_ref left = std::exchange(id_, {});
    datagram_way::operator=({});
    left.leave_multicast(std::exchange(group_, {}), policy);
  }

 private:
  friend class datagram_endpoint;

  /// Of a group that is being joined: nothing can be sent to it yet.
  multicast_membership(adopt_t, identifier_ref id, const socket_address& group) noexcept
      : id_{id}, group_{group} {
    detail::lifetime_registry::instance().add_child(id.native_handle(),
                                                    object_kind::multicast_membership);
  }

  /// Joins, and waits until the group is joined.
  [[nodiscard]] static multicast_membership join(const detail::cm_session& session,
                                                 const socket_address& group,
                                                 const multicast_options& options,
                                                 on_failure policy) {
    const identifier_ref id = session.id;
    if (!detail::check_present(policy, "rdma_join_multicast", id.native_handle())) return {};
    // Else it is the attachment of the queue pair that fails, of which librdmacm tells no reason.
    if (detail::is_single_address(group)) {
      policy.report(EINVAL, "rdma_join_multicast", [&](failure_description& description) {
        description.detail(to_text(group));
        detail::on_object<detail::identifier_traits>(id.native_handle())(description);
        detail::explain_group(description, id.native_handle(), group);
      });
      return {};
    }
    id.join_multicast(group, options.role, nullptr, policy);
    if (policy.failed()) return {};
    multicast_membership joined{adopt, id, group};
    auto event = session.wait_for({event_type::multicast_join}, options.timeout,
                                  "rdma_join_multicast", policy);
    if (!event) return {};
    const datagram_parameters there = event->datagram_parameters();
    event.reset();
    joined.find_way(domain_of(id), there, policy);
    return joined;
  }

  [[nodiscard]] static protection_domain_ref domain_of(identifier_ref id) noexcept {
    const ibv_qp* const pair = id.native_handle()->qp;
    return pair == nullptr ? id.protection_domain() : protection_domain_ref{pair->pd};
  }

  void find_way(protection_domain_ref domain, const datagram_parameters& there, on_failure policy) {
    datagram_way::operator=(datagram_way{domain, there, policy});
    if (policy.failed()) close(detail::telling{});
  }

  identifier_ref id_;
  socket_address group_;
};

}  // namespace adverb::inline ADVERB_ABI::cm
