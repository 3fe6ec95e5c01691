// SPDX-License-Identifier: MIT
// Links: what the operations of one connection share.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <adverb/async/completion_dispatcher.hpp>
#include <adverb/async/operation.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/cm/connection.hpp>
#include <adverb/cm/connection_request.hpp>
#include <adverb/cm/connector.hpp>
#include <adverb/cm/datagram_endpoint.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/memory/memory_region.hpp>
#include <adverb/queue/queue_pair.hpp>
#include <adverb/queue/send_window.hpp>
#include <adverb/request/prepared_request.hpp>
#include <adverb/request/requests.hpp>
#include <adverb/version.hpp>

#if defined(ADVERB_POISON_BLOCKS)
extern "C" void __asan_poison_memory_region(const volatile void* address, std::size_t size);
extern "C" void __asan_unpoison_memory_region(const volatile void* address, std::size_t size);
#endif

namespace adverb::inline ADVERB_ABI::async {

class device_loop;
class link;

}  // namespace adverb::inline ADVERB_ABI::async

namespace adverb::inline ADVERB_ABI::detail {

/// What a loop has for one device.
struct loop_device;
class shared_receives;
class connecting;

/// Receives the events of an identifier of the connection manager: the user context of every
/// identifier of a loop.
class async_event_target {
 public:
  /// Takes an event of the identifier.
  virtual void handle(cm::event& happened) = 0;

 protected:
  async_event_target() = default;
  async_event_target(const async_event_target&) = default;
  async_event_target& operator=(const async_event_target&) = default;
  ~async_event_target() = default;
};

/// A request in progress that a waiter waits for. The link owns it, because the device may complete
/// it after the waiter has gone.
struct request_slot : async::operation {
  explicit request_slot(async::link& of) noexcept : operation{nullptr}, owner{&of} {}
  /// Returns true while its request is in progress.
  [[nodiscard]] bool is_taken() const noexcept { return next_free == this; }

  async::link* owner;
  /// What waits for it; null if nobody does.
  void* waiting = nullptr;
  request_slot* next_free = nullptr;
};

/// A block that receives one message at a time. It stays where it is.
struct receive_block : async::operation {
  receive_block(async::link& of, mutable_buffer buffer) noexcept;
  receive_block(function* completed, mutable_buffer buffer) noexcept
      : operation{completed},
        memory{buffer},
        request{receive(buffer).id(static_cast<operation*>(this))} {}
  /// The link of a shared block is that of its message.
  async::link* owner = nullptr;
  mutable_buffer memory;
  /// What posts it, built once.
  prepared_request<decltype(receive(std::declval<mutable_buffer>()))> request;
  receive_block* next = nullptr;
  completion received;
};

#if defined(ADVERB_POISON_BLOCKS)
/// The address sanitizer reports accesses to blocks that hold no message. Not for providers that
/// copy messages into their blocks themselves, such as mlx5.
inline constexpr bool poisons_blocks = true;
inline void poison(std::span<const std::byte> memory) noexcept {
  __asan_poison_memory_region(memory.data(), memory.size());
}
inline void unpoison(std::span<const std::byte> memory) noexcept {
  __asan_unpoison_memory_region(memory.data(), memory.size());
}
#else
inline constexpr bool poisons_blocks = false;
inline void poison(std::span<const std::byte> /*memory*/) noexcept {}
inline void unpoison(std::span<const std::byte> /*memory*/) noexcept {}
#endif

/// The memory of blocks of one size, and its registration. It is poisoned but for the messages.
class block_memory {
 public:
  block_memory() noexcept = default;
  block_memory(protection_domain_ref domain, std::uint32_t count, std::uint32_t size,
               on_failure policy)
      : bytes_{std::make_unique<std::byte[]>(std::size_t{count} * size)},
        region_{domain, std::span{bytes_.get(), std::size_t{count} * size},
                access_right::local_write, policy} {
    if (region_) blocks_ = region_.blocks(size);
    poison({bytes_.get(), std::size_t{count} * size});
  }
  [[nodiscard]] mutable_buffer operator[](std::size_t index) const noexcept {
    return blocks_[index];
  }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  memory_region region_;
  buffer_blocks<mutable_buffer> blocks_;
};

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::async {

/// The options of an asynchronous connection.
struct link_options {
  /// Maximum number of requests in progress. Later sends wait for room.
  std::uint32_t max_send_wr = 32;
  /// Number of blocks that are posted as receives. The peer can send this many messages before the
  /// program has taken the first.
  std::uint32_t receives = 32;
  /// Size of each block in bytes: of the longest message.
  std::uint32_t block_size = 4096;
  /// Takes the receives from those that the connections of the loop share
  /// (`device_loop_options::shared_receives`), not from `receives` blocks of its own.
  bool shared = false;
  /// Minimum number of elements of a request.
  std::uint32_t max_send_sge = 1;
  /// Minimum number of bytes that a request can carry inline.
  std::uint32_t max_inline_data = 0;
  /// The time for the peer to answer a connect, and to complete an accepted connection. The step
  /// fails with ETIMEDOUT afterwards. It may be late by 20 milliseconds.
  timeout connect_timeout = detail::seconds{10};
  /// The time for the peer and the device to answer the end of the connection. Afterwards the loop
  /// destroys the queue pair, `disconnect` fails with ETIMEDOUT, and other steps in progress with
  /// ECONNRESET. It may be late by 20 milliseconds.
  timeout end_timeout = detail::seconds{2};
  /// The parameters for the peer. More than one read at a time needs `initiator_depth`.
  cm::connection_parameters connection{};
};

/// A received message: a block of the connection, which is posted again when this object is
/// destroyed. It must not outlive the loop. An empty message means that the peer has ended the
/// connection. Not thread safe: used by the thread of its loop.
class [[nodiscard]] message {
 public:
  /// Makes an empty message.
  message() noexcept = default;
  message(message&& other) noexcept : block_{std::exchange(other.block_, nullptr)} {}
  message& operator=(message&& other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~message() {
    if (block_ != nullptr) give_back(*block_);
  }

  [[nodiscard]] explicit operator bool() const noexcept { return block_ != nullptr; }

  /// Returns the fields of the receive: its length, and the immediate data. Empty for an empty
  /// message.
  [[nodiscard]] received_message fields() const noexcept {
    static constexpr ibv_wc none{};
    return block_ != nullptr ? block_->received.success().receive() : received_message{none, false};
  }
  /// Returns the bytes of the message; none for a peer's write with immediate.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return block_ != nullptr ? bytes_of(*block_) : std::span<const std::byte>{};
  }
  /// Returns the bytes of the message as registered memory, to send them on. The message must stay
  /// until that has completed.
  [[nodiscard]] const_buffer buffer() const noexcept;

 private:
  friend class link;
  friend class datagram;

  explicit message(detail::receive_block& block) noexcept : block_{&block} {}

  static std::span<const std::byte> bytes_of(const detail::receive_block& block) noexcept;
  static void give_back(detail::receive_block& block) noexcept;

  detail::receive_block* block_ = nullptr;
};

/// What the operations of one reliable connection share: its queue pair, the posted receives, the
/// arrived messages, and the requests in progress. A `connection` refers to one. The loop owns it,
/// and destroys it when the device has let go of its memory. That of datagrams derives from it.
///
/// Not thread safe: used by the thread of its loop.
class link : public detail::async_event_target {
 public:
  /// Makes a link without a queue pair. `device_loop::add_link` does.
  link(device_loop& loop, detail::loop_device& device) noexcept;
  link(const link&) = delete;
  link& operator=(const link&) = delete;
  virtual ~link();

  /// Posts requests that nobody waits for, with one doorbell. They are unsignaled: the completion
  /// of a later request releases them. The result is full() if there is no room. A failure ends the
  /// connection. Wraps: ibv_post_send(3).
  template <class... Requests>
  [[gnu::always_inline]] send_window_result post(const Requests&... requests) noexcept {
    if (state_ != state::open || !room_.empty()) [[unlikely]]
      return refuse_post();
    return window_.post(requests.id(&unattended_)...);
  }

  /// Starts the deadline: what is waiting when it passes ends with ETIMEDOUT, and so does the
  /// connection. Replaces an earlier deadline.
  void expires_after(timeout limit) noexcept;

  /// Ends the connection: what is in progress ends with ECANCELED, as soon as the device has let go
  /// of it.
  void cancel() noexcept { end(ECANCELED); }
  /// Ends the waits for messages, for room and for the end, with ECANCELED. What is posted stays.
  void cancel_waits() noexcept;

  /// Returns its loop.
  [[nodiscard]] device_loop& loop() const noexcept { return *loop_; }
  /// Returns the queue pair; empty once the link has let go of it, or if it is of datagrams.
  [[nodiscard]] queue_pair_ref<transport::rc, qp_state::rts> queue_pair() const noexcept {
    std::error_code none;
    return queue_pair_ref<transport::rc, qp_state::any>{adopt, pair_, none}.as<qp_state::rts>();
  }
  /// Returns the domain in which its memory is registered.
  [[nodiscard]] protection_domain_ref domain() const noexcept { return pair_->pd; }
  /// Returns the connection of librdmacm, or null before it is established or without librdmacm.
  [[nodiscard]] cm::connection<>* established() noexcept {
    return std::get_if<cm::connection<>>(&holder_);
  }
  /// Returns true until either side has ended the connection.
  [[nodiscard]] bool is_open() const noexcept { return state_ == state::open; }

  // For the operations.

  /// Returns true if a message has arrived, or if none will.
  [[nodiscard]] bool has_message() const noexcept {
    return arrived_first_ != nullptr || has_no_more_messages();
  }
  /// Returns the next message. Returns an empty one, or reports why, if none will come.
  [[nodiscard]] message take_message(on_failure policy);
  /// Reports why the connection has ended.
  [[gnu::cold]] void report(std::string_view verb, on_failure policy) const;

  /// Returns those that wait for a message.
  [[nodiscard]] waiter_list& message_waiters() noexcept { return messages_; }
  /// Returns those that wait for room.
  [[nodiscard]] waiter_list& room_waiters() noexcept { return room_; }
  /// Returns those that wait for the end.
  [[nodiscard]] waiter_list& end_waiters() noexcept { return ends_; }
  /// Returns true while `cancel_waits` takes effect.
  [[nodiscard]] bool is_cancelling_waits() const noexcept { return waits_cancelled_; }
  /// Returns true if the peer has ended the connection or confirmed its end.
  [[nodiscard]] bool has_peer_ended() const noexcept { return peer_ended_; }
  /// Reports whether the peer has confirmed the end.
  void report_end(on_failure policy) const;

  /// Posts requests, of which the last completes `completed` with this slot. Returns false with a
  /// clear `result` if there is no room.
  template <class... Requests>
  [[gnu::always_inline]] send_window_result post_for(void* waiting, operation::function* function,
                                                     const std::tuple<Requests...>& requests) {
    const auto post = [this](const auto&... each)
                          __attribute__((always_inline)) { return window_.post(each...); };
    return post_through(post, unattended_, waiting, function, requests);
  }
  /// The same, through the window of any transport: `post` posts the requests.
  // Not through a reference to the window, which would be kept in a register.
  template <class Post, class... Requests>
  [[gnu::always_inline]] send_window_result post_through(const Post& post, operation& unattended,
                                                         void* waiting,
                                                         operation::function* function,
                                                         const std::tuple<Requests...>& requests) {
    detail::request_slot* const slot = free_slots_;
    if (slot == nullptr) [[unlikely]]
      return full();
    slot->set(function);
    slot->waiting = waiting;
    const auto post_each =
        [&]<std::size_t... Index>(std::index_sequence<Index...>) __attribute__((always_inline)) {
          constexpr std::size_t last = sizeof...(Requests) - 1;
          return post(std::get<Index>(requests)
                          .id(Index == last ? static_cast<operation*>(slot) : &unattended)
                          .signaled(Index == last || std::get<Index>(requests).is_signaled())...);
        };
    const send_window_result posted = post_each(std::index_sequence_for<Requests...>{});
    if (posted) [[likely]] {
      take(*slot);
    } else if (posted.accepted().value_or(1) != 0) {
      // The device may use the memory of the accepted requests, so the waiter has to wait.
      take(*slot);
      end(posted.code().value());
      return post_result{};
    }
    return posted;
  }

  /// Takes back the slot of a completed request.
  [[gnu::always_inline]] void completed(detail::request_slot& slot, const completion& each) {
    put_back(slot);
    retire(each);
  }
  /// Calls a function, and then lets those go on who wait for room.
  template <class Function>
  [[gnu::always_inline]] void serve_room_after(const Function& function) {
    rest_for_settle rest{*this};
    function();
    if (!room_.empty()) [[unlikely]]
      room_.resume();
    rest.is_done();
  }

  /// Forgets who waited for a request, and ends the connection, because the device may still use
  /// the memory of the one who went.
  void abandon(void* waiting) noexcept;

 private:
  friend class device_loop;
  friend class message;
  friend struct detail::receive_block;
  friend class detail::shared_receives;
  friend class detail::connecting;
  friend class connection;
  friend class datagram_endpoint;
  friend class datagram_link;

  enum class state : std::uint8_t {
    /// The queue pair is not connected yet.
    opening,
    open,
    /// The queue pair is in ERR, or on its way.
    ending,
  };
  using holder = std::variant<std::monostate, cm::connector<transport::rc, cm::step::ready>,
                              cm::connection_request<transport::rc, cm::step::ready>,
                              cm::connection<>, cm::datagram_endpoint,
                              adverb::queue_pair<transport::rc>, adverb::queue_pair<transport::ud>>;

  [[gnu::always_inline]] void put_back(detail::request_slot& slot) noexcept {
    slot.next_free = free_slots_;
    free_slots_ = &slot;
    --busy_;
  }

  /// Has `settle` do what a handler that throws leaves undone.
  class rest_for_settle {
   public:
    explicit rest_for_settle(link& of) noexcept : link_{&of} {}
    rest_for_settle(const rest_for_settle&) = delete;
    rest_for_settle& operator=(const rest_for_settle&) = delete;
    ~rest_for_settle() {
      if (link_ != nullptr) [[unlikely]]
        link_->need_care();
    }
    void is_done() noexcept { link_ = nullptr; }

   private:
    link* link_;
  };

  /// Counts the completion of a send.
  [[gnu::always_inline]] void retire(const completion& each) {
    if (each.status() != completion_status::success) [[unlikely]]
      note_failure(each);
    window_.unchecked_completed(each.status());
  }
  static void complete_unattended(operation& which, const completion& each);
  static void complete_receive(operation& which, const completion& each);

  /// Creates the window, the slots and the blocks, and posts the blocks.
  void prepare(queue_pair_ref<transport::rc, qp_state::any> pair, const link_options& options,
               on_failure policy);
  /// Creates the slots and the blocks, and posts the blocks.
  void fill(ibv_qp* pair, const link_options& options, on_failure policy);
  /// Takes its messages from the shared blocks.
  void share(on_failure policy);
  /// Takes over a queue pair that was connected without librdmacm.
  void take_over(adverb::queue_pair<transport::rc>&& pair, const link_options& options,
                 on_failure policy);
  void open(cm::connection<>&& connection) noexcept;
  void open_without_peer() noexcept;
  /// The handle of the program has gone.
  void abandon() noexcept;
  void post_receive(detail::receive_block& block) noexcept;
  void give_back(detail::receive_block& block) noexcept;
  /// Takes back a block that is not the link's, or that the link does not post again.
  void give_back_elsewhere(detail::receive_block& block) noexcept;
  /// Takes a received message.
  [[gnu::always_inline]] void arrive(detail::receive_block& block, const completion& each) {
    block.received = each;
    block.next = nullptr;
    if constexpr (detail::poisons_blocks) detail::unpoison(message::bytes_of(block));
    (arrived_first_ == nullptr ? arrived_first_ : arrived_last_->next) = &block;
    arrived_last_ = &block;
    ++held_;
    messages_.resume_first();
  }

  /// Ends the connection with this errno, unless it has ended.
  void end(int reason) noexcept;
  void enter_error();
  void tick(std::int64_t now);
  void handle(cm::event& happened) override;
  [[gnu::cold]] void note_failure(const completion& each) noexcept;
  [[gnu::cold]] [[nodiscard]] send_window_result refuse_post() const noexcept;
  [[gnu::cold]] [[nodiscard]] send_window_result full() const noexcept;
  void take(detail::request_slot& slot) noexcept {
    free_slots_ = slot.next_free;
    slot.next_free = &slot;  // Marks it as taken.
    ++busy_;
  }

  [[nodiscard]] bool has_no_more_messages() const noexcept {
    return state_ == state::ending && posted_ == 0 && (reason_ != 0 || why_ != nullptr);
  }
  /// Returns the number of messages that nobody has taken.
  [[nodiscard]] std::uint32_t unclaimed() const noexcept {
    std::uint32_t count = 0;
    for (const auto* each = arrived_first_; each != nullptr; each = each->next) ++count;
    return count;
  }
  [[nodiscard]] bool is_idle() const noexcept;
  [[gnu::cold]] void need_care() noexcept;
  /// Returns true if no request is left in ERR, and no peer confirms the end.
  [[nodiscard]] bool is_flushed() const noexcept {
    return entered_error_ && has_no_peer_ && busy_ == 0 && posted_ == 0;
  }
  /// Does what must not be done while a completion is passed on. Returns true if the link can be
  /// destroyed.
  [[nodiscard]] bool care();
  /// Destroys the queue pair, and completes what it left.
  void let_go();
  [[nodiscard]] bool is_anything_waiting() const noexcept {
    return busy_ != 0 || !messages_.empty() || !room_.empty() || !ends_.empty();
  }

  /// How long an iWARP device has to flush requests after the end, in nanoseconds.
  static constexpr std::int64_t longest_flush = 20'000'000;

  device_loop* loop_;
  detail::loop_device* device_;
  ibv_qp* pair_ = nullptr;
  send_window<queue_pair_ref<transport::rc, qp_state::rts>> window_;
  detail::request_slot* free_slots_ = nullptr;
  std::uint32_t busy_ = 0;
  std::uint32_t posted_ = 0;
  std::uint32_t held_ = 0;
  state state_ = state::opening;
  bool peer_ended_ = false;
  bool has_given_up_ = false;
  bool is_abandoned_ = false;
  bool was_connected_ = false;
  bool needs_care_ = false;
  bool entered_error_ = false;
  bool is_timed_ = false;
  bool waits_cancelled_ = false;
  bool has_let_go_ = false;
  /// The end is that of the queue pair: librdmacm has not connected it.
  bool has_no_peer_ = false;
  /// Whether the block of a message is posted again to the queue pair.
  bool posts_again_ = false;
  /// The errno of the end; 0 while unknown.
  int reason_ = 0;
  detail::receive_block* arrived_first_ = nullptr;
  detail::receive_block* arrived_last_ = nullptr;
  waiter_list messages_;
  waiter_list room_;
  waiter_list ends_;
  /// In nanoseconds of the loop's clock.
  std::int64_t deadline_ = 0;
  std::int64_t ending_since_ = 0;
  timeout end_timeout_ = link_options{}.end_timeout;
  /// The operation of every request that nobody waits for.
  struct unattended_operation : operation {
    explicit unattended_operation(link& of, function* completed = &complete_unattended) noexcept
        : operation{completed}, owner{&of} {}
    link* owner;
  } unattended_{*this};
  /// The first failure of a request.
  std::unique_ptr<failure> why_;
  std::vector<detail::request_slot> slots_;
  std::vector<detail::receive_block> blocks_;
  detail::block_memory memory_;
  /// The blocks that it shares with others; null if it has its own.
  detail::shared_receives* shared_ = nullptr;
  completion_reservation for_receives_;
  // Destroyed before the memory, so that the device has let go of it.
  holder holder_;
};

inline const_buffer message::buffer() const noexcept {
  if (block_ == nullptr) return {};
  return const_buffer{block_->memory}.unchecked_slice(0,
                                                      static_cast<std::uint32_t>(bytes().size()));
}
inline std::span<const std::byte> message::bytes_of(const detail::receive_block& block) noexcept {
  const ibv_wc& received = block.received.native();
  return {reinterpret_cast<const std::byte*>(block.memory.address()),
          received.opcode == IBV_WC_RECV_RDMA_WITH_IMM ? 0 : received.byte_len};
}
inline void message::give_back(detail::receive_block& block) noexcept {
  block.owner->give_back(block);
}

inline void link::complete_unattended(operation& which, const completion& each) {
  link& self = *static_cast<unattended_operation&>(which).owner;
  self.serve_room_after([&] { self.retire(each); });
}

inline void link::complete_receive(operation& which, const completion& each) {
  auto& block = static_cast<detail::receive_block&>(which);
  link& self = *block.owner;
  --self.posted_;
  if (each.status() != completion_status::success) [[unlikely]]
    return self.note_failure(each);
  self.arrive(block, each);
}

inline void link::post_receive(detail::receive_block& block) noexcept {
  const post_result posted = detail::post<transport::rc, qp_state::rts>(pair_, block.request);
  if (posted) [[likely]]
    ++posted_;
  else
    end(posted.code().value());
}

inline void link::give_back(detail::receive_block& block) noexcept {
  if constexpr (detail::poisons_blocks) detail::poison(message::bytes_of(block));
  --held_;
  if (posts_again_) [[likely]]
    post_receive(block);
  else
    give_back_elsewhere(block);
}

}  // namespace adverb::inline ADVERB_ABI::async

namespace adverb::inline ADVERB_ABI::detail {

inline receive_block::receive_block(async::link& of, mutable_buffer buffer) noexcept
    : receive_block{&async::link::complete_receive, buffer} {
  owner = &of;
}

}  // namespace adverb::inline ADVERB_ABI::detail
