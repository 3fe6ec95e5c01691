// SPDX-License-Identifier: MIT
// The errnos with which C functions fail, by their man pages and, where these name none, by
// rdma-core and the kernel.
#pragma once

#include <algorithm>
#include <cerrno>
#include <initializer_list>
#include <iterator>
#include <string_view>
#include <vector>

#include <adverb/core/detail/missing_feature.hpp>

namespace campaign {

/// Every function fails with these: for its arguments, for memory, in the device, without the
/// right.
inline constexpr int common_errnos[]{EINVAL, ENOMEM, EIO, EPERM};

/// The kernel's ENOTSUPP, which has no name for programs.
inline constexpr int not_supported_in_kernel = 524;

struct errnos_of_function {
  std::string_view function;
  std::initializer_list<int> errnos;
};

inline const errnos_of_function special_errnos[]{
    {"ibv_get_device_list", {ENOSYS}},
    {"ibv_open_device", {EACCES, ENODEV, ENOENT, EMFILE}},
    {"ibv_import_device", {EBADF, EMFILE}},
    {"ibv_get_async_event", {EBADF}},
    {"ibv_query_gid", {ENODATA}},
    {"ibv_resolve_eth_l2_from_gid", {ENETUNREACH, EHOSTUNREACH, ETIMEDOUT}},
    {"ibv_reg_mr", {EFAULT, EAGAIN}},
    {"ibv_reg_dmabuf_mr", {EFAULT, EBADF}},
    {"ibv_rereg_mr", {EFAULT, EBUSY}},
    {"ibv_advise_mr", {EFAULT, ENOENT}},
    {"ibv_create_comp_channel", {EMFILE}},
    {"ibv_get_cq_event", {EBADF}},
    {"ibv_create_ah", {ENODEV, ENETUNREACH, EHOSTUNREACH, ETIMEDOUT}},
    {"ibv_create_ah_from_wc", {ENETUNREACH, EHOSTUNREACH, ETIMEDOUT}},
    {"ibv_create_qp", {EAGAIN, EOPNOTSUPP}},
    {"ibv_modify_qp", {ENODEV, ENETUNREACH, EHOSTUNREACH, ETIMEDOUT, EAGAIN}},
    {"ibv_post_send", {EFAULT}},
    {"ibv_post_recv", {EFAULT}},
    {"ibv_open_xrcd", {EBADF, EAGAIN}},
    {"ibv_open_qp", {ENOENT}},
    {"ibv_create_flow", {EBUSY, ENXIO}},
    {"ibv_attach_mcast", {EBUSY}},
    {"rdma_create_event_channel", {ENODEV, EMFILE}},
    {"rdma_create_id", {ENODEV}},
    {"rdma_create_ep", {EADDRINUSE, ENETUNREACH, EHOSTUNREACH, ENODEV, ETIMEDOUT}},
    {"rdma_bind_addr", {EADDRINUSE, EADDRNOTAVAIL, EACCES, ENODEV}},
    {"rdma_resolve_addr", {EADDRNOTAVAIL, ENETUNREACH, EHOSTUNREACH, ENODEV}},
    {"rdma_resolve_route", {EHOSTUNREACH, ETIMEDOUT}},
    {"rdma_listen", {EADDRINUSE, EOPNOTSUPP}},
    {"rdma_connect", {ECONNREFUSED, EADDRNOTAVAIL}},
    {"rdma_accept", {ECONNRESET}},
    {"rdma_disconnect", {ENOTCONN}},
    {"rdma_set_option", {ENOSYS}},
    {"rdma_join_multicast", {EADDRINUSE, not_supported_in_kernel}},
    {"rdma_join_multicast_ex", {EOPNOTSUPP, not_supported_in_kernel}},
    {"rdma_get_cm_event", {EBADF}},
};

/// Returns the errnos with which the function fails.
[[nodiscard]] inline std::vector<int> errnos_of(std::string_view function) {
  std::vector<int> all(std::begin(common_errnos), std::end(common_errnos));
  for (const auto& [special, errnos] : special_errnos)
    if (special == function) all.insert(all.end(), errnos);
  const bool is_optional = !adverb::detail::feature_of(function).empty();
  for (const int error : {EOPNOTSUPP, ENOSYS})
    if (is_optional && std::find(all.begin(), all.end(), error) == all.end()) all.push_back(error);
  return all;
}

/// Returns whether a failure of the function names no object: there is none yet. That of an
/// endpoint or of a lookup has the address.
[[nodiscard]] inline bool is_without_object(std::string_view function) {
  return function == "ibv_get_device_list" || function == "rdma_create_event_channel" ||
         function == "rdma_create_ep" || function == "rdma_get_devices" ||
         function == "rdma_getaddrinfo";
}

/// Returns whether the library takes this failure of a call, by its line, for none. A key that is
/// not there has the errno of a failed query; a table that has no room in 64 entries is read again;
/// the RNR timer of a connection that may have ended is set if possible; a full queue is drained
/// without a marker, which is the request with an id.
[[nodiscard]] inline bool is_no_failure(std::string_view line, int error) {
  return line.starts_with("ibv_get_pkey_index ") ||
         (line == "ibv_query_gid_table max_entries=64" && error == EINVAL) ||
         line == "ibv_modify_qp qp0 min_rnr_timer=12" ||
         (line.starts_with("ibv_post_") && line.find(" wr_id=") != line.npos && error == ENOMEM);
}

/// The errnos with which a destroy fails, besides EIO if its device has gone.
inline constexpr int errnos_of_destroys[]{EBUSY, EINVAL};

}  // namespace campaign
