// SPDX-License-Identifier: MIT
// The side that sends files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>

#include "common/progress.hpp"
#include "file_transfer/file_checksum.hpp"
#include "file_transfer/message_link.hpp"
#include "file_transfer/messages.hpp"
#include "file_transfer/source_file.hpp"

namespace file_transfer {

class sender {
 public:
  /// Connects to the receiver on this host.
  sender(const std::string& host, std::uint16_t port, const interruption& interruption)
      : sender{cm::resolve(host, port), interruption} {}

  /// Sends one file, the `number`th of `count`. On a failure, sends the reason to the receiver.
  void send(source_file file, std::uint32_t number, std::uint32_t count) {
    try {
      converse(file, number, count);
    } catch (const peer_failed&) {
      throw;
    } catch (const std::exception& failure) {
      link_.tell_failure(failure.what());
      throw;
    }
  }

 private:
  struct outgoing_message {
    std::size_t block;
    message_kind kind;
    std::size_t length;
  };

  sender(cm::connector<transport::rc, cm::step::route_resolved> way,
         const interruption& interruption)
      : link_{way.context(),
              {answer_blocks, answer_size, data_blocks, data_size},
              interruption,
              "the receiver"} {
    auto ready = way.create_queue_pair(link_.options(), link_.domain());
    link_.post_receives(ready.queue_pair());
    try {
      auto connection = ready.connect({.private_data = cm::private_data::of(greeting{})});
      const auto answer = connection.private_data().as<welcome>();
      if (!answer || answer->same != greeting{} || answer->credits < 2)
        throw std::runtime_error{"the listener is not a file_transfer of this version"};
      credits_ = answer->credits;
      link_.use(std::move(connection));
    } catch (const adverb::error&) {
      if (const auto& rejection = ready.rejection())
        if (const auto why = rejection->private_data.text())
          throw std::runtime_error{"the receiver refused: " + printable(*why)};
      throw;
    }
  }

  void converse(source_file& file, std::uint32_t number, std::uint32_t count) {
    examples::progress shown{file.name(), file.size()};
    send_value(message_kind::announcement,
               announcement{file.size(), number, count, text_field<256>{file.name()}});
    wait_for(message_kind::go_ahead);
    file_checksum sum;
    while (!file.at_end()) {
      const std::size_t block = wait_for_block();
      const auto bytes = file.read(link_.content(block).first(data_size));
      sum.add(bytes);
      filled_.push_back({block, message_kind::data, bytes.size()});
      shown.add(bytes.size());
      take_answers();
    }
    file.check_end();
    send_value(message_kind::checksum, sum.value());
    wait_for(message_kind::stored);
    shown.finish("sent", to_hexadecimal(sum.value()));
  }

  /// Sends filled blocks while it waits, as the receiver has room for them.
  [[nodiscard]] std::size_t wait_for_block() {
    while (true) {
      if (const auto block = link_.free_block()) return *block;
      link_.wait();
      take_answers();
    }
  }
  template <class T>
  void send_value(message_kind kind, const T& value) {
    const std::size_t block = wait_for_block();
    link_.fill(block, value);
    filled_.push_back({block, kind, sizeof value});
    post_filled();
  }

  /// The last credit is reserved for reporting a failure.
  void post_filled() {
    for (; !filled_.empty() && credits_ > 1; --credits_) {
      const outgoing_message first = filled_.front();
      filled_.pop_front();
      link_.post(first.block, first.kind, first.length);
    }
  }

  /// Handles the receiver's messages that have arrived, while there is still something to send.
  void take_answers() {
    link_.look();
    while (const auto answer = link_.next()) take(*answer, message_kind::credit);
    post_filled();
  }
  void wait_for(message_kind wanted) {
    while (!take(link_.wait_for_message(), wanted)) post_filled();
  }
  /// Returns true if the message is of the wanted kind. Credits may come at any time.
  bool take(const message& answer, message_kind wanted) {
    if (answer.kind == message_kind::credit)
      credits_ += answer.as<credit>().blocks;
    else if (answer.kind != wanted)
      throw std::runtime_error{"the receiver answered out of turn"};
    const bool found = answer.kind == wanted;
    link_.give_back(answer);
    return found;
  }

  message_link link_;
  std::uint32_t credits_ = 0;
  std::deque<outgoing_message> filled_;
};

}  // namespace file_transfer
