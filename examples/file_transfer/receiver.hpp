// SPDX-License-Identifier: MIT
// The side that receives files.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>

#include "common/progress.hpp"
#include "file_transfer/conversation.hpp"
#include "file_transfer/file_checksum.hpp"
#include "file_transfer/messages.hpp"
#include "file_transfer/target_file.hpp"

namespace file_transfer {

/// Receives the files of one sender.
class receiver {
 public:
  receiver(conversation& sender, const target_folder& folder) noexcept
      : sender_{&sender}, folder_{&folder} {}

  /// Finishes when the sender has sent all files.
  async::task<> receive_all() {
    const messages::incoming hello = co_await sender_->next(message_kind::greeting);
    if (content_of<greeting>(hello) != greeting{}) {
      co_await sender_->give_up("this file_transfer uses another protocol version");
      throw peer_failed{"refused a program with another protocol version"};
    }
    while (!co_await receive_one()) {
    }
    co_await sender_->wait_for_close();
  }

 private:
  /// Returns true if it was the last file.
  async::task<bool> receive_one() {
    const auto file = content_of<announcement>(co_await sender_->next(message_kind::announcement));
    const std::string name{file.name.view()};
    target_file target{*folder_, name, file.size};
    co_await sender_->send(message_kind::go_ahead);
    try {
      co_await receive_content(target, name, file.size);
    } catch (const peer_failed& failure) {
      throw peer_failed{name + " did not arrive: " + failure.what()};
    }
    co_return file.number >= file.count;
  }

  async::task<> receive_content(target_file& target, const std::string& name, std::uint64_t size) {
    examples::progress shown{name, size};
    file_checksum sum;
    for (std::uint64_t left = size; left > 0;) {
      const messages::incoming next = co_await sender_->next(message_kind::data);
      const auto bytes = next.bytes().subspan(sizeof(message_kind));
      if (bytes.empty() || bytes.size() > left)
        throw std::runtime_error{"the sender sent other data than it announced"};
      target.write(bytes);
      sum.add(bytes);
      shown.add(bytes.size());
      left -= bytes.size();
    }
    if (content_of<digest>(co_await sender_->next(message_kind::checksum)) != sum.value())
      throw std::runtime_error{"the checksum of " + name +
                               " is wrong: the received bytes differ from the sent ones"};
    target.store();
    co_await sender_->send(message_kind::stored);
    shown.finish("received", to_hexadecimal(sum.value()));
  }

  conversation* sender_;
  const target_folder* folder_;
};

/// Receives the files of the sender that has sent this request. `open` is the conversation
/// meanwhile.
inline async::task<> receive_from(messages::channel_request request, const target_folder& folder,
                                  open_conversation& open) {
  messages::channel channel;
  try {
    channel = co_await request.accept();
  } catch (const adverb::error& failure) {
    if (failure.code() != std::errc::protocol_error) throw;
    throw std::runtime_error{"refused a program with another protocol version"};
  }
  const auto sender = open = std::make_shared<conversation>(std::move(channel), "the sender");
  receiver work{*sender, folder};
  co_await sender->run(work.receive_all());
}

}  // namespace file_transfer
