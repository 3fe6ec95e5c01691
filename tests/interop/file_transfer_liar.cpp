// SPDX-License-Identifier: MIT
// Usage: file_transfer_liar LIE ADDRESS
//
// A sender that sends wrong messages to the receiver of examples/file_transfer.cpp, and prints its
// answers.
#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>

#include "file_transfer/conversation.hpp"
#include "file_transfer/messages.hpp"

namespace {

using namespace file_transfer;

async::task<> lie(async::event_loop& loop, std::string_view what, std::string address) {
  messages::channel channel = co_await messages::connect(loop, address, 7472, channel_options);
  conversation receiver{std::move(channel), "the receiver"};
  greeting hello;
  if (what == "version") ++hello.version;
  co_await receiver.send(message_kind::greeting, hello);
  const auto announce = [&](std::string_view name, std::uint64_t size) -> async::task<> {
    co_await receiver.send(message_kind::announcement,
                           announcement{size, 1, 1, text_field<256>{name}});
  };
  if (what == "order") co_await receiver.send(message_kind::data, 1);
  if (what == "malformed") co_await receiver.send(message_kind::announcement, 1);
  if (what == "path") co_await announce("../evil", 5);
  if (what == "parent") co_await announce("..", 5);
  if (what == "nameless") co_await announce("", 5);
  if (what == "terminal") co_await announce("a\033[2Jb", 5);
  if (what == "more") co_await announce("file", 5);
  if (what == "more") co_await receiver.send(message_kind::data, std::array<char, 6>{});
  if (what == "huge") co_await announce("file", std::uint64_t{1} << 62);
  if (what == "checksum") {
    co_await announce("file", 5);
    co_await receiver.send(message_kind::data, std::array{'h', 'e', 'l', 'l', 'o'});
    co_await receiver.send(message_kind::checksum, std::array<unsigned char, 16>{});
  }
  // Throws the answer of the receiver, which is a failure in the end.
  while (true) co_await receiver.expect(message_kind::go_ahead);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    async::event_loop loop;
    loop.spawn(lie(loop, argv[1], argv[2]));
    loop.run();
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "file_transfer_liar: %s\n", failure.what());
    return 1;
  }
}
