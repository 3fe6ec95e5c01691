// SPDX-License-Identifier: MIT
// Multicast: attaches queue pairs to groups.
#pragma once

#include <type_traits>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/core/handle.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/core/transport.hpp>
#include <adverb/device/gid.hpp>
#include <adverb/request/detail/queue_traits.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

[[nodiscard]] constexpr bool can_join_multicast(transport service) noexcept {
  return service == transport::ud || service == transport::raw_packet;
}

/// Names the group and the queue pair, and explains why the one cannot be attached to the other.
[[nodiscard]] inline auto on_attachment(const ibv_qp* pair, const gid& group,
                                        lid group_lid) noexcept {
  return [=](failure_description& description) {
    description.detail(static_string<64>{[&](text_writer& writer) {
      writer.put(group);
      if (group_lid != lid{}) writer.put(" lid ").put(group_lid);
    }});
    on_object<queue_pair_traits>(pair)(description);
  };
}

[[gnu::cold]] void explain_attachment(failure_description& description, const ibv_qp* pair,
                                      const gid& group);

}  // namespace detail

/// Makes a queue pair receive the messages of a multicast group, for the lifetime of this object:
///
///     const adverb::multicast_attachment attachment{pair, group};
///
/// The queue pair may be in any state, and a transition keeps the attachment. The queue pair must
/// outlive the attachment, so attach it in its final variable. Attaching covers only the device.
/// The network delivers once the port is a member as well. On RoCE the network interface joins the
/// IP group (through a UDP socket with IP_ADD_MEMBERSHIP or IPV6_JOIN_GROUP, or through librdmacm).
/// On InfiniBand the port joins through the subnet administrator (librdmacm).
///
/// Move-only; empty by default and after a move. If the detach in the destructor fails, it calls
/// the failure hook. Thread safe.
class [[nodiscard]] multicast_attachment {
 public:
  multicast_attachment() noexcept = default;

  /// Attaches a datagram (UD) or raw packet queue pair to a group. `group_lid` is the LID of the
  /// group on InfiniBand, and 0 on Ethernet. On Linux attaching twice is no error, and one detach
  /// then ends both. Wraps: ibv_attach_mcast(3), ibv_detach_mcast(3).
  template <class Pair>
    requires requires { std::remove_cvref_t<Pair>::transport_of; }
  multicast_attachment(Pair&& pair, const gid& group, lid group_lid = {},
                       on_failure policy = throwing{}) {
    static_assert(detail::can_join_multicast(std::remove_cvref_t<Pair>::transport_of),
                  "only datagram (UD) and raw packet queue pairs can be attached to a multicast "
                  "group");
    ibv_qp* const native = pair.native_handle();
    if (!detail::check_present(policy, "ibv_attach_mcast", native)) return;
    const ibv_gid native_group = group.native();
    const int result =
        ibv_attach_mcast(native, &native_group, static_cast<std::uint16_t>(group_lid));
    if (detail::check_returned(policy, "ibv_attach_mcast", result,
                               [&](failure_description& description) {
                                 detail::on_attachment(native, group, group_lid)(description);
                                 detail::explain_attachment(description, native, group);
                               }))
      take(native, group, group_lid);
  }

  /// Takes ownership of an attachment of the C API.
  template <class Pair>
    requires requires { std::remove_cvref_t<Pair>::transport_of; }
  multicast_attachment(adopt_t, const Pair& pair, const gid& group, lid group_lid = {}) noexcept {
    if (pair) take(pair.native_handle(), group, group_lid);
  }

  multicast_attachment(multicast_attachment&& other) noexcept
      : pair_{std::exchange(other.pair_, nullptr)},
        group_{other.group_},
        group_lid_{other.group_lid_} {}
  multicast_attachment& operator=(multicast_attachment&& other) noexcept;
  ~multicast_attachment() { close(detail::to_failure_hook{}); }

  [[nodiscard]] explicit operator bool() const noexcept { return pair_ != nullptr; }
  /// Returns the C object of the queue pair, or null if empty.
  [[nodiscard]] ibv_qp* queue_pair() const noexcept { return pair_; }
  /// Returns the GID of the group.
  [[nodiscard]] const gid& group() const noexcept { return group_; }
  /// Returns the LID of the group.
  [[nodiscard]] lid group_lid() const noexcept { return group_lid_; }

  /// Detaches now, and fails if the detach fails; the attachment then remains. Does nothing if
  /// empty. Wraps: ibv_detach_mcast(3).
  void close(on_failure policy = throwing{});

  /// Releases ownership. The queue pair stays attached until it is detached or destroyed.
  void release() noexcept;

 private:
  void take(ibv_qp* pair, const gid& group, lid group_lid) noexcept;

  ibv_qp* pair_ = nullptr;
  gid group_{};
  lid group_lid_{};
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/queue/impl/multicast.ipp>
#endif
