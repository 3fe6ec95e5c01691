// SPDX-License-Identifier: MIT
// The side that receives files.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

#include <poll.h>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>

#include "common/progress.hpp"
#include "file_transfer/file_checksum.hpp"
#include "file_transfer/message_link.hpp"
#include "file_transfer/messages.hpp"
#include "file_transfer/target_file.hpp"

namespace file_transfer {

using request_to_send = cm::connection_request<transport::rc>;

/// Receives the files of one sender.
class receiver {
 public:
  receiver(request_to_send request, const target_folder& folder, const interruption& interruption)
      : folder_{folder},
        link_{request.context(),
              {data_blocks, data_size, answer_blocks, answer_size},
              interruption,
              "the sender"} {
    check(request);
    auto ready = request.create_queue_pair(link_.options(), link_.domain());
    link_.post_receives(ready.queue_pair());
    link_.use(ready.accept({.private_data = cm::private_data::of(welcome{{}, data_blocks})}));
  }

  /// Returns when the sender has sent all files. On a failure, sends the reason to the sender.
  void receive_all() {
    try {
      while (!receive_one()) {
      }
      link_.wait_for_end(patience);
    } catch (const peer_failed&) {
      throw;
    } catch (const std::exception& failure) {
      link_.tell_failure(failure.what());
      throw;
    }
  }

 private:
  static void check(request_to_send& request) {
    if (request.private_data().as<greeting>() == greeting{}) return;
    request.reject(cm::private_data::of("this file_transfer uses another protocol version"));
    throw std::runtime_error{"refused a program with another protocol version"};
  }

  /// Returns true if it was the last file.
  [[nodiscard]] bool receive_one() {
    const message first = wait_for(message_kind::announcement);
    const auto file = first.as<announcement>();
    give_back(first);
    const std::string name{file.name.view()};
    target_file target{folder_, name, file.size};
    send_value(message_kind::go_ahead, no_content{});
    try {
      receive_content(target, name, file.size);
    } catch (const peer_failed& failure) {
      throw peer_failed{name + " did not arrive: " + failure.what()};
    }
    return file.number >= file.count;
  }

  void receive_content(target_file& target, const std::string& name, std::uint64_t size) {
    examples::progress shown{name, size};
    file_checksum sum;
    for (std::uint64_t left = size; left > 0;) {
      const message next = wait_for(message_kind::data);
      if (next.content.empty() || next.content.size() > left)
        throw std::runtime_error{"the sender sent other data than it announced"};
      target.write(next.content);
      sum.add(next.content);
      shown.add(next.content.size());
      left -= next.content.size();
      give_back(next);
    }
    const message last = wait_for(message_kind::checksum);
    if (last.as<digest>() != sum.value())
      throw std::runtime_error{"the checksum of " + name +
                               " is wrong: the received bytes differ from the sent ones"};
    give_back(last);
    target.store();
    send_value(message_kind::stored, no_content{});
    shown.finish("received", to_hexadecimal(sum.value()));
  }

  [[nodiscard]] message wait_for(message_kind wanted) {
    link_.look();
    const message found = link_.wait_for_message();
    if (found.kind != wanted) throw std::runtime_error{"the sender sent a message out of turn"};
    return found;
  }

  /// Posts the block again. The credit is sent after several blocks.
  void give_back(const message& used) {
    link_.give_back(used);
    if (++given_back_ < credit_batch) return;
    send_value(message_kind::credit, credit{std::exchange(given_back_, 0)});
  }

  template <class T>
  void send_value(message_kind kind, const T& value) {
    const std::size_t block = link_.wait_for_block();
    link_.fill(block, value);
    link_.post(block, kind, sizeof value);
  }

  const target_folder& folder_;
  message_link link_;
  std::uint32_t given_back_ = 0;
};

/// Waits for the next sender.
[[nodiscard]] inline request_to_send next_sender(const cm::listener<transport::rc>& listener,
                                                 const interruption& interruption) {
  std::array<pollfd, 2> descriptors{
      {{listener.file_descriptor(), POLLIN, 0}, {interruption.file_descriptor(), POLLIN, 0}}};
  while (::poll(descriptors.data(), descriptors.size(), -1) < 0) interruption.check();
  interruption.check();
  return listener.next_request(std::chrono::seconds{1});
}

}  // namespace file_transfer
