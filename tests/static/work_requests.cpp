// SPDX-License-Identifier: MIT
// The requests that each queue pair takes, over the whole of request x transport x state, in both
// engines. The table is the one of transport functions of the InfiniBand specification (volume 1,
// chapter 9, annexes 14 on XRC and 19 on flushes and atomic writes) and of ibv_post_send(3) and
// ibv_wr_post(3), written down by hand: what it shared with the library's could not show a mistake
// in that.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <adverb/adverb.hpp>

using namespace adverb;

namespace {

// The transports, in the order of the columns.
constexpr std::array transports{transport::rc,       transport::uc,       transport::ud,
                                transport::xrc_send, transport::xrc_recv, transport::raw_packet,
                                transport::driver};

// The states, in which sends are taken, and receives.
struct state_row {
  qp_state state;
  bool sends;
  bool receives;
};
constexpr std::array states{
    state_row{qp_state::reset, false, false}, state_row{qp_state::init, false, true},
    state_row{qp_state::rtr, false, true}, state_row{qp_state::rts, true, true},
    state_row{qp_state::sqd, true, true},
    // The specification lets sends be posted in SQE, of which none would be carried out.
    state_row{qp_state::sqe, false, true}, state_row{qp_state::error, true, true},
    // A type without a known state takes nothing.
    state_row{qp_state::any, false, false}};

// The engines that have a request.
enum class engines { both, classic, extended };

using remote_words =
    remote_buffer<std::uint64_t, access_right::remote_read | access_right::remote_write |
                                     access_right::remote_atomic | access_right::flush_global>;

// The requests that may have a destination.
template <class Request>
using datagram = decltype(std::declval<Request>().to(std::declval<datagram_destination>()));
template <class Request>
using to_shared_queue =
    decltype(std::declval<Request>().to(std::declval<shared_receive_queue_number>()));
template <class Request>
using fenced = decltype(std::declval<Request>().fenced());

template <class Request, std::size_t Transport, std::size_t State>
consteval bool classic_takes() {
  return can_post<queue_pair<transports[Transport], states[State].state>, Request>;
}
template <class Request, std::size_t Transport>
consteval bool extended_takes() {
  constexpr transport service = transports[Transport];
  constexpr send_operations all = send_operations::from_bits((1U << 13) - 1);
  return can_post<extended_sender<service, all>, Request> &&
         !can_post<extended_sender<service, send_operations{}>, Request>;
}

template <class Request, std::size_t Transport, std::size_t... State>
consteval bool column_is(bool taken, bool in_classic, bool in_extended, bool is_receive,
                         std::index_sequence<State...>) {
  return ((classic_takes<Request, Transport, State>() ==
           (taken && in_classic && (is_receive ? states[State].receives : states[State].sends))) &&
          ...) &&
         extended_takes<Request, Transport>() == (taken && in_extended);
}

template <class Request, std::size_t... Transport>
consteval bool row_is(const char* row, bool in_classic, bool in_extended, bool is_receive,
                      std::index_sequence<Transport...>) {
  return (column_is<Request, Transport>(row[Transport] == 'x', in_classic, in_extended, is_receive,
                                        std::make_index_sequence<states.size()>{}) &&
          ...);
}

// True if the transports with an x take a request, in the right states, and no others do.
template <class Request>
consteval bool sent_by(const char (&row)[8], engines which = engines::both) {
  return row_is<Request>(row, which != engines::extended, which != engines::classic, false,
                         std::make_index_sequence<transports.size()>{});
}
template <class Request>
consteval bool received_by(const char (&row)[8]) {
  return row_is<Request>(row, true, false, true, std::make_index_sequence<transports.size()>{});
}

// A request without a destination, the same with that of a datagram, and of an XRC request.
template <class Request>
consteval bool sent_by(const char (&plain)[8], const char (&to_datagram)[8],
                       const char (&to_queue)[8], engines which = engines::both) {
  return sent_by<Request>(plain, which) && sent_by<datagram<Request>>(to_datagram, which) &&
         sent_by<to_shared_queue<Request>>(to_queue, which);
}

// The requests with each kind of payload.
template <class Payload>
using send_of = decltype(send(std::declval<Payload>()));
template <class Payload>
using write_of = decltype(write(remote_words{}, std::declval<Payload>()));

template <class... Payload>
using immediate_type = decltype(send_with_immediate(immediate{}, std::declval<Payload>()...));
template <class... Payload>
using invalidate_type = decltype(send_with_invalidate(rkey{}, std::declval<Payload>()...));
template <class... Payload>
using write_immediate_type =
    decltype(write_with_immediate(remote_words{}, immediate{}, std::declval<Payload>()...));
template <class... Payload>
using segmented_type =
    decltype(send_segmented(std::span<const std::byte>{}, 1000, std::declval<Payload>()...));

using read_type = decltype(read(remote_words{}, mutable_buffer{}));
using swap_type = decltype(compare_and_swap(remote_words{}, {}, mutable_buffer{}));
using add_type = decltype(fetch_and_add(remote_words{}, 1, mutable_buffer{}));
using atomic_write_type = decltype(atomic_write(remote_words{}, 1));
using flush_type = decltype(flush(remote_words{}, placement::global));
using flush_region_type = decltype(flush_region(remote_words{}, placement::global));
using bind_type = decltype(bind_window(window_binding<window_type::two>{}));
using local_invalidate_type = decltype(local_invalidate(rkey{}));
using receive_type = decltype(receive(mutable_buffer{}));

using buffer_list = std::span<const const_buffer>;
using inline_list = std::span<const inline_data>;

// Columns: RC, UC, UD, XRC initiator, XRC target, raw packet, driver; without a destination, to
// that of a datagram, to the number of a shared receive queue.
//                                      RUDITPd    RUDITPd    RUDITPd
static_assert(sent_by<send_of<mutable_buffer>>("xx...xx", "..x...x", "...x..x"));
static_assert(sent_by<send_of<buffer_list>>("xx...xx", "..x...x", "...x..x"));
static_assert(sent_by<send_of<inline_data>>("xx...xx", "..x...x", "...x..x"));
static_assert(sent_by<send_of<inline_list>>("xx...xx", "..x...x", "...x..x"));
static_assert(sent_by<immediate_type<mutable_buffer>>("xx....x", "..x...x", "...x..x"));
static_assert(sent_by<immediate_type<inline_data>>("xx....x", "..x...x", "...x..x"));
static_assert(sent_by<invalidate_type<mutable_buffer>>("xx....x", "......x", "...x..x"));
static_assert(sent_by<invalidate_type<inline_data>>("xx....x", "......x", "...x..x"));
static_assert(sent_by<segmented_type<mutable_buffer>>(".....xx", "..x...x", "......x"));
static_assert(sent_by<write_of<mutable_buffer>>("xx....x", "......x", "...x..x"));
static_assert(sent_by<write_of<buffer_list>>("xx....x", "......x", "...x..x"));
static_assert(sent_by<write_of<inline_data>>("xx....x", "......x", "...x..x"));
static_assert(sent_by<write_of<inline_list>>("xx....x", "......x", "...x..x"));
static_assert(sent_by<write_immediate_type<mutable_buffer>>("xx....x", "......x", "...x..x"));
static_assert(sent_by<write_immediate_type<inline_data>>("xx....x", "......x", "...x..x"));
static_assert(sent_by<read_type>("x.....x", "......x", "...x..x"));
static_assert(sent_by<swap_type>("x.....x", "......x", "...x..x"));
static_assert(sent_by<add_type>("x.....x", "......x", "...x..x"));
static_assert(sent_by<bind_type>("xx.x..x", "......x", "......x"));
static_assert(sent_by<local_invalidate_type>("xx.x..x", "......x", "......x"));

// Only the extended calls have these, and not those of every rdma-core.
template <class Sender>
constexpr bool declares_atomic_write = requires(Sender* sender, const void* value) {
  ibv_wr_atomic_write(sender, std::uint32_t{}, std::uint64_t{}, value);
};
template <class Sender>
constexpr bool declares_flush = requires(Sender* sender) {
  ibv_wr_flush(sender, std::uint32_t{}, std::uint64_t{}, std::size_t{}, std::uint8_t{},
               std::uint8_t{});
};
template <class Request>
consteval bool sent_by_later(bool declared) {
  if (!declared) return sent_by<Request>(".......", ".......", ".......");
  return sent_by<Request>("x.....x", "......x", "...x..x", engines::extended);
}
static_assert(sent_by_later<atomic_write_type>(declares_atomic_write<ibv_qp_ex>));
static_assert(sent_by_later<flush_type>(declares_flush<ibv_qp_ex>));
static_assert(sent_by_later<flush_region_type>(declares_flush<ibv_qp_ex>));
static_assert(sent_by_later<fenced<flush_type>>(declares_flush<ibv_qp_ex>));

// A fence waits for reads and atomics.
static_assert(sent_by<fenced<send_of<mutable_buffer>>>("x.....x", "......x", "...x..x"));
static_assert(sent_by<fenced<immediate_type<inline_data>>>("x.....x", "......x", "...x..x"));
static_assert(sent_by<fenced<invalidate_type<>>>("x.....x", "......x", "...x..x"));
static_assert(sent_by<fenced<write_of<inline_list>>>("x.....x", "......x", "...x..x"));
static_assert(sent_by<fenced<write_immediate_type<>>>("x.....x", "......x", "...x..x"));
static_assert(sent_by<fenced<read_type>>("x.....x", "......x", "...x..x"));
static_assert(sent_by<fenced<swap_type>>("x.....x", "......x", "...x..x"));
static_assert(sent_by<fenced<add_type>>("x.....x", "......x", "...x..x"));
static_assert(sent_by<fenced<bind_type>>("x..x..x", "......x", "......x"));
static_assert(sent_by<fenced<local_invalidate_type>>("x..x..x", "......x", "......x"));

// An XRC initiator receives nothing, and a target what arrives for a shared receive queue.
static_assert(received_by<receive_type>("xxx..xx"));

// No sender takes a value that is no request, and an object that is no sender takes no request.
static_assert(sent_by<int>("......."));
static_assert(sent_by<mutable_buffer>("......."));
static_assert(!can_post<int, send_of<mutable_buffer>>);
static_assert(!can_post<mutable_buffer, receive_type>);
static_assert(can_post<queue_pair_ref<transport::rc>, send_of<mutable_buffer>>);
static_assert(!can_post<queue_pair_ref<transport::rc>, datagram<send_of<mutable_buffer>>>);

// A sender takes what it was made for.
using writer = extended_sender<transport::uc, send_operation::write>;
static_assert(can_post<writer, write_of<mutable_buffer>>);
static_assert(!can_post<writer, send_of<mutable_buffer>>);
static_assert(can_post<extended_sender<transport::rc>, read_type>);
static_assert(!can_post<extended_sender<transport::rc>, bind_type>);

// A queue pair can be made for the operations that its transport carries.
static_assert(detail::operations_carried_by(transport::xrc_recv).empty());
static_assert(detail::operations_carried_by(transport::driver).bits() == (1U << 13) - 1);
static_assert(detail::operations_carried_by(transport::raw_packet) ==
              (send_operation::send | send_operation::tcp_segmentation));
static_assert(detail::operations_carried_by(transport::ud) ==
              (send_operation::send | send_operation::send_with_immediate |
               send_operation::tcp_segmentation));

}  // namespace
