// SPDX-License-Identifier: MIT
// How the calls of an identifier of librdmacm are made and checked, and what it is to its owner.
#pragma once

#include <cerrno>
#include <concepts>
#include <string_view>
#include <system_error>
#include <utility>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <adverb/cm/event_channel.hpp>
#include <adverb/cm/explain_call.hpp>
#include <adverb/cm/private_data_limit.hpp>
#include <adverb/cm/socket_address.hpp>
#include <adverb/completion/common_completion_queue.hpp>
#include <adverb/queue/queue_traits.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

inline void destroy_shared_receive_queue_of(rdma_cm_id* id) noexcept {
  lifetime_registry::instance().take_noted_parents(id->srq);
  rdma_destroy_srq(id);
}

/// Destroys the queue pair, and what librdmacm made with it: it forgets the completion queue of
/// sends where it made none for receives.
inline void destroy_queue_pair_of(rdma_cm_id* id) noexcept {
  rdma_destroy_qp(id);
  if (id->recv_cq != nullptr) return;
  if (id->send_cq != nullptr) ibv_destroy_cq(std::exchange(id->send_cq, nullptr));
  if (id->send_cq_channel != nullptr)
    ibv_destroy_comp_channel(std::exchange(id->send_cq_channel, nullptr));
}

/// An identifier with all that librdmacm made for it.
struct identifier_traits {
  using native_type = rdma_cm_id;
  static constexpr std::string_view destroy_verb = "rdma_destroy_id";
  static int destroy(rdma_cm_id* id) noexcept {
    if (id->qp != nullptr) destroy_queue_pair_of(id);
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
  /// What librdmacm made for it, of which it would not tell that it cannot be destroyed.
  template <class Function>
  static void for_each_part(const rdma_cm_id* id, const Function& function) noexcept {
    function(queue_pair_traits{}, id->qp);
    function(completing_receive_queue_traits{}, id->srq);
    for_each_completion_part(id, function);
  }
  /// The completion queues, which go with the queue pair, or with the shared receive queue of XRC.
  template <class Function>
  static void for_each_completion_part(const rdma_cm_id* id, const Function& function) noexcept {
    function(completion_queue_traits{}, id->send_cq);
    function(completion_queue_traits{}, id->recv_cq);
    function(completion_channel_traits{}, id->send_cq_channel);
    function(completion_channel_traits{}, id->recv_cq_channel);
  }
  /// "rxe0 10.0.0.1:4711 -> 10.0.0.2:7471", as far as it is known.
  static void describe(const rdma_cm_id* id, text_writer& writer) noexcept {
    if (id->verbs != nullptr) put_device(writer, id->verbs).put(" ");
    const cm::socket_address local = address_in(&id->route.addr.src_addr);
    const cm::socket_address peer = address_in(&id->route.addr.dst_addr);
    if (local.is_empty())
      writer.put("rdma_cm identifier");
    else
      writer.put(local);
    if (!peer.is_empty()) writer.put(" -> ").put(peer);
  }
};

/// Explains nothing.
struct nothing_to_say {
  void operator()(text_writer&, const std::error_code&) const noexcept {}
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
  [[nodiscard]] bool present(on_failure policy, std::string_view verb) const {
    return detail::check_present(policy, verb, this->native_handle());
  }

  /// Calls what returns 0, or -1 and errno; `to` and `from` are the addresses that it is given.
  /// `explain` says why it failed where the addresses do not. True on success.
  template <std::invocable<rdma_cm_id*> Call, class Explain = detail::nothing_to_say>
  bool call(on_failure policy, std::string_view verb, const Call& function,
            const socket_address& to = {}, const socket_address& from = {},
            const Explain& explain = {}) const {
    rdma_cm_id* const id = this->native_handle();
    return present(policy, verb) &&
           detail::check_minus_one(
               policy, verb, [&] { return function(id); }, describe(verb, to, from, explain));
  }
  /// The same for what is only done once a device is known: librdmacm does not check it, and some
  /// of its calls crash without.
  template <std::invocable<rdma_cm_id*> Call, class Explain = detail::nothing_to_say>
  bool call_on_device(on_failure policy, std::string_view verb, const Call& function,
                      const Explain& explain = {}) const {
    if (!present(policy, verb)) return false;
    if (this->native_handle()->verbs != nullptr)
      return call(policy, verb, function, {}, {}, explain);
    policy.report(EINVAL, verb, [&](failure_description& description) {
      detail::on_object<detail::identifier_traits>(this->native_handle())(description);
      description.explain("the address has to be resolved first");
    });
    return false;
  }
  /// The same for what changes the objects that the identifier stands on.
  template <std::invocable<rdma_cm_id*> Call, class Explain = detail::nothing_to_say>
  bool call_with_new_parents(on_failure policy, std::string_view verb, const Call& function,
                             const Explain& explain = {}) const {
    return call_on_device(
        policy, verb,
        [&](rdma_cm_id* id) {
          return detail::with_new_parents<detail::identifier_traits>(id,
                                                                     [&] { return function(id); });
        },
        explain);
  }

  /// Destroys parts of the identifier, unless others use any of them: `for_each_part` calls its
  /// function with these, as that of the traits does. `other_user` is its queue pair where that is
  /// not one of them, or null.
  template <class Parts, std::invocable<rdma_cm_id*> Destroy>
  void destroy_parts(on_failure policy, std::string_view verb, const Parts& for_each_part,
                     const ibv_qp* other_user, const Destroy& destroy) const {
    rdma_cm_id* const id = this->native_handle();
    detail::part_in_use found;
    detail::with_new_parents<detail::identifier_traits>(id, [&] {
      using pair = detail::queue_pair_traits;
      if (other_user != nullptr) detail::register_with_parents<pair>(other_user);
      found = detail::find_part_in_use(for_each_part);
      if (other_user != nullptr) detail::unregister_from_parents<pair>(other_user);
      if (!found) destroy(id);
      return 0;
    });
    if (found) detail::report_part_in_use(policy, verb, found, for_each_part);
  }

  /// The same for what sends private data. Refuses (EMSGSIZE) more than the link carries.
  template <std::invocable<rdma_cm_id*> Call>
  void with_private_data(on_failure policy, std::string_view verb, detail::cm_message message,
                         const private_data& data, const Call& function) const {
    if (!present(policy, verb)) return;
    const detail::private_data_limit limit = detail::limit_of(this->native_handle(), message);
    if (data.size() <= limit.bytes) {
      call_on_device(policy, verb, function);
      return;
    }
    policy.report(EMSGSIZE, verb, [&](failure_description& description) {
      detail::on_object<detail::identifier_traits>(this->native_handle())(description);
      description.explain([&](text_writer& writer) {
        detail::explain_private_data(writer, data.size(), message, limit);
      });
    });
  }

 private:
  /// Refers to the addresses, which every call would else copy, also those that succeed.
  template <class Explain>
  [[nodiscard]] auto describe(std::string_view verb, const socket_address& to,
                              const socket_address& from, const Explain& explain) const noexcept {
    return
        [id = this->native_handle(), verb, &to, &from, &explain](failure_description& description) {
          if (!to.is_empty()) description.detail(to_text(to));
          detail::on_object<detail::identifier_traits>(id)(description);
          description.explain([&](text_writer& writer) {
            detail::explain_call(writer, {verb, description.code(), id, to, from});
            if (writer.size() == 0) explain(writer, description.code());
          });
        };
  }
};

}  // namespace cm
}  // namespace adverb::inline ADVERB_ABI
