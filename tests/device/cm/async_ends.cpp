// SPDX-License-Identifier: MIT
// Asynchronous connections that end at random: each step finishes once, the loop comes to its end,
// and the device uses no memory that a finished step has given back. A round is made by its seed.
//
// tests/device/random_ends runs them under the address sanitizer and the thread sanitizer.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/asio.hpp>
#include <adverb/async.hpp>
#include <support/catch.hpp>

#include "cm/async_side.hpp"
#include "cm/random_ends.hpp"

namespace {

using namespace async_test;
using namespace random_ends;
using namespace std::chrono_literals;

/// Memory for the requests. A block that its step has given back is filled with a pattern, which
/// nothing may change: no block is used twice.
class arena {
 public:
  static constexpr std::size_t block_size = 64;
  static constexpr std::byte given_back{0xDB};
  static constexpr std::byte exposed{0x77};

  arena() {
    std::fill_n(memory_.get(), block_size, exposed);  // The first block is for reads of the peer.
  }

  void register_in(protection_domain_ref domain) {
    if (!region_)
      region_ = memory_region{domain, std::span{memory_.get(), blocks * block_size}, every_right};
  }
  void unregister() { region_ = {}; }

  /// Returns the number of a block that was never used; none if there is no more.
  [[nodiscard]] std::optional<std::size_t> take() {
    if (next_ == blocks) return std::nullopt;
    return next_++;
  }
  [[nodiscard]] std::span<std::byte> bytes(std::size_t block) const {
    return {memory_.get() + block * block_size, block_size};
  }
  [[nodiscard]] mutable_buffer buffer(std::size_t block, std::size_t size) const {
    return region_.slice(block * block_size, size);
  }
  [[nodiscard]] remote_buffer<std::byte> remote(std::size_t block, std::size_t size) const {
    return {adopt, reinterpret_cast<std::uintptr_t>(bytes(block).data()), size, region_.rkey()};
  }
  /// Returns the same memory with a key that no region has.
  [[nodiscard]] remote_buffer<std::byte> forbidden(std::size_t block, std::size_t size) const {
    const auto wrong = static_cast<rkey>(static_cast<std::uint32_t>(region_.rkey()) ^ 0xFFU);
    return {adopt, reinterpret_cast<std::uintptr_t>(bytes(block).data()), size, wrong};
  }
  void give_back(std::size_t block) {
    std::ranges::fill(bytes(block), given_back);
    given_.push_back(block);
  }
  /// Returns the number of blocks that were changed after they had been given back.
  [[nodiscard]] std::size_t changed() const {
    return static_cast<std::size_t>(std::ranges::count_if(given_, [&](std::size_t block) {
      return std::ranges::any_of(bytes(block), [](std::byte each) { return each != given_back; });
    }));
  }

 private:
  static constexpr std::size_t blocks = 4096;

  std::unique_ptr<std::byte[]> memory_ = std::make_unique<std::byte[]>(blocks * block_size);
  memory_region region_;
  std::size_t next_ = 2;  // The second is for writes of the peer.
  std::vector<std::size_t> given_;
};

struct tally : step_tally {
  int wrong_messages = 0;
  int wrong_reads = 0;
  /// Steps without an end.
  int lost = 0;

  [[nodiscard]] bool is_right() const {
    return step_tally::is_right() && wrong_messages + wrong_reads + lost == 0;
  }
  tally& operator+=(const tally& other) {
    step_tally::operator+=(other);
    wrong_messages += other.wrong_messages;
    wrong_reads += other.wrong_reads;
    lost += other.lost;
    return *this;
  }
};

constexpr std::uint32_t shared_blocks = 64;

/// One side of a connection, which its sender owns.
struct end {
  async::connection handle;
  std::vector<async::message> held;
};

/// Tasks on an event_loop.
struct by_tasks {
  using loop_type = async::event_loop;
  using task = async::task<>;
  template <class Step>
  static const Step& wait(const Step& step) {
    return step;
  }

  explicit by_tasks(chance& random)
      : loop{{.waiting = random.one_in(3)   ? async::waiting::busy
                         : random.one_in(2) ? async::waiting::adaptive
                                            : async::waiting::events,
              .completions = completions_for_many_pairs(),
              .shared_receives = shared_blocks,
              .shared_block_size = arena::block_size}} {
    // Keeps `run` from returning while tasks are left that are not the loop's.
    loop.spawn([](by_tasks& self) -> task {
      try {
        static_cast<void>(co_await self.keeper->accept());
      } catch (const std::system_error&) {
      }
    }(*this));
  }

  void start(task&& coroutine, bool owned) {
    if (owned) return loop.spawn(std::move(coroutine));
    actors.push_back(std::make_unique<task>(std::move(coroutine)));
    task& made = *actors.back();
    static_cast<void>(std::move(made).operator co_await().await_suspend(std::noop_coroutine()));
  }
  /// Destroys a task, which must not be running.
  void kill(std::size_t actor, chance&) { std::exchange(actors[actor], nullptr).reset(); }
  void stop() { loop.stop(); }
  /// Nothing is left to do.
  void finish() { keeper->cancel_waits(); }
  void run() { loop.run(); }
  void drop(chance& random) {
    std::ranges::shuffle(actors, std::mt19937{random.seed()});
    actors.clear();
    keeper.reset();
  }

  async::event_loop loop;
  std::optional<async::listener> keeper{std::in_place, loop, every_address()};
  std::vector<std::unique_ptr<task>> actors;
};

/// The exception that a handler throws.
struct told {};

/// Coroutines on an io_context, and handlers.
struct by_asio {
  using task = asio::awaitable<void>;
  template <class Step>
  static auto wait(const Step& step) {
    return step(asio::use_awaitable);
  }

  explicit by_asio(chance&)
      : loop{async::loop_of(context, {.completions = completions_for_many_pairs(),
                                      .shared_receives = shared_blocks,
                                      .shared_block_size = arena::block_size})} {}

  void start(task&& coroutine, bool owned) {
    const auto ended = [](const std::exception_ptr& why) {
      if (why) std::rethrow_exception(why);
    };
    if (owned) return asio::co_spawn(context, std::move(coroutine), ended);
    actors.push_back(std::make_unique<asio::cancellation_signal>());
    asio::co_spawn(context, std::move(coroutine),
                   asio::bind_cancellation_slot(actors.back()->slot(), ended));
  }
  /// Cancels what a coroutine waits for.
  void kill(std::size_t actor, chance& random) {
    constexpr std::array types{asio::cancellation_type::total, asio::cancellation_type::partial,
                               asio::cancellation_type::terminal};
    actors[actor]->emit(types[random.below(3)]);
  }
  void stop() { context.stop(); }
  void finish() {}
  void run() {
    context.restart();
    for (bool has_ended = false; !has_ended;) {
      try {
        context.run();
        has_ended = true;
      } catch (const told&) {
      } catch (const asio::multiple_exceptions&) {
      }
    }
  }
  void drop(chance&) {}

  std::vector<std::unique_ptr<asio::cancellation_signal>> actors;
  asio::io_context context;
  async::device_loop& loop;
};

/// Connections on one loop, and what ends them.
template <class Framework>
class world {
 public:
  using task = typename Framework::task;

  explicit world(std::uint32_t seed) : random_{seed}, framework_{std::in_place, random_} {
    listener_.emplace(framework_->loop, every_address());
    address_ = device_address(listener_->port());
    const int connectors = 1 + static_cast<int>(random_.below(8));
    const int acceptors = 1 + static_cast<int>(random_.below(3));
    connectors_ = connectors;
    acceptors_ = acceptors;
    for (int each = 0; each < acceptors; ++each)
      start([&](auto... self) { return accept(*this, self...); });
    for (int each = 0; each < connectors; ++each)
      start([&](auto... self) { return connect(*this, self...); });
  }

  /// Runs until nothing is left, or destroys all in the middle. Returns what was counted.
  tally play() {
    for (bool is_over = false; !is_over;) {
      stopped_ = false;
      framework_->run();
      is_over = !stopped_ || random_.one_in(2);
    }
    if (!stopped_) {
      tally_.left_behind = live_ + static_cast<int>(framework_->loop.connections());
      note_lost_steps();
    } else {
      ++tally_.ends["everything dropped"];
    }
    is_dropping_ = true;
    for (const auto& each : ends_) {
      drop_messages(*each);
      each->handle = {};
    }
    framework_->drop(random_);
    listener_.reset();
    arena_.unregister();
    framework_.reset();
    note_lost_steps();
    tally_.changed_blocks = static_cast<int>(arena_.changed());
    return tally_;
  }

 private:
  void note_lost_steps() { tally_.lost += tally_.started - tally_.finished - tally_.dropped; }

  static constexpr std::size_t nobody = ~std::size_t{0};

  template <class Make>
  void start(const Make& make) {
    const bool owned = random_.one_in(3);
    ++live_;
    ++starting_;
    framework_->start(make(random_.seed(), owned ? nobody : framework_->actors.size()), owned);
    --starting_;
  }
  /// An actor has come to its end, or was destroyed.
  void note_end() {
    if (--live_ == 0 && !is_dropping_) framework_->finish();
  }

  [[nodiscard]] static async::connection_options options(chance& random) {
    return {.max_send_wr = 2 + random.below(7),
            .receives = 1 + random.below(8),
            .block_size = arena::block_size,
            .shared = random.one_in(3)};
  }

  void add(async::connection&& made, chance& random) {
    arena_.register_in(made.protection_domain());
    ends_.push_back(std::make_unique<end>());
    end& of = *ends_.back();
    of.handle = std::move(made);
    of.handle.expires_after(1s);
    for (auto left = 1 + random.below(2); left != 0; --left)
      start([&](auto... self) { return receive_all(*this, of, self...); });
    for (auto left = random.below(3); left != 0; --left)
      start([&](auto... self) { return send_some(*this, of, false, self...); });
    start([&](auto... self) { return send_some(*this, of, true, self...); });
  }

  /// Ends something at random, now and then.
  void act(end& of, chance& random, std::size_t self) {
    if (!of.handle) return;
    end& other = *ends_[random.below(static_cast<std::uint32_t>(ends_.size()))];
    end& either = random.one_in(2) ? of : other;
    if (!either.handle) return;
    switch (random.below(80)) {
      case 0:
      case 1: either.handle = {}; return count("handle destroyed");
      case 2:
      case 3: either.handle.cancel(); return count("connection cancelled");
      case 4:
        either.handle.expires_after(std::chrono::milliseconds{1 + random.below(40)});
        return count("deadline set");
      case 5:
      case 6: either.handle.cancel_waits(); return count("waits cancelled");
      case 7:
      case 8:
      case 9: return kill_one(random, self);
      case 10:
        if (!listener_) return;
        listener_->cancel_waits();
        return count("accepts cancelled");
      case 11:
        if (!listener_ || !random.one_in(4)) return;
        listener_.reset();
        return count("listener destroyed");
      case 12:
        // A second stop could end the next run.
        if (stopped_ || !random.one_in(4)) return;
        stopped_ = true;
        framework_->stop();
        return count("loop stopped");
      case 13: return fail_pair(either);
      default: return;
    }
  }
  void count(std::string_view kind) { ++tally_.ends[kind]; }
  /// Moves the queue pair into ERR, as a device does after an error.
  void fail_pair(const end& of) {
    const auto pair = of.handle.queue_pair();
    if (!pair) return;
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    if (ibv_modify_qp(pair.native_handle(), &attributes, IBV_QP_STATE) == 0)
      count("queue pair failed");
  }
  void kill_one(chance& random, std::size_t self) {
    if (starting_ != 0 || framework_->actors.empty()) return;
    const std::size_t which = random.below(static_cast<std::uint32_t>(framework_->actors.size()));
    if (which == self || !framework_->actors[which]) return;
    framework_->kill(which, random);
    count("step killed");
  }
  /// Destroys the messages that are kept, which nothing may have changed.
  void drop_messages(end& of) {
    for (const async::message& each : of.held) check_content(each);
    of.held.clear();
  }
  void check_content(const async::message& message) {
    const auto bytes = message.bytes();
    if (bytes.empty() || bytes[0] == arena::given_back ||
        std::ranges::any_of(bytes, [&](std::byte each) { return each != bytes[0]; }))
      ++tally_.wrong_messages;
  }

  void send_with_handler(const end& of, std::byte filling, bool throws) {
    const auto block = arena_.take();
    if (!block) return;
    std::ranges::fill(arena_.bytes(*block), filling);
    of.handle.send(arena_.buffer(*block, arena::block_size))(
        [this, block = *block, throws,
         step = std::make_unique<in_progress>(tally_)](const std::error_code& error) {
          step->finish();
          arena_.give_back(block);
          if (error) ++tally_.failed;
          if (throws) throw told{};
        });
  }

  static task connect(world& self, std::uint32_t seed, std::size_t) {
    const finally ends{[&self] {
      if (--self.connectors_ == 0) self.listener_.reset();
      self.note_end();
    }};
    chance random{seed};
    in_progress step{self.tally_};
    try {
      async::connection made = co_await Framework::wait(
          async::connect(self.framework_->loop, self.address_, options(random)));
      // Over iWARP, the client is the first to send.
      if (on_iwarp()) co_await Framework::wait(made.perform(send()));
      step.finish();
      self.add(std::move(made), random);
    } catch (const std::system_error&) {
      step.finish();
      ++self.tally_.failed;
    }
  }

  static task accept(world& self, std::uint32_t seed, std::size_t) {
    const finally ends{[&self] {
      if (--self.acceptors_ == 0) self.listener_.reset();
      self.note_end();
    }};
    chance random{seed};
    for (int failures = 0; self.listener_ && failures < 8;) {
      in_progress step{self.tally_};
      try {
        async::connection made = co_await Framework::wait(self.listener_->accept(options(random)));
        if (on_iwarp()) static_cast<void>(co_await Framework::wait(made.next()));
        step.finish();
        self.add(std::move(made), random);
      } catch (const std::system_error&) {
        step.finish();
        ++self.tally_.failed;
        ++failures;
      }
    }
  }

  static task receive_all(world& self, end& of, std::uint32_t seed, std::size_t id) {
    const finally ends{[&self] { self.note_end(); }};
    chance random{seed};
    for (int failures = 0; of.handle && failures < 3;) {
      in_progress step{self.tally_};
      try {
        async::message message = co_await Framework::wait(of.handle.next());
        step.finish();
        if (!message) break;
        self.check_content(message);
        if (random.one_in(4)) self.drop_messages(of);
        if (random.one_in(3) && of.handle) of.held.push_back(std::move(message));
      } catch (const std::system_error&) {
        step.finish();
        ++self.tally_.failed;
        ++failures;
      }
      self.act(of, random, id);
    }
  }

  static task send_some(world& self, end& of, bool owns, std::uint32_t seed, std::size_t id) {
    const finally ends{[&self, &of, owns] {
      if (owns) {
        self.drop_messages(of);
        of.handle = {};
      }
      self.note_end();
    }};
    chance random{seed};
    arena& memory = self.arena_;
    for (auto left = 1 + random.below(20); left != 0; --left) {
      self.act(of, random, id);
      const auto first = memory.take();
      const auto second = memory.take();
      if (!of.handle || !second) break;
      const auto filling = static_cast<std::byte>(1 + random.below(100));
      if constexpr (std::is_same_v<Framework, by_asio>)
        if (random.one_in(4)) self.send_with_handler(of, filling, random.one_in(3));
      std::ranges::fill(memory.bytes(*first), filling);
      std::ranges::fill(memory.bytes(*second), filling);
      const std::uint32_t size = 1 + random.below(arena::block_size);
      const mutable_buffer payload = memory.buffer(*first, size);
      const mutable_buffer other = memory.buffer(*second, size);
      in_progress step{self.tally_};
      try {
        switch (random.one_in(60) ? 6 : random.below(6)) {
          case 0: co_await Framework::wait(of.handle.write(memory.remote(1, size), payload)); break;
          case 1:
            co_await Framework::wait(of.handle.perform(read(memory.remote(0, size), payload)));
            if (!std::ranges::all_of(memory.bytes(*first).first(size),
                                     [](std::byte each) { return each == arena::exposed; }))
              ++self.tally_.wrong_reads;
            break;
          case 2:
            co_await Framework::wait(
                of.handle.perform(write(memory.remote(1, size), payload), send(other)));
            break;
          case 6:
            self.count("request refused");
            co_await Framework::wait(of.handle.write(memory.forbidden(1, size), payload));
            break;
          case 3:
            // The completion of this post is not reported, so its block is never given back.
            if (const auto third = memory.take()) {
              std::ranges::fill(memory.bytes(*third), filling);
              static_cast<void>(of.handle.post(send(memory.buffer(*third, size))));
            }
            [[fallthrough]];
          default: co_await Framework::wait(of.handle.send(payload)); break;
        }
      } catch (const std::system_error&) {
        ++self.tally_.failed;
      }
      step.finish();
      memory.give_back(*first);
      memory.give_back(*second);
    }
    if (!owns || !of.handle || random.one_in(2)) co_return;
    self.count("disconnected");
    in_progress step{self.tally_};
    try {
      co_await Framework::wait(of.handle.disconnect());
    } catch (const std::system_error&) {
      ++self.tally_.failed;
    }
    step.finish();
  }

  chance random_;
  tally tally_;
  arena arena_;
  int connectors_ = 0;
  int acceptors_ = 0;
  int live_ = 0;
  int starting_ = 0;
  bool stopped_ = false;
  bool is_dropping_ = false;
  cm::socket_address address_;
  std::vector<std::unique_ptr<end>> ends_;
  std::optional<Framework> framework_;
  std::optional<async::listener> listener_;
};

template <class Framework>
tally play_with(std::uint32_t seed, int rounds) {
  return play_rounds([](std::uint32_t each) { return world<Framework>{each}.play(); }, seed,
                     rounds);
}

void check(const tally& all) {
  CHECK(all.wrong_messages == 0);
  CHECK(all.wrong_reads == 0);
  CHECK(all.finished_again == 0);
  CHECK(all.lost == 0);
  CHECK(all.left_behind == 0);
  CHECK(all.changed_blocks == 0);
  all.print();
}

}  // namespace

TEST_CASE("Tasks end at random, and nothing is left behind", "[rdma_destroy_id][ibv_destroy_cq]") {
  check(play_with<by_tasks>(1, 12));
}

TEST_CASE("Coroutines of Asio end at random, and nothing is left behind",
          "[rdma_destroy_id][ibv_destroy_cq]") {
  check(play_with<by_asio>(1, 12));
}

TEST_CASE("Loops on two threads end at random, and nothing is left behind",
          "[rdma_destroy_id][ibv_destroy_cq]") {
  auto other = std::async(std::launch::async, [] { return play_with<by_asio>(1001, 4); });
  tally all = play_with<by_tasks>(2001, 4);
  all += other.get();
  check(all);
}
