// SPDX-License-Identifier: MIT
// Links: what the operations of one connection or endpoint share.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include <adverb/async/connection_options.hpp>
#include <adverb/async/detail/end_cause.hpp>
#include <adverb/async/detail/heartbeat.hpp>
#include <adverb/async/detail/inbox.hpp>
#include <adverb/async/detail/link_life.hpp>
#include <adverb/async/detail/receive_blocks.hpp>
#include <adverb/async/detail/send_slots.hpp>
#include <adverb/async/detail/timer_queue.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/cm/connection.hpp>
#include <adverb/cm/connection_request.hpp>
#include <adverb/cm/connector.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/queue/queue_pair.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::async {

class device_loop;
class message;

}  // namespace adverb::inline ADVERB_ABI::async

namespace adverb::inline ADVERB_ABI::detail {

struct loop_device;
class shared_receives;

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

/// Has an identifier's events passed to a target; to none if it is null.
template <class Identified>
void set_event_target(const Identified& identified, async_event_target* target) noexcept {
  if (identified.identifier()) identified.identifier().native_handle()->context = target;
}

/// Something that a layer above keeps with a link, which owns it.
class link_attachment {
 public:
  link_attachment() noexcept = default;
  link_attachment(const link_attachment&) = delete;
  link_attachment& operator=(const link_attachment&) = delete;
  virtual ~link_attachment() = default;

  /// The program ends the waits for the link with ECANCELED. The waits of the attachment itself are
  /// resumed, too.
  virtual void cancel_waits() noexcept = 0;
  /// Returns true if it is the rings of the link, and not a stream.
  [[nodiscard]] virtual bool has_rings() const noexcept { return false; }
};

/// Moves a queue pair to ERR, which flushes its requests. Wraps: ibv_modify_qp(3).
std::error_code move_pair_to_error(ibv_qp* pair) noexcept;

/// The posted receives, the arrived messages, the requests in progress and the life of one
/// connection or endpoint, to which a handle of the program refers. The loop owns it, and destroys
/// it when the device has let go of its memory.
///
/// Not thread safe: used by the thread of its loop.
class link : public async_event_target {
 public:
  link(const link&) = delete;
  link& operator=(const link&) = delete;
  ADVERB_FUNC virtual ~link();

  // For the program.

  /// Starts the deadline of what waits and of what follows. See `connection::expires_after`.
  void expires_after(timeout limit) noexcept;
  /// Ends the link: what is in progress ends with ECANCELED, when the device has let go of it.
  void cancel() noexcept { close(ECANCELED); }
  /// Ends the waits for messages, for room and for the end, with ECANCELED.
  [[gnu::cold]] void cancel_waits() noexcept;
  /// The handle of the program has gone.
  [[gnu::cold]] void detach() noexcept;

  [[nodiscard]] async::device_loop& loop() const noexcept { return *loop_; }
  [[nodiscard]] loop_device& device() const noexcept { return *device_; }
  [[nodiscard]] protection_domain_ref domain() const noexcept { return domain_; }
  [[nodiscard]] bool is_open() const noexcept { return life_.may_post(); }
  [[nodiscard]] const link_life& life() const noexcept { return life_; }
  [[nodiscard]] ibv_qp* pair() const noexcept { return pair_; }
  [[nodiscard]] std::string_view why_stalled() const noexcept;
  /// Returns true if a message can arrive: a receive is posted.
  [[nodiscard]] bool is_audible() const noexcept;
  /// Returns the number of receives of its own; 0 if it shares them.
  [[nodiscard]] std::uint32_t receives() const noexcept { return receives_.size(); }

  // For layers above.

  /// Returns what was attached to the link; null if nothing was.
  [[nodiscard]] link_attachment* attachment() const noexcept { return attachment_.get(); }
  /// Attaches something to the link, instead of what it has.
  void attach(std::unique_ptr<link_attachment> added) noexcept { attachment_ = std::move(added); }

  // For operations.

  [[nodiscard]] detail::inbox& inbox() noexcept { return inbox_; }
  /// Returns the operations that wait for the end.
  [[nodiscard]] async::waiter_list& end_waiters() noexcept { return ends_; }
  /// Returns true if no message will arrive.
  [[nodiscard]] bool has_no_more_messages() const noexcept {
    return life_.has_no_more_messages(receives_.is_any_posted(), cause_.is_known());
  }
  /// Returns no message, and reports why none will come unless the peer has ended the stream.
  [[gnu::cold]] [[nodiscard]] async::message no_message(const char* verb, on_failure policy) const;
  /// Reports why the link has ended, or that a wait was cancelled.
  [[gnu::cold]] void report(const char* verb, on_failure policy) const;
  /// Reports how the wait for the end has ended.
  void report_end(on_failure policy) const;
  /// Forgets who waits for a request, and ends the link, because the device may still use the
  /// memory of the one who went.
  void abandon(void* waiting) noexcept;
  /// Returns true if the link is open, its deadline has not passed, and nothing waits for room. May
  /// be false although that holds: see `make_ready`.
  [[nodiscard]] bool is_ready() const noexcept { return is_ready_; }
  /// Returns whether that holds, and remembers it. Ends the link if its deadline has passed.
  [[gnu::cold]] bool make_ready() noexcept;
  /// Adds an operation that waits for room.
  [[gnu::cold]] void wait_for_room(room_waiter& which) noexcept {
    requests_->room().push_back(which);
    is_ready_ = false;
  }
  /// Ends the link if its deadline has passed.
  [[gnu::cold]] void note_late_start() noexcept;

  // Facts.

  /// Ends the link. 0 stands for an end without a cause of this side.
  [[gnu::cold]] void close(int cause) noexcept;
  /// The heartbeats of the peer have stopped.
  [[gnu::cold]] void note_dead_peer() noexcept;
  /// Records a failed completion as the cause, and ends the link. A failed receive has a block.
  [[gnu::cold]] void note_failure(const completion& each,
                                  const receive_block* block = nullptr) noexcept;
  /// Has another function called for the completions of its own receives: it calls `has_received`.
  void set_on_receive(async::operation::function* on_completion) noexcept {
    receives_.set(on_completion);
  }
  /// A receive of its own has completed. Returns true if it has a message.
  [[gnu::always_inline]] [[nodiscard]] bool has_received(const receive_block& block,
                                                         const completion& each) noexcept {
    receives_.completed();
    if (each.status() == completion_status::success) [[likely]]
      return true;
    note_failure(each, &block);
    return false;
  }
  /// Takes a received message.
  [[gnu::always_inline]] void arrive(receive_block& block, const completion& each) {
    inbox_.arrive(block, each);
  }
  /// Takes the block of a destroyed message back, and posts it again.
  void take_back(receive_block& block) noexcept {
    inbox_.give_back(block);
    if (receives_.posts_again()) [[likely]]
      post_again(block);
    else
      return_block(block);
  }

  // For the loop.

  /// Does what is due. Returns true if the link can be destroyed. A link whose operations throw is
  /// scheduled again.
  [[gnu::cold]] [[nodiscard]] bool advance();
  /// The loop ends.
  [[gnu::cold]] void end_with_loop() noexcept;
  /// Returns the entry of the loop's list of links that are to be advanced.
  [[nodiscard]] async::waiter& schedule_entry() noexcept { return scheduled_; }

  /// Returns true while requests are in progress, also those that nobody waits for.
  [[nodiscard]] virtual bool has_outstanding() const noexcept = 0;

  /// Its place in the loop.
  std::size_t position = 0;
  /// The number of memories of its device that had been given back when it had no requests in
  /// progress the last time.
  std::uint64_t idle_at;

 protected:
  link(async::device_loop& loop, loop_device& device, request_slots& requests) noexcept;

  /// Calls a function while a completion is passed on, and then resumes those that wait for room.
  template <class Function>
  [[gnu::always_inline]] void pass_on(const Function& function) {
    schedule_unless_done rest{*this};
    function();
    if (!is_ready_) [[unlikely]]
      requests_->room().resume();
    rest.is_done();
  }

  /// Creates the receives of a queue pair, and posts them.
  [[gnu::cold]] void fill(ibv_qp* pair, const async::connection_options& options,
                          on_failure policy);
  /// The connection is established.
  [[gnu::cold]] void open() noexcept;
  /// The peer has ended the connection or confirmed its end.
  [[gnu::cold]] void peer_ended() noexcept;
  /// The peer has not answered the disconnect request, which the kernel has repeated.
  [[gnu::cold]] void peer_was_silent() noexcept;
  /// Records a failure of the queue pair that no request of the link has reported.
  [[gnu::cold]] void note_failed_pair() noexcept;
  /// Destroys the queue pair, and completes what is in progress.
  [[gnu::cold]] void release_queue_pair() noexcept;
  /// Completes what is in progress, of which no completion will come.
  [[gnu::cold]] void end_requests() noexcept;

  [[nodiscard]] bool is_iwarp() const noexcept;

  /// Moves the queue pair to ERR. Steps of which only some requests were accepted end when these
  /// have been flushed.
  virtual std::error_code move_to_error() noexcept = 0;
  virtual void destroy_queue_pair() noexcept = 0;
  /// Has the events of the connection manager passed to this link, not to the operation that
  /// connects it.
  virtual void take_events() noexcept = 0;
  /// Returns true if no peer confirms the end.
  [[nodiscard]] virtual bool ends_alone() const noexcept = 0;

  link_life life_;
  end_cause cause_;

 private:
  /// Has the loop do what a handler that throws leaves undone.
  class schedule_unless_done {
   public:
    explicit schedule_unless_done(link& of) noexcept : link_{&of} {}
    schedule_unless_done(const schedule_unless_done&) = delete;
    schedule_unless_done& operator=(const schedule_unless_done&) = delete;
    ~schedule_unless_done() {
      if (link_ != nullptr) [[unlikely]]
        link_->schedule();
    }
    void is_done() noexcept { link_ = nullptr; }

   private:
    link* link_;
  };

  static void complete_receive(async::operation& which, const completion& each);
  [[gnu::cold]] static bool advance_scheduled(async::waiter& which);
  [[gnu::cold]] static void check_time(timer& which);

  [[gnu::cold]] void schedule() noexcept;
  void post_again(receive_block& block) noexcept;
  /// Takes back a block that the queue pair does not get again.
  void return_block(receive_block& block) noexcept;
  [[gnu::cold]] void start_deadline() noexcept;
  [[gnu::cold]] void check_deadline(std::int64_t now);
  [[gnu::cold]] void check_end(std::int64_t now);
  [[gnu::cold]] void set_end_timer(std::int64_t now) noexcept;
  [[nodiscard]] link_load load() noexcept;
  [[nodiscard]] bool is_awaited() noexcept;

  static constexpr std::int64_t no_deadline = timeout::endless().count();
  /// The time that an iWARP device has to flush requests after the end, in nanoseconds.
  static constexpr std::int64_t longest_flush = 20'000'000;

  async::device_loop* loop_;
  loop_device* device_;
  request_slots* requests_;
  ibv_qp* pair_ = nullptr;
  protection_domain_ref domain_;
  receive_blocks receives_;
  detail::inbox inbox_;
  async::waiter_list ends_;
  /// The operations whose waits `cancel_waits` has ended.
  async::waiter_list cancelled_;
  struct scheduled_link : async::waiter {
    explicit scheduled_link(link& of) noexcept : waiter{&advance_scheduled}, owner{&of} {}
    link* owner;
  } scheduled_{*this};
  struct link_timer : timer {
    explicit link_timer(link& of) noexcept : timer{&check_time}, owner{&of} {}
    link* owner;
  } timer_{*this};
  /// In nanoseconds of CLOCK_MONOTONIC.
  std::int64_t deadline_ = no_deadline;
  bool is_ready_ = false;
  /// The deadline has passed while nothing waited.
  bool is_overdue_ = false;
  timeout end_timeout_ = async::connection_options{}.end_timeout;
  std::int64_t end_time_ = 0;
  /// The time for the end has passed. The loop takes the events that had come by then.
  bool is_last_turn_ = false;
  /// The blocks that it shares with others; null if it has its own.
  shared_receives* shared_ = nullptr;
  std::unique_ptr<link_attachment> attachment_;
};

/// A link with the requests in progress of one kind of queue pair.
template <class Engine>
class engine_link : public link {
 public:
  using engine = Engine;

  [[nodiscard]] send_slots<engine>& sends() noexcept { return sends_; }
  [[nodiscard]] bool has_outstanding() const noexcept override {
    return pair() != nullptr && sends_.has_outstanding();
  }

  /// Returns the credits of a request that a slot stands for, and then calls a function.
  template <class Function>
  [[gnu::always_inline]] void complete(request_slot& slot, const completion& each,
                                       const Function& function) {
    sends_.put_back(slot);
    retire(each);
    pass_on(function);
  }

 protected:
  engine_link(async::device_loop& loop, loop_device& device) noexcept
      : link{loop, device, sends_}, sends_{*this, &complete_unattended} {}

  send_slots<engine> sends_;

 private:
  [[gnu::always_inline]] void retire(const completion& each) {
    if (each.status() != completion_status::success) [[unlikely]]
      note_failure(each);
    sends_.retire(each.status());
  }
  static void complete_unattended(async::operation& which, const completion& each) {
    auto& self = static_cast<engine_link&>(*static_cast<unattended_operation&>(which).owner);
    self.pass_on([&] { self.retire(each); });
  }
};

/// The link of a reliable connection (RC).
class reliable_link final : public engine_link<queue_pair_ref<transport::rc, qp_state::rts>> {
 public:
  using connecting_side = cm::connector<transport::rc, cm::step::ready>;
  using accepting_side = cm::connection_request<transport::rc, cm::step::ready>;

  reliable_link(async::device_loop& loop, loop_device& device) noexcept
      : engine_link{loop, device} {}
  ~reliable_link() {
    attach(nullptr);
    release_queue_pair();
  }

  /// Posts requests that nobody waits for. See `connection::post`.
  template <class... Requests>
  [[gnu::always_inline]] send_window_result post(const Requests&... requests) noexcept {
    if (!is_ready() && !make_ready()) [[unlikely]]
      return refuse_post();
    return sends_.post(requests...);
  }

  /// Takes over one side of a connection, creates its receives, and posts them.
  template <class Side>
  Side& hold(Side&& side, const async::connection_options& options, on_failure policy) {
    Side& held = holder_.emplace<Side>(std::move(side));
    prepare(held.queue_pair(), options, policy);
    return held;
  }
  /// Returns a side that is being connected; null if it is another one.
  template <class Side>
  [[nodiscard]] Side* side() noexcept {
    return std::get_if<Side>(&holder_);
  }
  /// Returns the connection of librdmacm, or null before it is established or without librdmacm.
  [[nodiscard]] cm::connection<>* established() noexcept { return side<cm::connection<>>(); }
  [[nodiscard]] engine queue_pair() const noexcept {
    std::error_code none;
    return queue_pair_ref<transport::rc, qp_state::any>{adopt, pair(), none}.as<qp_state::rts>();
  }

  /// Takes over a queue pair that was connected without librdmacm.
  void take_over(adverb::queue_pair<transport::rc>&& pair, const async::connection_options& options,
                 on_failure policy);
  void connected(cm::connection<>&& connection) noexcept;
  /// Prepares heartbeats, which begin when the connection is established. Returns null on failure.
  [[gnu::cold]] heartbeat* add_heartbeat(timeout dead_after, on_failure policy);
  /// Returns true if this side has offered heartbeats and the peer has not.
  [[nodiscard]] bool misses_heartbeats() const noexcept {
    return heartbeat_ != nullptr && !heartbeat_->has_peer();
  }

  ADVERB_FUNC void handle(cm::event& happened) override;

 private:
  void prepare(queue_pair_ref<transport::rc, qp_state::any> pair,
               const async::connection_options& options, on_failure policy);
  [[gnu::cold]] [[nodiscard]] send_window_result refuse_post() noexcept;
  ADVERB_FUNC std::error_code move_to_error() noexcept override;
  void destroy_queue_pair() noexcept override {
    holder_ = std::monostate{};
    heartbeat_.reset();
  }
  ADVERB_FUNC void take_events() noexcept override;
  [[nodiscard]] bool ends_alone() const noexcept override {
    return std::holds_alternative<adverb::queue_pair<transport::rc>>(holder_);
  }

  std::variant<std::monostate, connecting_side, accepting_side, cm::connection<>,
               adverb::queue_pair<transport::rc>>
      holder_;
  std::unique_ptr<heartbeat> heartbeat_;
};

inline void link::complete_receive(async::operation& which, const completion& each) {
  auto& block = static_cast<receive_block&>(which);
  link& self = *block.owner;
  if (self.has_received(block, each)) [[likely]]
    self.arrive(block, each);
}

inline void link::post_again(receive_block& block) noexcept {
  const post_result posted = receives_.post(block);
  if (!posted) [[unlikely]]
    close(posted.code().value());
}

}  // namespace adverb::inline ADVERB_ABI::detail
