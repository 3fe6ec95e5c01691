// SPDX-License-Identifier: MIT
// A built work request whose fields can be changed one by one.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <infiniband/verbs.h>

#include <adverb/core/detail/hardening.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/memory/remote_buffer.hpp>
#include <adverb/request/destination.hpp>
#include <adverb/request/inline_data.hpp>
#include <adverb/request/requests.hpp>
#include <adverb/request/window_requests.hpp>
#include <adverb/request/work_request.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// True if an operation has remote memory, which may be changed.
template <class Operation>
inline constexpr bool has_remote_memory = requires { typename Operation::remote_type; };
template <class Operation>
inline constexpr bool gets_data = Operation::traits::brings_data;

/// True if a request binds a window. On acceptance it writes the new key.
template <class Request>
inline constexpr bool binds_window =
    requires(const Request& request, const ibv_send_wr& native) { request.accepted(native); };

template <class Request>
[[nodiscard]] consteval bool check_preparable() noexcept {
  constexpr bool known = is_send_request<Request> || is_receive_request<Request>;
  static_assert(known,
                "only work requests can be prepared: send(...), write(...), receive(...), ...");
  if constexpr (known) {
    constexpr bool binds = binds_window<Request>;
    constexpr bool extended = needs_extended_sender<Request>();
    static_assert(!binds,
                  "binding a window cannot be prepared: each binding has a new key, which the post "
                  "stores in the window");
    static_assert(!extended,
                  "this operation exists only in the extended calls and cannot be prepared: post "
                  "it through extended()");
    return !binds && !extended;
  }
  return known;
}

/// The number of buffers or inline pieces that a payload itself holds.
template <class Payload>
inline constexpr std::size_t held_pieces = 0;
template <std::size_t Count>
inline constexpr std::size_t held_pieces<held_elements<Count>> = Count;
template <std::size_t Count>
inline constexpr std::size_t held_pieces<inline_elements<Count>> = Count;

template <class Payload>
inline constexpr bool is_list = std::same_as<Payload, listed_inline_elements>;
template <class Buffer>
inline constexpr bool is_list<listed_elements<Buffer>> = true;

/// The C struct of a request with its elements, and the functions that change them. Each function
/// stores only the fields that it names, and returns `Self`.
///
/// Each copy points to its own elements. The link to the next request is not copied, because it
/// belongs to the place of a request and not to its value.
template <class Self, class Request>
class patchable_request {
  static_assert(check_preparable<Request>());
  using operation = typename Request::operation_type;
  using payload_type = typename Request::payload_type;
  using memory = typename Request::memory;
  static constexpr bool sends = is_send_request<Request>;

 public:
  using native_type = typename Request::native_type;

  /// Sets the `id()` or `pointer<T>()` of the completion.
  template <request_id_type Id>
  Self& id(Id value) & noexcept {
    native_.wr_id = request_id(value);
    return self();
  }

  /// Requests a completion, or none.
  Self& signaled(bool wanted = true) & noexcept {
    static_assert(
        sends, "a receive always generates a completion: only sends can be signaled or unsignaled");
    if constexpr (sends) {
      constexpr unsigned signal = IBV_SEND_SIGNALED;
      if (wanted)
        native_.send_flags |= signal;
      else
        native_.send_flags &= ~signal;
    }
    return self();
  }

  /// Returns true if the request generates a completion.
  [[nodiscard]] bool is_signaled() const noexcept {
    static_assert(
        sends, "a receive always generates a completion: only sends can be signaled or unsignaled");
    if constexpr (sends)
      return (native_.send_flags & IBV_SEND_SIGNALED) != 0;
    else
      return true;
  }

  /// Sets the start in the peer's memory of a write, a read or an atomic operation.
  template <class T, access_rights Rights>
  Self& remote(const remote_buffer<T, Rights>& there) & noexcept {
    with_remote(there, [](const auto& fields, native_type& native) { fields.fill(native); });
    return self();
  }
  /// Does the same within memory of the key that the request already has, for one store less.
  /// Terminates the program if the key differs (ADVERB_HARDENING_DEBUG).
  template <class T, access_rights Rights>
  Self& move_remote(const remote_buffer<T, Rights>& there) & noexcept {
    with_remote(there, [](const auto& fields, native_type& native) {
      require_same_key("prepared_request::move_remote", "remote()", fields.key_in(native),
                       fields.key);
      fields.fill_address(native);
    });
    return self();
  }

  /// Sets the 32 bits of immediate data that the peer finds in its completion.
  Self& immediate(adverb::immediate data) & noexcept {
    constexpr bool present = std::is_base_of_v<immediate_field, operation>;
    static_assert(present,
                  "the request has no immediate data: prepare send_with_immediate(...) or "
                  "write_with_immediate(...)");
    if constexpr (present) immediate_field{in_network_order(data)}.fill(native_);
    return self();
  }

  /// Sets both values of a compare-and-swap.
  Self& values(const compare_and_swap_values& values) & noexcept {
    constexpr bool present = std::is_base_of_v<compare_and_swap_fields, operation>;
    static_assert(present, "only a compare_and_swap(...) has values");
    if constexpr (present) compare_and_swap_fields{values.expected, values.desired}.fill(native_);
    return self();
  }

  /// Sets the addend of a fetch-and-add.
  Self& addend(std::uint64_t number) & noexcept {
    constexpr bool present = std::is_base_of_v<addend_field, operation>;
    static_assert(present, "only a fetch_and_add(...) has an addend");
    if constexpr (present) addend_field{number}.fill(native_);
    return self();
  }

  /// Sets the key to invalidate: the peer's for a send with invalidate, otherwise a local key.
  Self& invalidated_key(rkey key) & noexcept {
    constexpr bool present = std::is_base_of_v<invalidate_fields, operation>;
    static_assert(present,
                  "the request invalidates no key: prepare send_with_invalidate(...) or "
                  "local_invalidate(...)");
    if constexpr (present) invalidate_fields{static_cast<std::uint32_t>(key)}.fill(native_);
    return self();
  }

  /// Sets the destination of a datagram (UD).
  Self& to(const datagram_destination& there) & noexcept {
    return redirect<datagram_fields>(there);
  }
  /// Sets the shared receive queue of the peer (XRC).
  Self& to(shared_receive_queue_number there) & noexcept {
    return redirect<shared_receive_queue_field>(there);
  }

  /// Sets the payload, with the same kind and number of pieces as before: a buffer (mutable if data
  /// arrives there), inline data, or a list of either. `Index` selects a buffer or a piece of
  /// inline data.
  template <std::size_t Index = 0, class Piece>
  Self& payload(const Piece& piece) & noexcept {
    return set_payload<Index>(piece, [](ibv_sge& element, const ibv_sge& from) {
      element.addr = from.addr;
      element.length = from.length;
      element.lkey = from.lkey;
    });
  }
  /// Sets one buffer to another one with the same key, for one store less. Terminates the program
  /// if the key differs (ADVERB_HARDENING_DEBUG).
  template <std::size_t Index = 0, class Buffer>
  Self& move_payload(const Buffer& buffer) & noexcept {
    constexpr bool is_buffer = std::convertible_to<Buffer, const_buffer>;
    static_assert(is_buffer, "only a buffer has a key: set lists and inline data by payload()");
    if constexpr (is_buffer)
      set_payload<Index>(buffer, [](ibv_sge& element, const ibv_sge& from) {
        require_same_key("prepared_request::move_payload", "payload()", element.lkey, from.lkey);
        element.addr = from.addr;
        element.length = from.length;
      });
    return self();
  }

  /// Returns the C struct.
  [[nodiscard]] const native_type& native() const noexcept { return native_; }

 protected:
  explicit patchable_request(const Request& request) noexcept {
    request.fill(native_, nullptr, elements_);
  }
  patchable_request(const patchable_request& other) noexcept
      : native_{other.native_}, elements_{other.elements_} {
    native_.next = nullptr;
    use_own_elements();
  }
  patchable_request& operator=(const patchable_request& other) noexcept {
    native_type* const next = native_.next;
    native_ = other.native_;
    native_.next = next;
    elements_ = other.elements_;
    use_own_elements();
    return *this;
  }
  ~patchable_request() = default;

  /// Returns the struct for a post. The C API takes a non-const pointer but only reads the struct.
  [[nodiscard]] native_type* for_post() const noexcept {
    return const_cast<native_type*>(&native_);
  }

  void move_buffer(std::uint64_t address) noexcept { elements_[0].addr = address; }

  native_type native_{};

 private:
  [[nodiscard]] Self& self() noexcept { return static_cast<Self&>(*this); }

  /// Calls `store` with the C struct, and with the fields of remote memory.
  template <class T, access_rights Rights, class Store>
  void with_remote(const remote_buffer<T, Rights>& there, const Store& store) noexcept {
    constexpr bool present = has_remote_memory<operation>;
    static_assert(
        present,
        "the request has no remote memory: only writes, reads and atomic operations have it");
    if constexpr (present) {
      operation::template check_remote<T, Rights>();
      store(fields_of<typename operation::remote_type>(there), native_);
    }
  }

  /// Lowers a payload, and calls `store` with the element of a single piece and its new value.
  template <std::size_t Index, class Piece, class Store>
  Self& set_payload(const Piece& piece, const Store& store) noexcept {
    const auto lowered = [&] {
      if constexpr (gets_data<operation>)
        return scatter(piece);
      else
        return gather(piece);
    }();
    using lowered_type = std::remove_const_t<decltype(lowered)>;
    constexpr std::size_t count = held_pieces<payload_type>;
    constexpr bool whole_list = is_list<payload_type> && Index == 0;
    static_assert(Index < count || whole_list,
                  "the request was prepared with fewer pieces of payload");
    if constexpr (whole_list) {
      constexpr bool same = std::same_as<lowered_type, payload_type>;
      constexpr bool is_inline = payload_type::send_flags != 0;
      static_assert(same || is_inline,
                    "the request was prepared with a list of buffers: pass another std::span of "
                    "buffers of this type, or change the elements of the prepared one");
      static_assert(same || !is_inline,
                    "the request was prepared with a list of inline data: pass another std::span "
                    "of inline_data, or change the elements of the prepared one");
      if constexpr (same) {
        native_.sg_list = lowered.lower(elements_);
        native_.num_sge = lowered.count();
      }
    } else if constexpr (Index < count) {
      constexpr bool same =
          payload_type::send_flags == lowered_type::send_flags && held_pieces<lowered_type> == 1;
      static_assert(same,
                    "the payload must be of the same kind as in the prepared request: a buffer, or "
                    "inline_data");
      if constexpr (same) {
        store(elements_[Index], lowered.elements[0]);
      }
    }
    return self();
  }

  static void require_same_key(const char* call, std::string_view setter, std::uint32_t before,
                               std::uint32_t now) noexcept {
    if constexpr (hardened(ADVERB_HARDENING_DEBUG))
      if (before != now) [[unlikely]]
        end_program(call, [&](failure_description& description) {
          description.explain("the buffer has another key than the request: set it by {}",
                              {setter});
        });
  }

  template <class Fields, class There>
  Self& redirect(const There& there) noexcept {
    constexpr bool present = [] {
      if constexpr (sends) return Request::destination == Fields::kind;
      return false;
    }();
    static_assert(present,
                  "the request was prepared without a destination of this kind: add "
                  ".to(destination) before preparing it");
    if constexpr (present) Fields{there}.fill(native_);
    return self();
  }

  void use_own_elements() noexcept {
    if constexpr (held_pieces<payload_type> > 0) native_.sg_list = elements_.data();
  }

  [[no_unique_address]] memory elements_{};
};

}  // namespace adverb::inline ADVERB_ABI::detail
