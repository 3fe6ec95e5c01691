// SPDX-License-Identifier: MIT
// The steps of channels, started in each way: tasks, coroutines and handlers of Asio, and senders,
// over RDMA and over TCP.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/asio.hpp>
#include <adverb/messages.hpp>
#include <support/catch.hpp>
#include <support/senders.hpp>

#include "cm/net_side.hpp"
#include "cm/sender_side.hpp"

using namespace async_test;
using namespace std::chrono_literals;

namespace {

template <class Step>
using value_of = std::conditional_t<std::is_void_v<detail::async_result_of<Step>>, std::monostate,
                                    detail::async_result_of<Step>>;

/// A step that was started, and its results.
struct any_started {
  virtual ~any_started() = default;
  int times = 0;
  bool is_finished = false;
  std::error_code code;
};
template <class Step>
struct started_step : any_started {
  explicit started_step(const Step& of) : step{of} {}
  void finish(const std::error_code& why, value_of<Step> got = {}) {
    ++times;
    code = why;
    value = std::move(got);
    is_finished = true;
  }
  Step step;
  value_of<Step> value{};
};

struct on_event_loop {
  void run() { loop.run(); }
  void wait(const any_started& which) { static_cast<void>(loop.run_until(which.is_finished)); }
  async::event_loop loop;
  std::vector<std::unique_ptr<any_started>> all;
};
struct on_io_context {
  void run() {
    context.restart();
    context.run();
  }
  void wait(const any_started& which) {
    context.restart();
    while (!which.is_finished && context.run_one() != 0) {
    }
  }
  asio::io_context context;
  async::device_loop& loop = async::loop_of(context);
  std::vector<std::unique_ptr<any_started>> all;
};

/// Tasks on an event_loop. Cancelling one destroys it.
struct by_tasks : on_event_loop {
  template <class Step>
  struct started : started_step<Step> {
    explicit started(by_tasks&, const Step& of) : started_step<Step>{of} {
      static_cast<void>(std::move(*task).operator co_await().await_suspend(std::noop_coroutine()));
    }
    void cancel() {
      task.reset();
      this->finish(std::make_error_code(std::errc::operation_canceled));
    }
    static async::task<> await(started& self) {
      std::error_code why;
      value_of<Step> got{};
      try {
        if constexpr (std::is_same_v<value_of<Step>, std::monostate>)
          co_await self.step;
        else
          got = co_await self.step;
      } catch (const std::system_error& failed) {
        why = failed.code();
      }
      self.finish(why, std::move(got));
    }
    std::unique_ptr<async::task<>> task = std::make_unique<async::task<>>(await(*this));
  };
};

/// Coroutines on an io_context.
struct by_coroutines : on_io_context {
  template <class Step>
  struct started : started_step<Step> {
    started(by_coroutines& here, const Step& of) : started_step<Step>{of} {
      asio::co_spawn(here.context, await(*this),
                     asio::bind_cancellation_slot(signal.slot(), asio::detached));
      // co_spawn starts the coroutine later.
      here.context.restart();
      here.context.poll();
    }
    void cancel() { signal.emit(asio::cancellation_type::terminal); }
    static asio::awaitable<void> await(started& self) {
      std::error_code why;
      value_of<Step> got{};
      try {
        if constexpr (std::is_same_v<value_of<Step>, std::monostate>)
          co_await self.step(token);
        else
          got = co_await self.step(token);
      } catch (const std::system_error& failed) {
        why = failed.code();
      }
      self.finish(why, std::move(got));
    }
    asio::cancellation_signal signal;
  };
};

/// Handlers on an io_context.
struct by_handlers : on_io_context {
  template <class Step>
  struct started : started_step<Step> {
    started(by_handlers& here, const Step& of) : started_step<Step>{of} {
      this->step(asio::bind_cancellation_slot(
          signal.slot(),
          [this, throws = here.handlers_throw](const std::error_code& why, auto&&... got) {
            this->finish(why, std::move(got)...);
            if (throws) throw std::runtime_error{"thrown by a handler"};
          }));
    }
    void cancel(asio::cancellation_type type = asio::cancellation_type::terminal) {
      signal.emit(type);
    }
    asio::cancellation_signal signal;
  };
  bool handlers_throw = false;
};

/// Senders on either loop.
template <class Loop>
struct by_senders : Loop {
  template <class Step>
  struct started : started_step<Step> {
    started(by_senders&, const Step& of) : started_step<Step>{of} { protocol::start(operation); }
    void cancel() { stop.request_stop(); }

    struct receiver {
      template <class... Values>
      void set_value(Values&&... values) noexcept {
        self->finish({}, std::forward<Values>(values)...);
      }
      void set_error(const std::error_code& why) noexcept { self->finish(why); }
      void set_stopped() noexcept {
        self->finish(std::make_error_code(std::errc::operation_canceled));
      }
      [[nodiscard]] sender_test::stop_environment get_env() const noexcept {
        return {self->stop.get_token()};
      }
      started* self;
    };
    std::stop_source stop;
    decltype(protocol::connect(std::declval<const Step&>(), std::declval<receiver>())) operation{
        protocol::connect(this->step, receiver{this})};
  };
};

/// Two ends of a channel on one loop.
template <class Starter>
struct channel_pair : Starter {
  explicit channel_pair(messages::network over) {
    options.over = over;
    messages::listener listener{this->loop, every_address(), options};
    any_started accepting;
    any_started connecting;
    this->loop.spawn([&]() -> async::task<> {
      passive = co_await listener.accept();
      accepting.is_finished = true;
    });
    this->loop.spawn([&]() -> async::task<> {
      active = co_await messages::connect(this->loop, device_address(listener.port()), options);
      connecting.is_finished = true;
    });
    this->wait(accepting);
    this->wait(connecting);
    REQUIRE(active);
    REQUIRE(passive);
  }
  channel_pair(const channel_pair&) = delete;
  channel_pair& operator=(const channel_pair&) = delete;
  /// Nothing is left when both handles have gone.
  ~channel_pair() {
    this->all.clear();
    active = {};
    passive = {};
    this->run();
    CHECK(this->loop.connections() == 0);
  }

  template <class Step>
  [[nodiscard]] auto& start(const Step& step) {
    using made = typename Starter::template started<Step>;
    auto added = std::make_unique<made>(static_cast<Starter&>(*this), step);
    made& result = *added;
    this->all.push_back(std::move(added));
    return result;
  }

  messages::channel_options options{.receives = 8,
                                    .block_size = 256,
                                    .max_frames = 16,
                                    .longest = 100'000,
                                    .connect_timeout = 30s,
                                    .close_timeout = 50s};
  messages::channel active;
  messages::channel passive;
};

template <class Starter, class Function>
void over_each_network(const Function& function) {
  for (const messages::network over : {messages::network::rdma, messages::network::tcp}) {
    INFO((over == messages::network::rdma ? "over RDMA" : "over TCP"));
    channel_pair<Starter> here{over};
    function(here);
  }
}
template <class Function>
void started_in_each_way(const Function& function) {
  over_each_network<by_tasks>(function);
  over_each_network<by_coroutines>(function);
  over_each_network<by_handlers>(function);
  over_each_network<by_senders<on_event_loop>>(function);
  over_each_network<by_senders<on_io_context>>(function);
}

[[nodiscard]] bool has_succeeded(const any_started& which) {
  return which.times == 1 && !which.code;
}
[[nodiscard]] bool has_failed(const any_started& which, std::errc why) {
  const bool is_aborted = why == std::errc::operation_canceled && which.code == operation_aborted;
  return which.times == 1 && (which.code == why || is_aborted);
}

constexpr std::string_view words = "hello";

/// Checks that a message goes from one end to the other.
template <class Pair>
void check_use(Pair& here, const messages::channel& from, const messages::channel& to) {
  auto& sent = here.start(from.send(words));
  auto& got = here.start(to.next());
  here.wait(sent);
  here.wait(got);
  CHECK(has_succeeded(sent));
  CHECK(has_succeeded(got));
  CHECK(got.value.text() == words);
  got.value = {};
}

}  // namespace

TEST_CASE("Steps of a channel finish once with their results", "[rdma_connect][ibv_post_send]") {
  started_in_each_way([](auto& here) {
    check_use(here, here.active, here.passive);
    check_use(here, here.passive, here.active);

    const async::loop_memory memory = here.active.memory(5000);
    const async::loop_memory target = here.passive.memory(5000);
    std::ranges::fill(memory.bytes(), std::byte{7});
    auto& offered = here.start(here.active.send(memory.buffer()));
    auto& offer = here.start(here.passive.next());
    here.wait(offer);
    CHECK(offer.value.is_offer());
    CHECK(offered.times == 0);
    auto& taken = here.start(offer.value.receive_into(target.buffer()));
    here.wait(taken);
    here.wait(offered);
    CHECK(has_succeeded(offered));
    CHECK(taken.value.size() == 5000);
    CHECK(std::ranges::equal(taken.value, memory.bytes()));
    offer.value = {};

    {
      messages::caller call{here.active};
      const int number = 7;
      auto& reply = here.start(call(number));
      auto& request = here.start(here.passive.next());
      here.wait(request);
      auto& replied = here.start(request.value.reply(number));
      here.wait(reply);
      here.wait(replied);
      CHECK(has_succeeded(reply));
      CHECK(has_succeeded(replied));
      CHECK(reply.value.template as<int>() == number);
      reply.value = {};
      request.value = {};
    }

    auto& end = here.start(here.passive.next());
    auto& closed = here.start(here.active.close());
    auto& closed_too = here.start(here.passive.close());
    here.wait(closed);
    here.wait(end);
    here.wait(closed_too);
    CHECK(has_succeeded(closed));
    CHECK(has_succeeded(closed_too));
    CHECK(has_succeeded(end));
    CHECK_FALSE(end.value);
  });
}

TEST_CASE("Steps of a channel finish once with their failures", "[ibv_post_send]") {
  started_in_each_way([](auto& here) {
    const async::loop_memory memory = here.active.memory(100'001);
    auto& refused = here.start(here.active.send(memory.slice(0, 5000)));
    auto& offer = here.start(here.passive.next());
    here.wait(offer);
    const async::loop_memory target = here.passive.memory(4999);
    auto& too_small = here.start(offer.value.receive_into(target.buffer()));
    here.wait(too_small);
    CHECK(has_failed(too_small, std::errc::message_size));
    offer.value = {};
    here.wait(refused);
    CHECK(has_failed(refused, std::errc::connection_refused));

    auto& late = here.start(here.passive.next().within(10ms));
    auto& too_long = here.start(here.active.send(memory.buffer()));
    here.wait(late);
    here.wait(too_long);
    CHECK(has_failed(late, std::errc::timed_out));
    CHECK(has_failed(too_long, std::errc::message_size));
    check_use(here, here.active, here.passive);

    auto& waiting = here.start(here.active.next());
    here.passive = {};
    here.wait(waiting);
    auto& again = here.start(here.active.next());
    auto& lost = here.start(here.active.send(words));
    here.wait(again);
    here.wait(lost);
    CHECK(has_failed(waiting, std::errc::connection_reset));
    CHECK(has_failed(again, std::errc::connection_reset));
    CHECK(has_failed(lost, std::errc::connection_reset));
  });
}

TEST_CASE("A cancelled step that no device serves finishes at once, and its channel goes on",
          "[ibv_post_send]") {
  started_in_each_way([](auto& here) {
    auto& waiting = here.start(here.passive.next());
    waiting.cancel();
    here.wait(waiting);
    CHECK(has_failed(waiting, std::errc::operation_canceled));
    check_use(here, here.active, here.passive);

    const async::loop_memory memory = here.active.memory(5000);
    const async::loop_memory target = here.passive.memory(5000);
    auto& offered = here.start(here.active.send(memory.buffer()));
    auto& offer = here.start(here.passive.next());
    here.wait(offer);
    offered.cancel();
    here.wait(offered);
    CHECK(has_failed(offered, std::errc::operation_canceled));
    auto& taken = here.start(offer.value.receive_into(target.buffer()));
    here.wait(taken);
    CHECK(has_failed(taken, std::errc::operation_canceled));
    offer.value = {};
    check_use(here, here.active, here.passive);

    // The peer has receives for six messages.
    std::array<int, 8> numbers{0, 1, 2, 3, 4, 5, 6, 7};
    std::vector<any_started*> sent;
    for (const int& each : std::span{numbers}.first(6))
      sent.push_back(&here.start(here.active.send(each)));
    auto& without_room = here.start(here.active.send(numbers[6]));
    sent.push_back(&here.start(here.active.send(numbers[7])));
    without_room.cancel();
    here.wait(without_room);
    CHECK(has_failed(without_room, std::errc::operation_canceled));
    std::vector<int> arrived;
    for (int each = 0; each < 7; ++each) {
      auto& got = here.start(here.passive.next());
      here.wait(got);
      arrived.push_back(got.value.template as<int>());
      got.value = {};
    }
    for (const any_started* each : sent) {
      here.wait(*each);
      CHECK(has_succeeded(*each));
    }
    CHECK(arrived == std::vector{0, 1, 2, 3, 4, 5, 7});

    messages::caller call{here.active};
    auto& asked = here.start(call(numbers[1]));
    auto& request = here.start(here.passive.next());
    here.wait(request);
    asked.cancel();
    here.wait(asked);
    CHECK(has_failed(asked, std::errc::operation_canceled));
    CHECK(call.outstanding() == 0);
    auto& replied = here.start(request.value.reply(numbers[1]));
    here.wait(replied);
    request.value = {};
    auto& asked_again = here.start(call(numbers[2]));
    auto& next = here.start(here.passive.next());
    here.wait(next);
    auto& answered = here.start(next.value.reply(numbers[2]));
    here.wait(asked_again);
    here.wait(answered);
    CHECK(asked_again.value.template as<int>() == 2);
    asked_again.value = {};
    next.value = {};
  });
}

TEST_CASE("A cancelled step whose memory is in use ends its channel and finishes once",
          "[ibv_post_send]") {
  started_in_each_way([](auto& here) {
    const async::loop_memory memory = here.active.memory(5000);
    const async::loop_memory target = here.passive.memory(5000);
    std::ranges::fill(memory.bytes(), std::byte{8});
    auto& offered = here.start(here.active.send(memory.buffer()));
    auto& offer = here.start(here.passive.next());
    here.wait(offer);
    auto& taken = here.start(offer.value.receive_into(target.buffer()));
    auto& behind = here.start(here.passive.next());
    // The loop runs while a coroutine is started.
    const bool was_under_way = taken.times == 0;
    if (was_under_way)
      taken.cancel();
    else
      here.passive.cancel();
    here.wait(taken);
    here.wait(behind);
    here.wait(offered);
    INFO(taken.code.message());
    // The data may have arrived when the step is cancelled.
    const bool has_arrived =
        has_succeeded(taken) && std::ranges::equal(taken.value, memory.bytes());
    CHECK((has_arrived || (was_under_way && has_failed(taken, std::errc::operation_canceled))));
    CHECK(has_failed(behind, std::errc::operation_canceled));
    CHECK(offered.times == 1);
    auto& later = here.start(here.passive.send(words));
    here.wait(later);
    CHECK(has_failed(later, std::errc::operation_canceled));
    offer.value = {};
  });
  started_in_each_way([](auto& here) {
    const async::loop_memory memory = here.active.memory(100);
    auto& behind = here.start(here.active.next());
    auto& posted = here.start(here.active.send(memory.buffer()));
    const bool was_under_way = posted.times == 0;
    if (was_under_way)
      posted.cancel();
    else
      here.active.cancel();
    here.wait(posted);
    CHECK(posted.times == 1);
    here.wait(behind);
    CHECK(has_failed(behind, std::errc::operation_canceled));
  });
}

TEST_CASE("Only terminal cancellation ends a step whose memory is in use", "[ibv_post_send]") {
  over_each_network<by_handlers>([](auto& here) {
    const async::loop_memory memory = here.active.memory(5000);
    const async::loop_memory target = here.passive.memory(5000);
    std::ranges::fill(memory.bytes(), std::byte{9});
    for (const auto type : {asio::cancellation_type::total, asio::cancellation_type::partial}) {
      auto& posted = here.start(here.active.send(memory.slice(0, 100)));
      posted.cancel(type);
      auto& got = here.start(here.passive.next());
      here.wait(posted);
      here.wait(got);
      CHECK(has_succeeded(posted));
      CHECK(got.value.size() == 100);
      got.value = {};

      auto& offered = here.start(here.active.send(memory.buffer()));
      auto& offer = here.start(here.passive.next());
      here.wait(offer);
      auto& taken = here.start(offer.value.receive_into(target.buffer()));
      taken.cancel(type);
      here.wait(taken);
      here.wait(offered);
      CHECK(has_succeeded(taken));
      CHECK(std::ranges::equal(target.bytes(), memory.bytes()));
      offer.value = {};
    }
  });
}

namespace {

/// Runs although handlers throw, until all these steps have finished.
template <class Pair>
void outlast_handlers(Pair& here, std::span<any_started* const> all) {
  for (const any_started* each : all)
    while (!each->is_finished) {
      try {
        here.wait(*each);
        if (!each->is_finished) FAIL("a step does not finish");
      } catch (const std::runtime_error&) {
      } catch (const asio::multiple_exceptions&) {
      }
    }
  // The exceptions that the loop still has.
  for (bool has_thrown = true; has_thrown;) {
    try {
      here.context.restart();
      here.context.poll();
      has_thrown = false;
    } catch (const std::runtime_error&) {
    } catch (const asio::multiple_exceptions&) {
    }
  }
  for (const any_started* each : all) CHECK(each->times == 1);
}
template <class Pair>
void outlast_handlers(Pair& here, any_started& one) {
  outlast_handlers(here, std::array<any_started*, 1>{&one});
}

}  // namespace

TEST_CASE("Handlers of a channel that throw leave no step unfinished", "[ibv_post_send]") {
  over_each_network<by_handlers>([](auto& here) {
    const async::loop_memory memory = here.active.memory(5000);
    const async::loop_memory target = here.passive.memory(5000);
    here.handlers_throw = true;
    const int number = 5;
    // More rounds than the ends have receives and frames.
    for (int round = 0; round < 20; ++round) {
      std::vector<any_started*> all;
      for (int each = 0; each < 3; ++each) {
        all.push_back(&here.start(here.active.send(memory.slice(0, 100))));
        all.push_back(&here.start(here.passive.next()));
      }
      outlast_handlers(here, all);
      here.all.clear();
    }
    for (int round = 0; round < 20; ++round) {
      auto& offered = here.start(here.active.send(memory.buffer()));
      auto& offer = here.start(here.passive.next());
      outlast_handlers(here, offer);
      if (round % 2 != 0) {
        auto& taken = here.start(offer.value.receive_into(target.buffer()));
        outlast_handlers(here, taken);
        CHECK(has_succeeded(taken));
      }
      offer.value = {};
      outlast_handlers(here, offered);
      here.all.clear();
    }
    messages::caller call{here.active};
    for (int round = 0; round < 10; ++round) {
      std::vector<any_started*> all;
      std::vector<messages::incoming> requests;
      for (int each = 0; each < 3; ++each) {
        all.push_back(&here.start(call(number)));
        auto& request = here.start(here.passive.next());
        outlast_handlers(here, request);
        requests.push_back(std::move(request.value));
      }
      for (const messages::incoming& each : requests)
        all.push_back(&here.start(each.reply(number)));
      outlast_handlers(here, all);
      requests.clear();
      here.all.clear();
    }
    here.handlers_throw = false;
  });
}

TEST_CASE("A handler that throws while a message is destroyed ends no program", "[ibv_post_send]") {
  over_each_network<by_handlers>([](auto& here) {
    const int number = 5;
    // The peer has receives for six messages; the seventh waits.
    std::vector<any_started*> all;
    for (int each = 0; each < 6; ++each) all.push_back(&here.start(here.active.send(number)));
    here.handlers_throw = true;
    all.push_back(&here.start(here.active.send(number)));
    here.handlers_throw = false;
    // The frame that brings room is a message, which its handler destroys.
    bool has_answer = false;
    here.active.next()([&](std::error_code, const messages::incoming& got) {
      has_answer = got.size() == sizeof number;
    });
    for (int each = 0; each < 6; ++each) {
      auto& got = here.start(here.passive.next());
      outlast_handlers(here, got);
      if (each == 5) all.push_back(&here.start(here.passive.send(number)));
      got.value = {};
    }
    outlast_handlers(here, all);
    auto& last = here.start(here.passive.next());
    outlast_handlers(here, last);
    // The peer may have the answer before this loop has noticed it.
    for (int each = 0; each < 500 && !has_answer; ++each) {
      here.context.restart();
      here.context.run_for(std::chrono::milliseconds{10});
    }
    CHECK(has_answer);
    last.value = {};
  });
}

TEST_CASE("Every step of a channel that ends finishes although handlers throw",
          "[rdma_disconnect]") {
  over_each_network<by_handlers>([](auto& here) {
    const async::loop_memory memory = here.active.memory(5000);
    here.handlers_throw = true;
    const int number = 5;
    std::vector<any_started*> all;
    for (int each = 0; each < 2; ++each) {
      all.push_back(&here.start(here.active.next()));
      all.push_back(&here.start(here.active.send(memory.buffer())));
      all.push_back(&here.start(here.active.close()));
    }
    for (int each = 0; each < 10; ++each) all.push_back(&here.start(here.passive.send(number)));
    here.passive.cancel();
    outlast_handlers(here, all);
    here.handlers_throw = false;
  });
}
