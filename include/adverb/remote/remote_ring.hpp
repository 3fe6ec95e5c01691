// SPDX-License-Identifier: MIT
// A ring of entries in the memory of a peer.
#pragma once

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <adverb/async/device_loop.hpp>
#include <adverb/async/reliable_connection.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/core/detail/hardening.hpp>
#include <adverb/core/error.hpp>
#include <adverb/remote/detail/ring_port.hpp>
#include <adverb/remote/ring_description.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Keeps one end of a ring, for its handle.
template <class End>
class ring_handle {
 public:
  ring_handle() noexcept = default;
  explicit ring_handle(End* kept) noexcept : kept_{kept} {}
  ring_handle(ring_handle&& other) noexcept : kept_{std::exchange(other.kept_, nullptr)} {}
  ring_handle& operator=(ring_handle&& other) noexcept {
    std::swap(kept_, other.kept_);
    return *this;
  }
  ~ring_handle() {
    if (kept_ != nullptr) kept_->detach();
  }

  [[nodiscard]] bool empty() const noexcept { return kept_ == nullptr; }
  [[nodiscard]] End& get() const noexcept {
    require(kept_ != nullptr, "remote_ring",
            "the end of the ring is empty: moved from, or its constructor failed");
    kept_->loop().thread().check("remote_ring");
    return *kept_;
  }

 private:
  End* kept_ = nullptr;
};

/// Makes an end, which adds itself to the port of its connection. Returns an empty handle on
/// failure.
template <class End, class... Arguments>
[[nodiscard]] ring_handle<End> make_ring_end(reliable_link& link, on_failure policy,
                                             const Arguments&... arguments) {
  ring_port* const port = ring_port::of(link, policy);
  if (port == nullptr) return {};
  auto* const made = new End{*port, link, arguments..., policy};
  if (!policy.failed()) return ring_handle<End>{made};
  made->port_gone();
  made->release();
  return {};
}

/// Fails with EINVAL if the options of a ring are out of their ranges.
void check_ring(const ring_options& options, on_failure policy);
/// Fails with EPROTO if a ring has entries of another size than the program, or not aligned to
/// them.
void check_entries(const ring_description& of_reader, std::size_t size, std::size_t alignment,
                   on_failure policy);
[[gnu::cold]] void report_no_room(const ring_writer& of, on_failure policy);
[[gnu::cold]] void report_too_much_room(const ring_writer& of, std::uint32_t slots,
                                        on_failure policy);
[[gnu::cold]] void report_long_entry(const ring_writer& of, std::size_t size, on_failure policy);

/// A wait at one end of a ring.
template <class Derived, class End>
class ring_operation : public async::cancellable_waiter {
 public:
  explicit ring_operation(End& of) noexcept : cancellable_waiter{&resume}, end_{&of} {}
  ring_operation(const ring_operation&) = delete;
  ring_operation& operator=(const ring_operation&) = delete;
  ~ring_operation() {
    if (is_waiting()) end_->release();
  }

  /// Starts it. Returns false if it has finished already.
  [[nodiscard, gnu::always_inline]] bool start() { return !is_met() && wait(); }

 protected:
  [[nodiscard]] End& end() const noexcept { return *end_; }
  /// Reports why the wait has not been met.
  void report(const char* verb, on_failure policy) const {
    if (is_cancelled() && !end_->connection_has_ended()) return report_cancelled(policy, verb);
    end_->report(verb, policy);
  }

 private:
  [[nodiscard]] bool is_met() const noexcept { return static_cast<const Derived&>(*this).is_met(); }
  bool wait() {
    end_->begin();
    if (is_met() || end_->has_ended()) return false;
    static_cast<Derived&>(*this).not_met();
    if (is_met() || end_->has_ended()) return false;
    end_->waiters().push_back(*this);
    // While it waits, the program may destroy its handle.
    end_->add_reference();
    return true;
  }
  static bool resume(async::waiter& which) {
    auto& self = static_cast<Derived&>(which);
    if (self.is_cancelled()) [[unlikely]]
      return finish_cancelled(self);
    if (!self.is_met() && !self.end().has_ended()) {
      self.not_met();
      return false;
    }
    // The end that resumes it has a reference of its own.
    self.end().release_another();
    return leave_and_finish<Derived>(which);
  }
  /// The loop resumes it, and the program may have destroyed its handle.
  [[gnu::cold, gnu::noinline]] static bool finish_cancelled(Derived& which) {
    struct reference {
      ~reference() { of.release(); }
      End& of;
    } const kept{which.end()};
    return leave_and_finish<Derived>(which);
  }

  End* end_;
};

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

/// A ring of entries in the memory of its reader, which its writer fills by RDMA without a question
/// to the network. The writer keeps the queue of free slots: it takes one, writes there, and names
/// the slot in the same message. The reader uses the entries where they are, in the order in which
/// they were published, and frees them in any order; its acknowledgements name the slots that are
/// free again.
///
///     remote_ring<record>::reader in{client, {.slots = 1024}};   // Send in.description().
///     while (auto each = co_await in.next()) apply(*each);
///
///     remote_ring<record>::writer out{server, description};
///     out.claim() = first;
///     out.claim() = second;
///     out.publish();                                             // One doorbell.
///
/// A connection has at most one ring in each direction. From the first `next`, `claim` or `room`
/// on, its messages belong to its rings: the program exchanges the descriptions before. The blocks
/// of both ends have at least 256 bytes (`connection_options::block_size`). The entries of
/// `remote_ring<std::byte>` are bytes, each of any length up to `slot_size`. An entry goes as the
/// bytes of `T`, so both ends have one layout.
template <class T>
class remote_ring {
  static_assert(std::is_trivially_copyable_v<T>,
                "an entry is copied as bytes, so its type must be trivially copyable");
  static_assert(alignof(T) <= detail::aligned_bytes::alignment,
                "the entries of a ring begin at multiples of 64 bytes at most");
  static constexpr bool is_bytes = std::is_same_v<T, std::byte>;
  /// `Result` is that of the caller, so that each fails for itself.
  template <class Result>
  static constexpr void check_typed() noexcept {
    static_assert(!is_bytes,
                  "the entries of a ring of bytes have a length each: claim(size), and bytes()");
  }

 public:
  class reader;
  class writer;
  class next_step;
  class room_step;

  /// An entry that has arrived. Its slot goes back to the writer when this object is destroyed. An
  /// empty one means that none will come. Not thread safe. It must not outlive the loop.
  class [[nodiscard("an entry that is destroyed at once is lost")]] entry {
   public:
    /// Makes an empty entry.
    entry() noexcept = default;
    /// Takes over an entry of a reader.
    entry(detail::ring_reader& of, detail::ring_arrival taken) noexcept : of_{&of}, at_{taken} {}
    entry(entry&& other) noexcept : of_{std::exchange(other.of_, nullptr)}, at_{other.at_} {}
    entry& operator=(entry&& other) noexcept {
      std::swap(of_, other.of_);
      std::swap(at_, other.at_);
      return *this;
    }
    ~entry() {
      if (of_ != nullptr) of_->free(at_.slot);
    }

    [[nodiscard]] explicit operator bool() const noexcept { return of_ != nullptr; }

    /// Returns the bytes of the entry; none if it is empty.
    [[nodiscard]] std::span<const std::byte> bytes() const& noexcept ADVERB_LIFETIME_BOUND {
      if (of_ == nullptr) return {};
      return {of_->bytes(at_.slot), at_.length};
    }
    /// Returns the entry, which must not be empty. The bytes are those of the peer: check the value
    /// before it is used.
    [[nodiscard]] const T& operator*() const& noexcept ADVERB_LIFETIME_BOUND {
      check_typed<const T&>();
      detail::require(of_ != nullptr, "remote_ring::entry", "the entry is empty");
      return *reinterpret_cast<const T*>(of_->bytes(at_.slot));
    }
    /// Returns a pointer to the entry, which must not be empty.
    [[nodiscard]] const T* operator->() const& noexcept ADVERB_LIFETIME_BOUND { return &**this; }

   private:
    detail::ring_reader* of_ = nullptr;
    detail::ring_arrival at_;
  };

  /// The next entry of a ring.
  class next_step : public detail::async_step<next_step> {
   public:
    /// Makes the step of this reader.
    explicit next_step(detail::ring_reader& of) noexcept : of_{&of} {}

    /// Returns the loop that runs it.
    [[nodiscard]] async::device_loop& loop() const noexcept { return of_->loop(); }

    /// One start of the step.
    template <class Derived>
    class operation : public detail::ring_operation<Derived, detail::ring_reader> {
      using base = detail::ring_operation<Derived, detail::ring_reader>;

     public:
      /// Makes an operation, and starts nothing.
      explicit operation(const next_step& step) noexcept : base{*step.of_} {}

      /// Returns true if an entry is there, or the writer has closed the ring.
      [[nodiscard]] bool is_met() const noexcept {
        return this->end().slots().arrived() != 0 || this->end().is_finished();
      }
      /// Does what brings it nearer.
      static void not_met() noexcept {}
      /// Returns the result, or reports the failure.
      [[nodiscard]] entry take(on_failure policy) {
        if (!is_met()) [[unlikely]] {
          policy.clear();
          this->report("remote_ring::next", policy);
          return {};
        }
        policy.clear();
        if (this->end().slots().arrived() == 0) return {};
        return {this->end(), this->end().take()};
      }
    };

   private:
    detail::ring_reader* of_;
  };

  /// Room for entries of a ring.
  class room_step : public detail::async_step<room_step> {
   public:
    /// Makes the step of this writer.
    room_step(detail::ring_writer& of, std::uint32_t slots) noexcept : of_{&of}, slots_{slots} {}

    /// Returns the loop that runs it.
    [[nodiscard]] async::device_loop& loop() const noexcept { return of_->loop(); }

    /// One start of the step.
    template <class Derived>
    class operation : public detail::ring_operation<Derived, detail::ring_writer> {
      using base = detail::ring_operation<Derived, detail::ring_writer>;

     public:
      /// Makes an operation, and starts nothing.
      explicit operation(const room_step& step) noexcept : base{*step.of_}, slots_{step.slots_} {}

      /// Returns true if the slots are free, or if the ring has fewer.
      [[nodiscard]] bool is_met() const noexcept {
        return this->end().has_room(slots_) || exceeds();
      }
      /// Does what brings it nearer.
      void not_met() noexcept {
        this->end().publish();
        if (slots_ > 1) this->end().ask_for(slots_);
      }
      /// Returns the result, or reports the failure.
      void take(on_failure policy) const {
        policy.clear();
        if (this->end().has_room(slots_)) [[likely]]
          return;
        if (exceeds())
          detail::report_too_much_room(this->end(), slots_, policy);
        else
          this->report("remote_ring::room", policy);
      }

     private:
      [[nodiscard]] bool exceeds() const noexcept { return slots_ > this->end().slots().size(); }

      std::uint32_t slots_;
    };

   private:
    detail::ring_writer* of_;
    std::uint32_t slots_;
  };

  /// The end that has the memory. Destroying it ends the connection, because the peer may write.
  /// Not thread safe: used by the thread of the loop, which must outlive it.
  class [[nodiscard]] reader {
   public:
    /// Makes an empty reader.
    reader() noexcept = default;
    /// Allocates and registers the slots. The connection needs `ring_options::receives`. Fails with
    /// EINVAL if it has fewer, if it has another reader, or if an option is out of its range.
    /// Wraps: ibv_reg_mr(3).
    explicit reader(const async::connection& of, ring_options options = {},
                    on_failure policy = throwing{}) {
      constexpr std::uint32_t line = 64;
      if constexpr (!is_bytes) options.slot_size = sizeof(T);
      detail::check_ring(options, policy);
      if (policy.failed()) return;
      const std::uint32_t distance =
          is_bytes ? (options.slot_size + line - 1) / line * line : options.slot_size;
      end_ = detail::make_ring_end<detail::ring_reader>(of.link(), policy, options, distance,
                                                        is_bytes);
    }

    [[nodiscard]] explicit operator bool() const noexcept { return !end_.empty(); }

    /// Returns the description for the writer. Whoever has it can write to the slots.
    [[nodiscard]] const ring_description& description() const noexcept {
      return end_.get().description();
    }
    /// Waits for the next entry. It is empty if the writer has closed the ring and has every
    /// acknowledgement, so that the connection can be ended. Fails if the connection ends before,
    /// because entries may be missing: with ECONNRESET if the peer has ended it; with EPROTO if the
    /// writer violates the protocol.
    [[nodiscard]] next_step next() const noexcept { return next_step{end_.get()}; }
    /// Returns the number of entries that the program holds.
    [[nodiscard]] std::uint32_t held() const noexcept { return end_.get().slots().held(); }

   private:
    detail::ring_handle<detail::ring_reader> end_;
  };

  /// The end that writes. Entries that were claimed and not published are lost when it is
  /// destroyed. Not thread safe: used by the thread of the loop, which must outlive it.
  class [[nodiscard]] writer {
   public:
    /// Makes an empty writer.
    writer() noexcept = default;
    /// Prepares to write to a ring: allocates and registers as much memory as it has. Fails with
    /// EPROTO if its entries have another size or are not aligned, and with EINVAL if the
    /// connection has another writer. Wraps: ibv_reg_mr(3).
    writer(const async::connection& of, const ring_description& of_reader,
           on_failure policy = throwing{}) {
      if constexpr (!is_bytes) {
        detail::check_entries(of_reader, sizeof(T), alignof(T), policy);
        if (policy.failed()) return;
      }
      end_ = detail::make_ring_end<detail::ring_writer>(of.link(), policy, of_reader);
    }

    [[nodiscard]] explicit operator bool() const noexcept { return !end_.empty(); }

    /// Claims a slot, and returns the entry to fill, which is valid until `publish`. Fails with
    /// ENOBUFS if none is free: see `room`. A thrown failure or an abort is all that it can report.
    [[nodiscard]] T& claim() const {
      check_typed<T&>();
      T* const claimed = try_claim();
      if (claimed == nullptr) [[unlikely]]
        detail::report_no_room(end_.get(), throwing{});
      return *claimed;
    }
    /// Claims a slot, and returns the entry to fill. Null if none is free.
    [[nodiscard]] T* try_claim() const noexcept {
      check_typed<T*>();
      detail::ring_writer& end = end_.get();
      end.begin();
      return reinterpret_cast<T*>(end.claim(sizeof(T)));
    }
    /// Claims a slot for an entry of `size` bytes, and returns them. They are valid until
    /// `publish`. Fails with ENOBUFS if none is free, and with EMSGSIZE if a slot is shorter.
    [[nodiscard]] std::span<std::byte> claim(std::size_t size,
                                             on_failure policy = throwing{}) const {
      static_assert(is_bytes, "only a ring of std::byte has entries of any length: call claim()");
      detail::ring_writer& end = end_.get();
      if (size > end.description().slot_size) [[unlikely]] {
        detail::report_long_entry(end, size, policy);
        return {};
      }
      end.begin();
      std::byte* const claimed = end.claim(static_cast<std::uint32_t>(size));
      if (claimed == nullptr) [[unlikely]] {
        detail::report_no_room(end, policy);
        return {};
      }
      policy.clear();
      return {claimed, size};
    }
    /// Writes the entries that were claimed, in order, with one doorbell. If the send queue is
    /// full, that happens as soon as it has room. More claims than
    /// `connection_options::max_send_wr` allows publish the earlier ones. Wraps: ibv_post_send(3).
    void publish() const noexcept { end_.get().publish(); }
    /// Waits until `slots` slots are free. Publishes what was claimed if it has to wait. Fails if
    /// the connection has ended; with EINVAL if the ring has fewer slots; with EPROTO if the reader
    /// violates the protocol.
    [[nodiscard]] room_step room(std::uint32_t slots = 1) const noexcept {
      return {end_.get(), slots};
    }
    /// Publishes, and waits until the reader has done with every entry.
    [[nodiscard]] room_step drain() const noexcept {
      end_.get().publish();
      return room(end_.get().slots().size());
    }
    /// Publishes, ends the ring, and waits until the reader has done with every entry and has the
    /// end. The connection goes on.
    [[nodiscard]] room_step close() const noexcept {
      end_.get().close();
      return room(end_.get().slots().size());
    }
    /// Returns the number of slots that can be claimed.
    [[nodiscard]] std::uint32_t free() const noexcept { return end_.get().slots().free(); }
    /// Returns the number of entries that the reader has not done with.
    [[nodiscard]] std::uint32_t in_flight() const noexcept {
      return end_.get().slots().in_flight();
    }

   private:
    detail::ring_handle<detail::ring_writer> end_;
  };
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/remote/impl/remote_ring.ipp>
#endif
