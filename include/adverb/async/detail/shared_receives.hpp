// SPDX-License-Identifier: MIT
// The blocks that the connections of one device share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include <adverb/async/detail/link.hpp>
#include <adverb/async/detail/receive_blocks.hpp>
#include <adverb/async/detail/receive_loans.hpp>
#include <adverb/completion/completion_queue.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/queue/shared_receive_queue.hpp>
#include <adverb/request/requests.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// A shared receive queue, its blocks, and the links that take messages from it, by the number of
/// their queue pair.
class shared_receives {
 public:
  shared_receives(protection_domain_ref domain, completion_queue_ref completions,
                  std::uint32_t count, std::uint32_t size, on_failure policy);
  shared_receives(const shared_receives&) = delete;
  shared_receives& operator=(const shared_receives&) = delete;
  ~shared_receives() = default;

  [[nodiscard]] shared_receive_queue_ref queue() const noexcept { return queue_; }
  [[nodiscard]] const std::shared_ptr<receive_loans>& loans() const noexcept { return loans_; }

  void add(qp_number number, link& of) { links_.emplace(static_cast<std::uint32_t>(number), &of); }
  void remove(qp_number number) noexcept { links_.erase(static_cast<std::uint32_t>(number)); }

  /// Posts the block of a message that a link has done with.
  post_result take_back(receive_block& block) noexcept {
    --held_;
    return post(block);
  }
  /// Returns true if messages of connections have every block.
  [[nodiscard]] bool is_exhausted() const noexcept { return held_ >= blocks_.size(); }

 private:
  struct shared_block : receive_block {
    shared_block(shared_receives& of, mutable_buffer buffer) noexcept
        : receive_block{&shared_receives::complete, nullptr, buffer}, pool{&of} {}
    shared_receives* pool;
  };

  static void complete(async::operation& which, const completion& each);
  post_result post(receive_block& block) const noexcept { return queue_.post(block.request); }

  std::shared_ptr<receive_loans> loans_;
  block_memory memory_;
  std::vector<shared_block> blocks_;
  std::unordered_map<std::uint32_t, link*> links_;
  /// Number of blocks with messages of links.
  std::size_t held_ = 0;
  completion_reservation reservation_;
  shared_receive_queue queue_;
};

}  // namespace adverb::inline ADVERB_ABI::detail
