// SPDX-License-Identifier: MIT
// Usage: file_transfer_liar LIE ADDRESS
//
// A sender that sends wrong messages to the receiver of examples/file_transfer.cpp, and prints its
// answers.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include <adverb/cm.hpp>

#include "file_transfer/message_link.hpp"
#include "file_transfer/messages.hpp"

namespace {

namespace cm = adverb::cm;
using namespace file_transfer;

class liar {
 public:
  liar(const std::string& address, const greeting& hello, const interruption& interruption)
      : way_{resolve(address)},
        link_{way_.context(),
              {answer_blocks, answer_size, data_blocks, data_size},
              interruption,
              "the receiver"} {
    auto ready = way_.create_queue_pair(link_.options(), link_.domain());
    link_.post_receives(ready.queue_pair());
    try {
      link_.use(ready.connect({.private_data = cm::private_data::of(hello)}));
    } catch (const adverb::error&) {
      if (!ready.rejection()) throw;
      const auto why = ready.rejection()->private_data.text();
      throw std::runtime_error{why ? std::string{*why} : "rejected without a word"};
    }
  }

  void announce(std::string_view name, std::uint64_t size) {
    tell(message_kind::announcement, announcement{size, 1, 1, text_field<256>{name}});
  }
  template <class T>
  void tell(message_kind kind, const T& value) {
    const std::size_t block = link_.wait_for_block();
    link_.fill(block, value);
    link_.post(block, kind, sizeof value);
  }
  /// Throws the receiver's answer, which must be a failure in the end.
  [[noreturn]] void listen() {
    while (true) link_.give_back(link_.wait_for_message());
  }

 private:
  using resolved = cm::connector<transport::rc, cm::step::route_resolved>;

  [[nodiscard]] static resolved resolve(const std::string& address) {
    auto start = cm::connector<transport::rc>::create();
    auto near = start.resolve_address(cm::socket_address::parse(address, 7472).value());
    return near.resolve_route();
  }

  resolved way_;
  message_link link_;
};

[[noreturn]] void lie(std::string_view what, const std::string& address) {
  const interruption interruption;
  greeting hello;
  if (what == "version") ++hello.version;
  liar liar{address, hello, interruption};
  if (what == "order") liar.tell(message_kind::data, 1);
  if (what == "malformed") liar.tell(message_kind::announcement, 1);
  if (what == "path") liar.announce("../evil", 5);
  if (what == "parent") liar.announce("..", 5);
  if (what == "nameless") liar.announce("", 5);
  if (what == "terminal") liar.announce("a\033[2Jb", 5);
  if (what == "more") liar.announce("file", 5);
  if (what == "more") liar.tell(message_kind::data, std::array<char, 6>{});
  if (what == "huge") liar.announce("file", std::uint64_t{1} << 62);
  if (what == "checksum") {
    liar.announce("file", 5);
    liar.tell(message_kind::data, std::array{'h', 'e', 'l', 'l', 'o'});
    liar.tell(message_kind::checksum, std::array<unsigned char, 16>{});
  }
  liar.listen();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    lie(argv[1], argv[2]);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "file_transfer_liar: %s\n", failure.what());
    return 1;
  }
}
