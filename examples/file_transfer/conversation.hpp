// SPDX-License-Identifier: MIT
// A channel whose sides report the reasons of their failures.
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>

#include "common/patience.hpp"
#include "common/printable.hpp"
#include "file_transfer/messages.hpp"

namespace file_transfer {

namespace async = adverb::async;
namespace messages = adverb::messages;

/// The peer sent the reason of its failure, or is gone: there is no peer to report to.
struct peer_failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Data arrive in the receives, so the credits of the receiver are the pace of the sender. A disk
/// may hold up the loop of a side for as long as `dead_after`.
inline constexpr messages::channel_options channel_options{.receives = 8,
                                                           .block_size = data_size + 64,
                                                           .max_frames = 8,
                                                           .dead_after = std::chrono::seconds{30}};

class conversation {
 public:
  /// `peer` is the name of the other side in failures.
  conversation(messages::channel with, std::string peer)
      : channel_{std::move(with)}, peer_{std::move(peer)} {}

  [[nodiscard]] async::loop_memory memory(std::size_t size) const { return channel_.memory(size); }

  /// Sends a message.
  template <class... Content>
  async::task<> send(message_kind kind, const Content&... content) {
    std::error_code why;
    co_await channel_.send(kind, content...).report_to(why);
    while (why) static_cast<void>(co_await take());  // Until the reason of the peer.
  }
  /// Returns the next message, which must be of this kind.
  async::task<messages::incoming> next(message_kind wanted) {
    messages::incoming found = co_await take();
    if (found.as<message_kind>() != wanted)
      throw std::runtime_error{peer_ + " sent a message out of turn"};
    co_return found;
  }
  /// Waits for a message of this kind without content.
  async::task<> expect(message_kind wanted) { static_cast<void>(co_await next(wanted)); }
  /// Ends the conversation, of which every message has arrived.
  async::task<> close() { co_await channel_.close(); }
  /// Waits until the peer has ended it.
  async::task<> wait_for_close() {
    std::error_code why;
    const messages::incoming none =
        co_await channel_.next().within(channel_options.dead_after).report_to(why);
  }

  /// Does the work of this side. On a failure, sends the reason to the peer.
  async::task<> run(async::task<> work) {
    std::string why;
    try {
      co_await std::move(work);
      co_return;
    } catch (const peer_failed&) {
      throw;
    } catch (const std::exception& failure) {
      why = failure.what();
    }
    co_await give_up(why);
    throw std::runtime_error{why};
  }
  /// Sends the peer the reason of a failure, and ends the conversation.
  async::task<> give_up(std::string why) {
    std::error_code is_gone;
    co_await channel_.send(message_kind::failure, last_words{why}).report_to(is_gone);
    co_await channel_.close().report_to(is_gone);
  }

 private:
  /// Takes a message. Throws if it reports a failure, or if the peer is gone.
  async::task<messages::incoming> take() {
    adverb::failure why;
    // A peer whose loop runs has no reason to send nothing for longer.
    messages::incoming found =
        co_await channel_.next().within(channel_options.dead_after).report_to(why);
    if (found && content_size(found) == sizeof(last_words) &&
        found.as<message_kind>() == message_kind::failure)
      reason_ = peer_ + " gave up: " + examples::printable(content_of<last_words>(found).view());
    else if (found && found.size() < sizeof(message_kind))
      throw std::runtime_error{"the peer sent a malformed message"};
    else if (!found && reason_.empty())
      reason_ = peer_ + " is gone: " + (why ? why.what() : "it ended the connection");
    if (!reason_.empty()) throw peer_failed{reason_};
    co_return found;
  }

  messages::channel channel_;
  std::string peer_;
  std::string reason_;
};

/// The conversation to which Ctrl-C is reported.
using open_conversation = std::shared_ptr<conversation>;

/// Runs the task of a side. After Ctrl-C the peer has ten seconds to take the reason.
inline void run_until_interrupted(async::event_loop& loop, open_conversation& open,
                                  async::task<> task) {
  bool has_ended = false;
  loop.stop_on({SIGINT, SIGTERM, SIGHUP});
  std::signal(SIGXFSZ, SIG_IGN);  // A file that is too large is an error of the write.
  loop.spawn([&]() -> async::task<> {
    co_await std::move(task);
    has_ended = true;
  });
  loop.run();
  if (has_ended) return;
  try {
    if (open)
      loop.spawn([&, last = open]() -> async::task<> {
        co_await last->give_up("interrupted");
        loop.stop();
      });
    loop.spawn([&]() -> async::task<> {
      if (open) co_await async::sleep_for(loop, examples::patience);
      loop.stop();
    });
    loop.run();
  } catch (const std::exception&) {
    // The task has ended with the conversation.
  }
  throw std::runtime_error{"interrupted"};
}

}  // namespace file_transfer
