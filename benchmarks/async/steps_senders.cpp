// SPDX-License-Identifier: MIT
// The steps of a connection as senders, on an event loop.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <utility>

#include "../../tests/support/senders.hpp"
#include "steps.hpp"

namespace {

namespace async = adverb::async;

/// Starts what `make` returns again and again.
template <class Make>
class repeated {
 public:
  repeated(std::uint64_t times, Make make) : left_{times}, make_{std::move(make)} { again(); }
  repeated(const repeated&) = delete;
  repeated& operator=(const repeated&) = delete;
  ~repeated() = default;

 private:
  struct receiver {
    void set_value() noexcept { self->go_on(); }
    static void set_error(std::error_code) noexcept { std::abort(); }
    static void set_stopped() noexcept { std::abort(); }
    repeated* self;
  };

  void go_on() noexcept {
    if (--left_ != 0) again();
  }
  void again() {
    operation_.emplace(
        protocol::made_by{[this] { return protocol::connect(make_(), receiver{this}); }});
    protocol::start(*operation_);
  }

  std::uint64_t left_;
  Make make_;
  std::optional<decltype(protocol::connect(std::declval<Make&>()(), std::declval<receiver>()))>
      operation_;
};

}  // namespace

int main() {
  const adverb::context device = adverb::open_device();
  async::event_loop loop{{.waiting = async::waiting::busy}};
  steps::side here{loop, device};
  const auto count = [&](const char* job, const auto& make) {
    counting::count(job, "senders", [&](std::uint64_t times) {
      const repeated running{times, make};
      loop.run();
    });
  };
  count("echo", [&here] {
    return here.connection.next() | protocol::let_value([&here](const async::message& message) {
             return here.connection.send(message.buffer());
           });
  });
}
