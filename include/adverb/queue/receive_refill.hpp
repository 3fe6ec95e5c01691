// SPDX-License-Identifier: MIT
// Keeps a receive queue filled with the blocks of a region.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <adverb/fwd.hpp>
#include <adverb/memory/buffer.hpp>
#include <adverb/request/post_result.hpp>
#include <adverb/request/prepared_request.hpp>
#include <adverb/request/requests.hpp>

namespace adverb::inline ADVERB_ABI {

/// The options of a receive_refill.
struct receive_refill_options {
  /// Number of receives posted with one doorbell: at least 1, and at most half of the blocks,
  /// because the queue needs the others meanwhile.
  std::size_t batch = 16;
};

namespace detail {

class shared_receive_queue_base;
template <transport Transport, qp_state State>
class queue_pair_base;
template <work_queue_state State>
class work_queue_base;

/// A completion of either engine.
template <class T>
concept identified = requires(const T& completion) {
  { completion.id() } -> std::same_as<std::uint64_t>;
};

/// The view of a received message, of either engine.
template <class T>
concept message_view = requires(const T& message) {
  { message.announces_write() } -> std::same_as<bool>;
};

}  // namespace detail

/// Posts the blocks of a region as receives, and posts each again after the program returns it,
/// several with one doorbell:
///
///     receive_refill receives{pair, region.blocks(4096), {.batch = 16}};
///     receives.fill().check();
///     for (completion& each : queue.poll(batch)) {
///       each.check();
///       use(receives.bytes(each));
///       receives.give_back(each).check();
///     }
///     receives.fill().check();  // before a wait: the rest, which is not a whole batch
///
/// The id of a receive is the index of its block. Give other requests on the same completion queue
/// higher ids to distinguish failed ones. `Queue` is a reference to a queue pair from INIT on, to a
/// shared receive queue of any kind, or to a work queue. The queue pair may change its state, and
/// keeps its receives except in RESET. The queue and the region must outlive this object. Only
/// construction allocates (std::bad_alloc). Not thread safe.
///
/// Every block is in the queue, with the program, or waiting here. Blocks that a failed post did
/// not accept wait here until `fill` posts them. If the provider does not report how many it
/// accepted (`accepted()`), all of that post count as posted, because a block that is posted twice
/// could receive two messages. RESET removes all receives from the queue: create a new object then.
///
/// `give_back` checks that a block with that index exists. It does not check that the program had
/// the block, which would need a record of every block. A block that is returned twice is posted
/// twice. A moved-from object can only be assigned to or destroyed.
template <class Queue>
class receive_refill {
  static_assert(std::is_trivially_copyable_v<Queue>,
                "receive_refill needs a reference type: receive_refill<queue_pair_ref<...>>, "
                "receive_refill<shared_receive_queue_ref>");
  using request = decltype(receive(mutable_buffer{}));

 public:
  /// Creates the object without posting anything.
  receive_refill(std::type_identity_t<Queue> queue, const buffer_blocks<mutable_buffer>& blocks,
                 const receive_refill_options& options = {})
      : queue_{queue},
        blocks_{blocks},
        batch_{batch_of(options.batch, blocks.size())},
        list_{model(blocks), batch_} {
    waiting_.reserve(blocks.size());
    for (std::size_t left = blocks.size(); left > 0; --left) waiting_.push_back(left - 1);
  }

  receive_refill(receive_refill&&) noexcept = default;
  receive_refill& operator=(receive_refill&&) noexcept = default;

  /// Returns the blocks in which messages arrive.
  [[nodiscard]] const buffer_blocks<mutable_buffer>& blocks() const noexcept { return blocks_; }
  /// Returns the number of receives posted with one doorbell.
  [[nodiscard]] std::size_t batch() const noexcept { return batch_; }
  /// Returns the number of blocks that wait to be posted: an incomplete batch, and refused blocks.
  [[nodiscard]] std::size_t waiting() const noexcept { return gathered_ + waiting_.size(); }

  /// Posts every waiting block: all blocks at first, later an incomplete batch and blocks that an
  /// earlier post did not accept. Fails (with ENOMEM on most providers) if the queue has too little
  /// room; the result counts the accepted blocks.
  post_result fill() noexcept {
    std::uint32_t accepted = 0;
    for (;;) {
      while (gathered_ < batch_ && !waiting_.empty()) {
        gather(waiting_.back());
        waiting_.pop_back();
      }
      const std::size_t count = gathered_;
      const post_result result = post_gathered().after(accepted);
      if (!result || waiting_.empty()) return result;
      accepted += static_cast<std::uint32_t>(count);
    }
  }

  /// Returns the block of a completion, or the block with an index. Fails with ERANGE, like
  /// operations without a policy, if there is no such block.
  template <detail::identified Completion>
  [[nodiscard]] mutable_buffer block(const Completion& completion) const {
    return blocks_[completion.id()];
  }
  [[nodiscard]] mutable_buffer block(std::size_t index) const { return blocks_[index]; }

  /// Returns the bytes that a successful receive brought into its block: for datagrams (UD) the 40
  /// bytes of the GRH area first, and none for a peer's write with immediate. The region must have
  /// the virtual addresses of its memory, as by default. Valid until the block is given back.
  /// Terminates the program if the completion failed or is of no receive (ADVERB_HARDENING_FAST).
  // Inlined, so that the checks of a completion that the caller has checked disappear.
  template <detail::identified Completion>
  [[nodiscard, gnu::always_inline]] std::span<const std::byte> bytes(
      const Completion& completion) const {
    const auto success = completion.success();
    if (const auto message = success.receive()) return bytes(completion, message);
    return bytes(completion, success.receive_tagged());
  }
  /// Does the same for a completion of which the program has the view of its message already,
  /// `completion.success().receive()`. On an extended queue, this saves a call of the provider.
  template <detail::identified Completion, detail::message_view Message>
  [[nodiscard, gnu::always_inline]] std::span<const std::byte> bytes(const Completion& completion,
                                                                     const Message& message) const {
    const std::size_t length = message.announces_write() ? 0 : message.length();
    const auto address = static_cast<std::uintptr_t>(block(completion).address());
    return {reinterpret_cast<const std::byte*>(address), length};
  }

  /// Takes back the block of a completion (which may be a failed one), or the block with an index.
  /// Posts once a batch is complete, and returns the result; the block is taken back in any case.
  /// Terminates the program if there is no such block (ADVERB_HARDENING_FAST).
  template <detail::identified Completion>
  post_result give_back(const Completion& completion) {
    return give_back(completion.id());
  }
  post_result give_back(std::size_t index) {
    gather(index);
    if (gathered_ < batch_) return {};
    return post_gathered();
  }

 private:
  [[nodiscard]] static request model(const buffer_blocks<mutable_buffer>& blocks) {
    return receive(blocks.size() > 0 ? blocks[0] : mutable_buffer{});
  }

  [[nodiscard]] static std::size_t batch_of(std::size_t wanted, std::size_t blocks) noexcept {
    const std::size_t most = wanted < blocks / 2 ? wanted : blocks / 2;
    return most > 0 ? most : 1;
  }

  // All blocks have the same length and key, which the receives copy from their model.
  void gather(std::size_t index) {
    const std::uint64_t address = blocks_[index].address();
    list_[gathered_].id(index).move_buffer(address);
    ++gathered_;
  }

  post_result post_gathered() noexcept {
    const std::size_t count = std::exchange(gathered_, 0);
    const post_result result = queue_.post(list_.first(count));
    if (!result) [[unlikely]]
      keep_refused(result.accepted().value_or(count), count);
    return result;
  }

  [[gnu::cold, gnu::noinline]] void keep_refused(std::size_t from, std::size_t to) noexcept {
    for (; to > from; --to) waiting_.push_back(list_[to - 1].native().wr_id);
  }

  Queue queue_;
  buffer_blocks<mutable_buffer> blocks_;
  std::size_t batch_;
  prepared_list<request> list_;
  std::vector<std::size_t> waiting_;
  std::size_t gathered_ = 0;
};

template <transport Transport, qp_state State>
receive_refill(const detail::queue_pair_base<Transport, State>&,
               const buffer_blocks<mutable_buffer>&, const receive_refill_options& = {})
    -> receive_refill<queue_pair_ref<Transport, State>>;
receive_refill(const detail::shared_receive_queue_base&, const buffer_blocks<mutable_buffer>&,
               const receive_refill_options& = {}) -> receive_refill<shared_receive_queue_ref>;
template <work_queue_state State>
receive_refill(const detail::work_queue_base<State>&, const buffer_blocks<mutable_buffer>&,
               const receive_refill_options& = {}) -> receive_refill<work_queue_ref<State>>;

}  // namespace adverb::inline ADVERB_ABI
