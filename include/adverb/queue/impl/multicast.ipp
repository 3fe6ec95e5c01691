// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <string_view>

#include <adverb/device/context_ref.hpp>
#include <adverb/queue/multicast.hpp>
#include <adverb/queue/queue_pair.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void explain_attachment(failure_description& description, const ibv_qp* pair,
                                    const gid& group) {
  description.explain([&](text_writer& writer) {
    problem_list problems{writer};
    if (!group.is_multicast())
      problems.add(
          "the GID is not a multicast GID: those are ff00::/8, and ::ffff:224.0.0.0 to "
          "::ffff:239.255.255.255");
    std::error_code unknown;
    const device_attributes limits = context_ref{pair->context}.query_device(unknown);
    if (!unknown && limits.max_multicast_groups() == 0)
      problems.add("the device has no multicast");
    else if (!unknown && is_code(description.code(), std::errc::not_enough_memory))
      problems.add(
          "the device allows {} groups, {} queue pairs per group, and {} attachments in all",
          {limits.max_multicast_groups(), limits.max_queue_pairs_per_multicast_group(),
           limits.max_multicast_attachments()});
    if (problems.empty() && pair->qp_type == IBV_QPT_RAW_PACKET)
      problems.add("Linux attaches datagram (UD) queue pairs only, unless a driver changes that");
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC multicast_attachment& multicast_attachment::operator=(
    multicast_attachment&& other) noexcept {
  if (this != &other) {
    close(detail::to_failure_hook{});
    pair_ = std::exchange(other.pair_, nullptr);
    group_ = other.group_;
    group_lid_ = other.group_lid_;
  }
  return *this;
}

ADVERB_FUNC void multicast_attachment::close(on_failure policy) {
  policy.clear();
  if (pair_ == nullptr) return;
  const ibv_gid native_group = group_.native();
  const int result = ibv_detach_mcast(pair_, &native_group, static_cast<std::uint16_t>(group_lid_));
  if (result == 0 || detail::is_dead(pair_->context)) {
    release();
    return;
  }
  detail::check_returned(policy, "ibv_detach_mcast", result,
                         detail::on_attachment(pair_, group_, group_lid_));
}

ADVERB_FUNC void multicast_attachment::release() noexcept {
  if (pair_ == nullptr) return;
  detail::lifetime_registry::instance().remove_child(pair_, object_kind::multicast_attachment);
  pair_ = nullptr;
}

ADVERB_FUNC void multicast_attachment::take(ibv_qp* pair, const gid& group,
                                            lid group_lid) noexcept {
  detail::lifetime_registry::instance().add_child(pair, object_kind::multicast_attachment);
  pair_ = pair;
  group_ = group;
  group_lid_ = group_lid;
}

}  // namespace adverb::inline ADVERB_ABI
