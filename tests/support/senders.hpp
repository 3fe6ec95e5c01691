// SPDX-License-Identifier: MIT
// The part of the protocol of senders (P2300) that adverb and its tests use.
#pragma once

#include <concepts>
#include <optional>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <utility>

namespace protocol {

struct sender_tag {};
struct operation_state_tag {};
template <class... Signatures>
struct completion_signatures {};
template <class Sender>
inline constexpr bool enable_sender = requires { typename Sender::sender_concept; };

inline constexpr struct set_value_t {
  template <class Receiver, class... Values>
  void operator()(Receiver&& receiver, Values&&... values) const noexcept {
    std::forward<Receiver>(receiver).set_value(std::forward<Values>(values)...);
  }
} set_value{};
inline constexpr struct set_error_t {
  template <class Receiver, class Error>
  void operator()(Receiver&& receiver, Error&& error) const noexcept {
    std::forward<Receiver>(receiver).set_error(std::forward<Error>(error));
  }
} set_error{};
inline constexpr struct set_stopped_t {
  template <class Receiver>
  void operator()(Receiver&& receiver) const noexcept {
    std::forward<Receiver>(receiver).set_stopped();
  }
} set_stopped{};

struct never_stop_token {};
template <class Token>
concept unstoppable_token = std::same_as<Token, never_stop_token>;
template <class Token, class Function>
using stop_callback_for_t = std::stop_callback<Function>;

/// The environment of a receiver without one.
struct env {};
inline constexpr struct get_env_t {
  template <class Receiver>
  auto operator()(const Receiver& receiver) const noexcept {
    if constexpr (requires { receiver.get_env(); })
      return receiver.get_env();
    else
      return env{};
  }
} get_env{};
inline constexpr struct get_stop_token_t {
  template <class Environment>
  auto operator()(const Environment& of) const noexcept {
    if constexpr (requires { of.query(*this); })
      return of.query(*this);
    else
      return never_stop_token{};
  }
} get_stop_token{};

template <class Sender, class Receiver>
[[nodiscard]] auto connect(Sender&& sender, Receiver receiver) {
  return std::forward<Sender>(sender).connect(std::move(receiver));
}
template <class State>
void start(State& state) noexcept {
  state.start();
}

/// Calls a function where an object is made, which need not be movable.
template <class Function>
struct made_by {
  Function function;
  operator decltype(std::declval<Function&>()())() { return function(); }
};
template <class Function>
made_by(Function) -> made_by<Function>;

/// Passes the value to a function, and completes with its result.
template <class Sender, class Function>
struct then_sender {
  using sender_concept = sender_tag;

  template <class Receiver>
  struct receiver {
    template <class... Values>
    void set_value(Values&&... values) noexcept {
      if constexpr (std::is_void_v<std::invoke_result_t<Function, Values...>>) {
        function(std::forward<Values>(values)...);
        protocol::set_value(std::move(next));
      } else {
        protocol::set_value(std::move(next), function(std::forward<Values>(values)...));
      }
    }
    void set_error(std::error_code code) noexcept { protocol::set_error(std::move(next), code); }
    void set_stopped() noexcept { protocol::set_stopped(std::move(next)); }
    [[nodiscard]] auto get_env() const noexcept { return protocol::get_env(next); }

    Function function;
    Receiver next;
  };
  template <class Receiver>
  [[nodiscard]] auto connect(Receiver next) const {
    return protocol::connect(sender, receiver<Receiver>{function, std::move(next)});
  }

  Sender sender;
  Function function;
};

template <class Signatures>
struct value_of;
template <class Value, class... Others>
struct value_of<completion_signatures<set_value_t(Value), Others...>> {
  using type = Value;
};

/// Keeps the value, passes it to a function, and starts the sender that this returns.
template <class Sender, class Function>
struct let_value_sender {
  using sender_concept = sender_tag;
  using value = typename value_of<decltype(Sender::get_completion_signatures())>::type;
  using second_sender = std::invoke_result_t<Function, value&>;

  template <class Receiver>
  struct state {
    using operation_state_concept = operation_state_tag;

    struct first_receiver {
      void set_value(value&& got) noexcept { self->go_on(std::move(got)); }
      void set_error(std::error_code code) noexcept {
        protocol::set_error(std::move(self->next), code);
      }
      void set_stopped() noexcept { protocol::set_stopped(std::move(self->next)); }
      [[nodiscard]] decltype(protocol::get_env(std::declval<const Receiver&>())) get_env()
          const noexcept {
        return protocol::get_env(self->next);
      }
      state* self;
    };

    state(const Sender& sender, Function of, Receiver&& receiver)
        : function{std::move(of)},
          next{std::move(receiver)},
          first{protocol::connect(sender, first_receiver{this})} {}
    void start() noexcept { protocol::start(first); }
    void go_on(value&& got) noexcept {
      kept.emplace(std::move(got));
      second.emplace(made_by{[this] { return protocol::connect(function(*kept), next); }});
      protocol::start(*second);
    }

    Function function;
    Receiver next;
    decltype(protocol::connect(std::declval<const Sender&>(),
                               std::declval<first_receiver>())) first;
    std::optional<value> kept;
    std::optional<decltype(protocol::connect(std::declval<second_sender>(),
                                             std::declval<Receiver>()))>
        second;
  };
  template <class Receiver>
  [[nodiscard]] state<Receiver> connect(Receiver next) const {
    return {sender, function, std::move(next)};
  }

  Sender sender;
  Function function;
};

/// The object to which `sender | then(function)` passes the sender.
template <template <class, class> class Adapted, class Function>
struct closure {
  template <class Sender>
    requires enable_sender<Sender>
  friend Adapted<Sender, Function> operator|(Sender sender, closure self) {
    return {std::move(sender), std::move(self.function)};
  }
  Function function;
};
template <class Function>
[[nodiscard]] closure<then_sender, Function> then(Function function) {
  return {std::move(function)};
}
template <class Function>
[[nodiscard]] closure<let_value_sender, Function> let_value(Function function) {
  return {std::move(function)};
}

}  // namespace protocol

#define ADVERB_EXECUTION protocol
#include <adverb/senders.hpp>
