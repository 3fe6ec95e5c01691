// SPDX-License-Identifier: MIT
// Channels that end at random, over RDMA and over TCP: each message arrives once, in order and
// intact, or `unconfirmed` counts it; each step finishes once; nothing is left behind. Both ends
// are on one loop, on two threads, or in two processes of which one is killed. A round is made by
// its seed.
//
// tests/device/random_ends --channels runs them under the address sanitizer and the thread
// sanitizer.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>
#include <support/catch.hpp>
#include <support/numbered_bytes.hpp>

#include "cm/async_side.hpp"
#include "cm/child_process.hpp"
#include "cm/random_ends.hpp"

namespace {

using namespace async_test;
using namespace random_ends;
using channel_test::fill;
using channel_test::is_filled;
using namespace std::chrono_literals;

/// Memory of a channel in blocks. A block that its step has given back is filled with a pattern,
/// which nothing may change until it is taken again.
class arena {
 public:
  static constexpr std::size_t block_size = 6000;
  static constexpr std::size_t blocks = 24;
  static constexpr std::byte given_back{0xDB};

  explicit arena(const messages::channel& of) : memory_{of.memory(blocks * block_size)} {
    std::ranges::fill(memory_.bytes(), given_back);
    for (std::size_t each = 0; each < blocks; ++each) free_.push_back(each);
  }
  /// Returns the number of a block; none if all are in use.
  [[nodiscard]] std::optional<std::size_t> take() {
    if (free_.empty()) return std::nullopt;
    const std::size_t first = free_.front();
    free_.erase(free_.begin());
    note_changes(first);
    return first;
  }
  [[nodiscard]] std::span<std::byte> bytes(std::size_t block) const {
    return memory_.bytes().subspan(block * block_size, block_size);
  }
  [[nodiscard]] mutable_buffer buffer(std::size_t block, std::size_t from, std::size_t size) const {
    return memory_.slice(block * block_size + from, size);
  }
  void give_back(std::size_t block) {
    std::ranges::fill(bytes(block), given_back);
    free_.push_back(block);
  }
  /// Returns the number of blocks that were changed after they had been given back.
  [[nodiscard]] int changed() {
    for (const std::size_t each : free_) note_changes(each);
    return changed_;
  }

 private:
  void note_changes(std::size_t block) {
    if (std::ranges::any_of(bytes(block), [](std::byte each) { return each != given_back; }))
      ++changed_;
  }

  async::loop_memory memory_;
  std::vector<std::size_t> free_;
  int changed_ = 0;
};

/// The counts of one end, which are compared with those of the other. In memory that outlives its
/// process.
struct account {
  /// The counts of the channel, the last time that it was looked at.
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t unconfirmed = 0;
  /// The messages that the program has taken.
  std::uint64_t taken = 0;
  /// `close` has succeeded.
  bool has_closed = false;
  /// The peer has closed, and every message was taken.
  bool is_drained = false;
  /// `close` was called before that: offers that crossed it were refused, and not taken.
  bool has_closed_early = false;
  /// The handle was kept until the channel had ended.
  bool is_kept = false;
};

struct tally : step_tally {
  int messages = 0;
  int wrong_content = 0;
  int wrong_order = 0;
  /// Messages that are lost although they were confirmed, or arrived although they were not sent.
  int lost = 0;

  [[nodiscard]] bool is_right() const {
    return step_tally::is_right() && started == finished + dropped &&
           wrong_content + wrong_order + lost == 0;
  }
  tally& operator+=(const tally& other) {
    step_tally::operator+=(other);
    messages += other.messages;
    wrong_content += other.wrong_content;
    wrong_order += other.wrong_order;
    lost += other.lost;
    return *this;
  }
};

/// The way in which a process kills itself, if it is to.
using kill_function = void (*)();

/// One end of a channel: tasks that send and receive, and what ends them.
class end {
 public:
  end(async::event_loop& loop, std::uint32_t seed, account& numbers, kill_function kill)
      : loop_{&loop}, random_{seed}, numbers_{&numbers}, kill_{kill}, is_over_{loop} {
    // Keeps the loop running while tasks are left that are not the loop's.
    loop.spawn([](end& self) -> async::task<> { co_await self.is_over_.wait(); }(*this));
  }
  end(const end&) = delete;
  end& operator=(const end&) = delete;

  void begin(messages::channel&& made) {
    channel_ = std::move(made);
    memory_.emplace(channel_);
    ends_at_ = random_.below(40);
    sending_ = 1 + random_.below(3);
    const std::uint32_t senders = sending_;
    start(receive_all(*this, random_.seed(), tasks_.size()), true);
    for (std::uint32_t each = 0; each < senders; ++each)
      start(send_some(*this, random_.seed(), tasks_.size()), false);
  }
  /// No channel was made.
  void give_up() { is_over_.set(); }

  /// Ends what is left when the loop has nothing to do.
  tally finish() {
    const int left = live_;
    note();
    held_.clear();
    for (auto& each : tasks_) each.task.reset();
    channel_ = {};
    tally_.left_behind += left;
    if (memory_) tally_.changed_blocks = memory_->changed();
    memory_.reset();
    return tally_;
  }

 private:
  struct actor {
    std::unique_ptr<async::task<>> task;
    bool receives;
  };

  void start(async::task<>&& made, bool receives) {
    ++live_;
    ++starting_;
    tasks_.push_back({std::make_unique<async::task<>>(std::move(made)), receives});
    async::task<>& added = *tasks_.back().task;
    static_cast<void>(std::move(added).operator co_await().await_suspend(std::noop_coroutine()));
    --starting_;
  }
  void note_end() {
    if (--live_ == 0) {
      note();
      numbers_->is_kept = static_cast<bool>(channel_);
      held_.clear();
      is_over_.set();
    }
  }
  /// Records the counts of the channel.
  void note() {
    if (!channel_) return;
    numbers_->sent = channel_.statistics().messages_sent;
    numbers_->received = channel_.statistics().messages_received;
    numbers_->unconfirmed = channel_.unconfirmed();
  }

  void count(std::string_view kind) { ++tally_.ends[kind]; }
  void drop_handle() {
    note();
    channel_ = {};
  }
  /// Ends something, once in a while.
  void act(std::size_t self) {
    if (!channel_ || starting_ != 0) return;
    note();
    if (ends_at_ != 0) {
      --ends_at_;
      return;
    }
    ends_at_ = 10 + random_.below(60);
    if (kill_ != nullptr && random_.one_in(2)) kill_();
    switch (random_.below(7)) {
      case 0: count("channel cancelled"); return channel_.cancel();
      case 1: count("handle destroyed"); return drop_handle();
      case 2: count("messages destroyed"); return held_.clear();
      case 3:
      case 4:
      case 5: return kill_one(self);
      case 6: count("closed early"); return start(close(*this), false);
      default: return kill_();
    }
  }
  void kill_one(std::size_t self) {
    const std::size_t which = random_.below(static_cast<std::uint32_t>(tasks_.size()));
    if (which == self || tasks_[which].task == nullptr) return;
    count("step killed");
    std::exchange(tasks_[which].task, nullptr).reset();
    // Somebody must take the messages of the peer.
    if (tasks_[which].receives && !has_no_more_)
      start(receive_all(*this, random_.seed(), tasks_.size()), true);
  }

  static async::task<> receive_all(end& self, std::uint32_t seed, std::size_t id) {
    const finally ends{[&self] { self.note_end(); }};
    chance random{seed};
    while (self.channel_) {
      std::error_code why;
      in_progress step{self.tally_};
      messages::incoming got = co_await self.channel_.next().within(20ms).report_to(why);
      step.finish();
      if (why == std::errc::timed_out && self.channel_ && !self.has_ended()) {
        // The peer may wait for what is held.
        self.held_.clear();
        self.act(id);
        continue;
      }
      if (why) {
        ++self.tally_.failed;
        break;
      }
      if (!got) {
        self.numbers_->is_drained = true;
        break;
      }
      self.take(got);
      if (got.is_offer() ? random.one_in(3) : random.one_in(4)) {
        if (self.held_.size() < 3 && random.one_in(2)) self.held_.push_back(std::move(got));
      } else if (got.is_offer()) {
        co_await self.receive_offer(got);
      }
      if (random.one_in(4)) self.held_.clear();
      self.act(id);
    }
    self.has_no_more_ = true;
    self.held_.clear();
  }
  /// Counts a message, and checks its content and its place.
  void take(const messages::incoming& got) {
    ++tally_.messages;
    ++numbers_->taken;
    if (channel_) numbers_->received = channel_.statistics().messages_received;
    if (got.tag() < expected_) ++tally_.wrong_order;
    expected_ = got.tag() + 1;
    if (!got.is_offer() && !is_filled(got.bytes(), got.tag())) ++tally_.wrong_content;
  }
  async::task<> receive_offer(messages::incoming& got) {
    const std::optional<std::size_t> block = memory_->take();
    if (!block) co_return;
    std::error_code why;
    // Its destruction ends the peer's access.
    const finally given{[this, block] { memory_->give_back(*block); }};
    in_progress step{tally_};
    const std::span<std::byte> bytes =
        co_await got.receive_into(memory_->buffer(*block, 0, arena::block_size)).report_to(why);
    step.finish();
    if (why)
      ++tally_.failed;
    else if (bytes.size() != got.size() || !is_filled(bytes, got.tag()))
      ++tally_.wrong_content;
  }

  static async::task<> send_some(end& self, std::uint32_t seed, std::size_t id) {
    const finally ends{[&self] {
      --self.sending_;
      self.note_end();
    }};
    chance random{seed};
    for (auto left = 1 + random.below(40); left != 0 && self.channel_; --left) {
      self.act(id);
      const std::optional<std::size_t> block = self.memory_->take();
      if (!self.channel_ || !block) {
        if (block) self.memory_->give_back(*block);
        break;
      }
      co_await self.send_one(*block, random);
      if (self.has_ended()) break;
      if (random.one_in(10)) co_await async::sleep_for(*self.loop_, 1ms);
    }
    if (self.sending_ == 1 && self.channel_ && random.one_in(2)) {
      // The last one closes the channel.
      self.start(close(self), false);
    } else if (self.sending_ == 1 && self.channel_ && random.one_in(2)) {
      self.count("handle destroyed at the end");
      self.drop_handle();
    } else if (self.sending_ == 1 && self.channel_) {
      self.start(close(self), false);
    }
  }
  /// Sends a message of copied bytes, of registered memory, or of both: one frame, or an offer.
  async::task<> send_one(std::size_t block, chance& random) {
    const std::size_t size =
        random.one_in(3) ? 200 + random.below(arena::block_size - 200) : random.below(250);
    const std::size_t copied = random.one_in(2) ? std::min<std::size_t>(size, random.below(120))
                               : size < 230     ? size
                                                : std::size_t{0};
    const std::size_t first = (size - copied) / (1 + random.below(3));
    const std::span<std::byte> bytes = memory_->bytes(block).first(size);
    const std::uint64_t number = next_number_++;
    fill(bytes, number);
    std::error_code why;
    bool is_done = false;
    // The device may still have the memory of a destroyed step.
    const finally given{[&] {
      if (is_done) memory_->give_back(block);
    }};
    in_progress step{tally_};
    const std::span<const std::byte> front = bytes.first(copied);
    if (copied == size)
      co_await channel_.send(front).tagged(number).report_to(why);
    else if (first == size - copied)
      co_await channel_.send(front, memory_->buffer(block, copied, first))
          .tagged(number)
          .report_to(why);
    else
      co_await channel_
          .send(front, memory_->buffer(block, copied, first),
                memory_->buffer(block, copied + first, size - copied - first))
          .tagged(number)
          .report_to(why);
    step.finish();
    is_done = true;
    if (why) ++tally_.failed;
  }
  static async::task<> close(end& self) {
    const finally ends{[&self] { self.note_end(); }};
    std::error_code why;
    in_progress step{self.tally_};
    if (!self.numbers_->is_drained) self.numbers_->has_closed_early = true;
    co_await self.channel_.close().report_to(why);
    step.finish();
    if (why)
      ++self.tally_.failed;
    else
      self.numbers_->has_closed = true;
  }
  [[nodiscard]] bool has_ended() const { return !channel_ || has_no_more_; }

  async::event_loop* loop_;
  chance random_;
  account* numbers_;
  kill_function kill_;
  async::event is_over_;
  tally tally_;
  std::optional<arena> memory_;
  messages::channel channel_;
  std::vector<messages::incoming> held_;
  std::vector<actor> tasks_;
  std::uint64_t next_number_ = 0;
  std::uint64_t expected_ = 0;
  std::uint32_t ends_at_ = 0;
  std::uint32_t sending_ = 0;
  int live_ = 0;
  int starting_ = 0;
  bool has_no_more_ = false;
};

[[nodiscard]] messages::channel_options options_of(chance& random, messages::network over) {
  return {.over = over,
          .receives = 5 + random.below(12),
          .block_size = 256 + 64 * random.below(4),
          .max_frames = 4 + random.below(12),
          .connect_timeout = 30s,
          .close_timeout = 20s};
}

/// Accepts a channel, and passes it to an end.
async::task<> accept(messages::listener& listener, end& to) {
  try {
    to.begin(co_await listener.accept());
  } catch (const std::system_error&) {
    to.give_up();
  }
}
async::task<> connect(async::event_loop& loop, cm::socket_address address,
                      messages::channel_options options, end& to) {
  try {
    to.begin(co_await messages::connect(loop, address, options));
  } catch (const std::system_error&) {
    to.give_up();
  }
}

/// Returns the number of messages that one side has lost without notice, or taken twice.
[[nodiscard]] int lost_between(const account& from, const account& to) {
  // The peer has got what it counted, at least.
  if (to.received > from.sent && from.is_kept) return static_cast<int>(to.received - from.sent);
  if (from.has_closed && (from.unconfirmed != 0 || to.received != from.sent)) return 1;
  if (from.has_closed && to.is_drained && !to.has_closed_early && to.taken != from.sent) return 1;
  const std::uint64_t confirmed = from.sent - from.unconfirmed;
  return confirmed > to.received ? static_cast<int>(confirmed - to.received) : 0;
}

/// A side of its own: a loop and one end.
struct lone_side {
  lone_side(std::uint32_t seed, account& numbers, kill_function kill = nullptr)
      : one{loop, seed, numbers, kill} {}
  tally run() {
    loop.run();
    tally all = one.finish();
    loop.run();
    all.left_behind += static_cast<int>(loop.connections());
    return all;
  }
  async::event_loop loop;
  end one;
};

/// Both ends on one loop.
tally play_on_one_loop(std::uint32_t seed, messages::network over) {
  chance random{seed};
  std::array<account, 2> numbers;
  tally all;
  {
    async::event_loop loop;
    messages::listener listener{loop, every_address(), options_of(random, over)};
    end passive{loop, random.seed(), numbers[0], nullptr};
    end active{loop, random.seed(), numbers[1], nullptr};
    loop.spawn(accept(listener, passive));
    loop.spawn(connect(loop, device_address(listener.port()), options_of(random, over), active));
    loop.run();
    all = passive.finish();
    all += active.finish();
    loop.run();
    all.left_behind += static_cast<int>(loop.connections());
  }
  all.lost = lost_between(numbers[0], numbers[1]) + lost_between(numbers[1], numbers[0]);
  return all;
}

/// Each end on a thread of its own.
tally play_on_two_threads(std::uint32_t seed, messages::network over) {
  chance random{seed};
  std::array<account, 2> numbers;
  const messages::channel_options accepting = options_of(random, over);
  const messages::channel_options connecting = options_of(random, over);
  const std::uint32_t seed_of_other = random.seed();
  std::promise<std::uint16_t> port;
  auto other = std::async(std::launch::async, [&] {
    lone_side here{seed_of_other, numbers[0]};
    messages::listener listener{here.loop, every_address(), accepting};
    here.loop.spawn(accept(listener, here.one));
    port.set_value(listener.port());
    return here.run();
  });
  tally all;
  {
    lone_side here{random.seed(), numbers[1]};
    here.loop.spawn(
        connect(here.loop, device_address(port.get_future().get()), connecting, here.one));
    all = here.run();
  }
  all += other.get();
  all.lost = lost_between(numbers[0], numbers[1]) + lost_between(numbers[1], numbers[0]);
  return all;
}

/// The memory that this process shares with the one that is killed, and its description.
struct shared_round {
  std::uint32_t seed;
  messages::network over;
  account numbers;
  bool is_killed;
  bool is_right;
};

shared_round* round_of_child = nullptr;

/// One end in this process, and the other in one that may be killed at a random point.
tally play_in_two_processes(std::uint32_t seed, messages::network over) {
  chance random{seed};
  const shared_with_role<shared_round> memory;
  shared_round& shared = *memory;
  shared = {
      .seed = random.seed(), .over = over, .numbers = {}, .is_killed = false, .is_right = false};
  account numbers;
  tally all;
  {
    child_process other{"role: an end of a channel that is killed at random"};
    lone_side here{random.seed(), numbers};
    const std::uint16_t port = other.word();
    here.loop.spawn(connect(here.loop, device_address(port), options_of(random, over), here.one));
    all = here.run();
    static_cast<void>(other.wait());
  }
  if (!shared.is_killed && !shared.is_right) ++all.lost;
  if (shared.is_killed) ++all.ends["process killed"];
  // A process that is killed counts a message when it takes it, and may have more in its channel.
  account of_other = shared.numbers;
  if (shared.is_killed) of_other.received = std::min(of_other.received + 20, numbers.sent);
  all.lost += lost_between(numbers, of_other);
  // It cannot have sent less than what has arrived, but may have recorded less.
  if (!shared.is_killed) all.lost += lost_between(shared.numbers, numbers);
  return all;
}

/// Plays rounds, each over both networks.
template <class Play>
void check_rounds(const Play& play, std::uint32_t seed, int rounds) {
  const tally all = play_rounds(
      [&](std::uint32_t each) {
        tally both;
        for (const messages::network over : {messages::network::rdma, messages::network::tcp}) {
          const tally one = play(each, over);
          if (!one.is_right())
            std::cout << "Over " << (over == messages::network::tcp ? "TCP" : "RDMA") << ":\n";
          both += one;
        }
        return both;
      },
      seed, rounds);
  CHECK(all.started == all.finished + all.dropped);
  CHECK(all.finished_again == 0);
  CHECK(all.wrong_content == 0);
  CHECK(all.wrong_order == 0);
  CHECK(all.lost == 0);
  CHECK(all.changed_blocks == 0);
  CHECK(all.left_behind == 0);
  std::cout << all.messages << " messages, ";
  all.print();
}

}  // namespace

TEST_CASE("role: an end of a channel that is killed at random", "[.]") {
  round_of_child = &shared_with_role<shared_round>::of_role();
  chance random{round_of_child->seed};
  lone_side here{random.seed(), round_of_child->numbers, [] {
                   round_of_child->is_killed = true;
                   ::kill(::getpid(), SIGKILL);
                 }};
  messages::listener listener{here.loop, every_address(), options_of(random, round_of_child->over)};
  here.loop.spawn(accept(listener, here.one));
  child_process::say(listener.port());
  round_of_child->is_right = here.run().is_right();
}

TEST_CASE("Channels of one loop end at random, and no message is lost without notice",
          "[rdma_destroy_id][ibv_destroy_cq]") {
  check_rounds(play_on_one_loop, 1, 12);
}

TEST_CASE("Channels between two threads end at random, and no message is lost without notice",
          "[rdma_destroy_id][ibv_destroy_cq]") {
  check_rounds(play_on_two_threads, 1001, 6);
}

TEST_CASE("Channels to processes that are killed at random lose no message without notice",
          "[rdma_destroy_id][ibv_destroy_cq]") {
  check_rounds(play_in_two_processes, 2001, 6);
}
