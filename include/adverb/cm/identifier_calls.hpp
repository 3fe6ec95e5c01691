// SPDX-License-Identifier: MIT
// How the calls of an identifier of librdmacm are made and checked, and what it is to its owner.
#pragma once

#include <cerrno>
#include <concepts>
#include <string_view>
#include <utility>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <adverb/cm/event_channel.hpp>
#include <adverb/cm/private_data.hpp>
#include <adverb/cm/socket_address.hpp>
#include <adverb/queue/queue_traits.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// The address of a side of an identifier, empty as long as there is none.
[[nodiscard]] inline cm::socket_address address_in(const sockaddr* address) noexcept {
  switch (address->sa_family) {
    case AF_INET: return {adopt, address, sizeof(sockaddr_in)};
    case AF_INET6: return {adopt, address, sizeof(sockaddr_in6)};
    case AF_UNSPEC: return {};
    default: return {adopt, address, sizeof(sockaddr_storage)};
  }
}

inline void destroy_shared_receive_queue_of(rdma_cm_id* id) noexcept {
  lifetime_registry::instance().take_noted_parents(id->srq);
  rdma_destroy_srq(id);
}

/// An identifier with all that librdmacm made for it.
struct identifier_traits {
  using native_type = rdma_cm_id;
  static constexpr std::string_view destroy_verb = "rdma_destroy_id";
  static int destroy(rdma_cm_id* id) noexcept {
    if (id->qp != nullptr) rdma_destroy_qp(id);
    if (id->srq != nullptr) destroy_shared_receive_queue_of(id);
    errno = 0;
    return rdma_destroy_id(id) == 0 ? 0 : errno == 0 ? EIO : errno;
  }
  /// What its queue pair and its shared receive queue stand on, it stands on itself: they are
  /// destroyed with it.
  template <class Function>
  static void for_each_parent(const rdma_cm_id* id, const Function& function) noexcept {
    function(id->channel);
    if (id->qp != nullptr) queue_pair_traits::for_each_parent(id->qp, function);
    if (id->srq != nullptr) completing_receive_queue_traits::for_each_parent(id->srq, function);
  }
  /// "rxe0 10.0.0.1:4711 -> 10.0.0.2:7471", as far as it is known.
  static void describe(const rdma_cm_id* id, text_writer& writer) noexcept {
    if (id->verbs != nullptr) put_device(writer, id->verbs).put(" ");
    const cm::socket_address local = address_in(&id->route.addr.src_addr);
    const cm::socket_address peer = address_in(&id->route.addr.dst_addr);
    if (local.is_empty() && peer.is_empty()) writer.put("rdma_cm identifier");
    if (!local.is_empty()) writer.put(local);
    if (!peer.is_empty()) writer.put(" -> ").put(peer);
  }
};

}  // namespace detail

namespace cm {

/// The calls, for what is built on them.
template <class Storage>
class identifier_calls : public Storage {
 public:
  using Storage::Storage;

 protected:
  /// Reports an empty identifier. True when it is there.
  template <error_policy Policy>
  [[nodiscard]] bool present(Policy&& policy, std::string_view verb) const {
    return detail::check_present(std::forward<Policy>(policy), verb, this->native_handle());
  }

  /// Calls what returns 0, or -1 and errno; `target` is named in a failure. True on success.
  template <error_policy Policy, std::invocable<rdma_cm_id*> Call>
  bool call(Policy&& policy, std::string_view verb, const Call& function,
            const socket_address& target = {}) const {
    rdma_cm_id* const id = this->native_handle();
    return present(std::forward<Policy>(policy), verb) &&
           detail::check_minus_one(
               std::forward<Policy>(policy), verb, [&] { return function(id); },
               [&](failure_description& description) {
                 if (!target.is_empty()) description.detail(to_text(target));
                 detail::on_object<detail::identifier_traits>(id)(description);
               });
  }

  /// The same for what changes the objects that the identifier stands on.
  template <error_policy Policy, std::invocable<rdma_cm_id*> Call>
  bool call_with_new_parents(Policy&& policy, std::string_view verb, const Call& function) const {
    return call(std::forward<Policy>(policy), verb, [&](rdma_cm_id* id) {
      return detail::with_new_parents<detail::identifier_traits>(id, [&] { return function(id); });
    });
  }

  template <error_policy Policy, std::invocable<rdma_cm_id*> Call>
  void with_private_data(Policy&& policy, std::string_view verb, const private_data& data,
                         const Call& function) const {
    if (data.size() > private_data::capacity) {
      if (present(std::forward<Policy>(policy), verb))
        detail::report_errno(
            std::forward<Policy>(policy), EMSGSIZE, verb, [&](failure_description& description) {
              detail::on_object<detail::identifier_traits>(this->native_handle())(description);
              description.explain([&](text_writer& writer) {
                writer.put("private data of ").decimal(data.size());
                writer.put(" bytes is too long: ").decimal(private_data::capacity).put(" at most");
              });
            });
      return;
    }
    call(std::forward<Policy>(policy), verb, function);
  }
};

}  // namespace cm
}  // namespace adverb::inline ADVERB_ABI
