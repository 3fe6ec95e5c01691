// SPDX-License-Identifier: MIT
// A chat for any number of clients, on one thread. The server passes each line on to all others. A
// client that is too slow misses lines, and a dead one is gone after five seconds, or --dead-after.
// Neither delays the others, and each takes a bounded amount of the server's memory: that of its
// channel.
//
//     chat                       # the server, until Ctrl-C
//     chat 10.1.0.1 --name Ada   # a client, until the end of its input
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>

#include "common/async_server.hpp"
#include "common/cm_options.hpp"
#include "common/command_line.hpp"
#include "common/input_lines.hpp"
#include "common/printable.hpp"

namespace {

namespace async = adverb::async;
namespace messages = adverb::messages;

constexpr std::size_t longest_name = 32, longest_line = 1000;
/// A client that has not taken 254 lines misses the next. The server receives 30 ahead from each.
[[nodiscard]] messages::channel_options of_client(std::chrono::seconds dead_after) {
  return {.receives = 256, .block_size = 1200, .dead_after = dead_after};
}
[[nodiscard]] messages::channel_options of_server(std::chrono::seconds dead_after) {
  return {.receives = 32, .block_size = 1200, .max_frames = 64, .dead_after = dead_after};
}

struct member {
  messages::channel channel;
  std::string name{};
  std::size_t missed = 0;
};

class room {
 public:
  explicit room(std::chrono::seconds dead_after) : dead_after_{dead_after} {}

  async::task<> serve(messages::channel_request request) {
    messages::channel channel = co_await request.accept();
    member self{std::move(channel)};
    {
      const auto name = co_await self.channel.next().within(dead_after_);
      self.name = examples::printable(name.text().substr(0, longest_name));
    }
    members_.insert(&self);
    pass_on(self, self.name + " joins");
    std::error_code why;
    while (const messages::incoming line = co_await self.channel.next().report_to(why))
      if (line.size() <= longest_line)
        pass_on(self, self.name + ": " + examples::printable(line.text()));
    members_.erase(&self);
    pass_on(self, self.name + (why ? " is gone: " + why.message() : " leaves"));
  }

 private:
  void pass_on(const member& from, const std::string& line) {
    std::puts(line.c_str());
    for (member* const each : members_)
      if (each != &from) send(*each, line);
  }
  static void send(member& to, const std::string& line) {
    if (to.missed > 0 && to.channel.try_send("you missed " + std::to_string(to.missed) + " lines"))
      to.missed = 0;
    if (to.missed > 0 || !to.channel.try_send(line)) ++to.missed;
  }

  std::chrono::seconds dead_after_;
  std::set<member*> members_;
};

async::task<> talk(async::event_loop& loop, const messages::channel& server) {
  examples::input_lines input{loop, longest_line};
  while (const auto line = co_await input.next()) co_await server.send(*line);
  co_await server.close();
}

async::task<> join(async::event_loop& loop, const examples::cm_options& options,
                   const std::string& name, std::chrono::seconds dead_after) {
  const auto server =
      co_await messages::connect(loop, options.server, options.port, of_client(dead_after));
  co_await server.send(name);
  loop.spawn(talk(loop, server));
  while (const messages::incoming line = co_await server.next())
    std::puts(examples::printable(line.text()).c_str());
  loop.stop();
}

}  // namespace

int main(int argc, char** argv) {
  examples::command_line arguments{"Passes the lines of each client on to the others.", "chat"};
  examples::cm_options options;
  std::string name = "guest";
  options.add_server_to(arguments, "Join the chat on this host; without it, run as the server");
  arguments.add_text("-n,--name", name, "Name of the client").default_text(name);
  options.add_port_to(arguments);
  std::uint32_t silence = 5;
  arguments.add_number(
      "--dead-after", silence, 1, 3600,
      "Seconds of silence after which the other side is gone; the shorter of both");
  return examples::run(arguments, argc, argv, [&] {
    const std::chrono::seconds dead_after{silence};
    room all{dead_after};
    // Enough for 120 clients where the device cannot enlarge its queue, such as soft-iWARP.
    async::event_loop loop{{.completions = 20000}};
    if (options.is_client())
      return examples::run_to_end(loop, join(loop, options, name, dead_after));
    examples::serve_each_until_interrupted<messages::listener>(
        loop, options.port,
        [&](messages::channel_request from) { return all.serve(std::move(from)); },
        of_server(dead_after));
  });
}
