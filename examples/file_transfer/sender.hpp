// SPDX-License-Identifier: MIT
// The side that sends files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>

#include "common/progress.hpp"
#include "file_transfer/conversation.hpp"
#include "file_transfer/file_checksum.hpp"
#include "file_transfer/messages.hpp"
#include "file_transfer/source_file.hpp"

namespace file_transfer {

/// Sends files to a receiver.
class sender {
 public:
  explicit sender(conversation& receiver) noexcept : receiver_{&receiver} {}

  /// Finishes when the receiver has stored all files.
  async::task<> send_all(std::vector<source_file>& files) {
    co_await receiver_->send(message_kind::greeting, greeting{});
    const auto count = static_cast<std::uint32_t>(files.size());
    for (std::uint32_t index = 0; index < count; ++index)
      co_await send_one(files[index], index + 1, count);
    co_await receiver_->close();
  }

 private:
  async::task<> send_one(source_file& file, std::uint32_t number, std::uint32_t count) {
    examples::progress shown{file.name(), file.size()};
    co_await receiver_->send(
        message_kind::announcement,
        announcement{file.size(), number, count, text_field<256>{file.name()}});
    co_await receiver_->expect(message_kind::go_ahead);
    file_checksum sum;
    // One block is read while others are sent.
    std::vector<async::task<>> blocks;
    for (int each = 0; each < 4; ++each) blocks.push_back(send_blocks(file, sum, shown));
    co_await async::when_all(std::move(blocks));
    file.check_end();
    co_await receiver_->send(message_kind::checksum, sum.value());
    co_await receiver_->expect(message_kind::stored);
    shown.finish("sent", to_hexadecimal(sum.value()));
  }

  /// The messages of several such tasks stay in order: none waits between reading and sending.
  async::task<> send_blocks(source_file& file, file_checksum& sum, examples::progress& shown) {
    const async::loop_memory block = receiver_->memory(data_size);
    while (!file.at_end()) {
      const auto bytes = file.read(block.bytes());
      sum.add(bytes);
      shown.add(bytes.size());
      co_await receiver_->send(message_kind::data, block.slice(0, bytes.size()));
    }
  }

  conversation* receiver_;
};

}  // namespace file_transfer
