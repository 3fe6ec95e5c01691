// SPDX-License-Identifier: MIT
// An extended completion queue is asked only what it was made to tell, and polled only its own way.
#include <array>

#include <adverb/completion/extended_completion_queue.hpp>

using adverb::completion_field;
using adverb::extended_completion_queue;
using adverb::extended_completion_queue_ref;

// Tells nothing but what every completion has.
using bare_queue = extended_completion_queue<adverb::completion_fields{}>;
using bare_completion = adverb::extended_completion<adverb::completion_fields{}>;
using bare_message = adverb::extended_received_message<adverb::completion_fields{}>;
using bare_success = adverb::extended_successful_completion<adverb::completion_fields{}>;

using timed_queue =
    extended_completion_queue<adverb::standard_completion_fields | completion_field::timestamp>;

void use(const timed_queue& queue, bare_completion bare, bare_message message) {
  for (const auto& done : queue.poll()) {
    (void)done.queue_pair();
    if (const auto success = done.success())
      if (const auto received = success.receive()) {
        (void)success.timestamp();
        (void)received.length();
      }
  }
  bare.check();
  (void)message.has_grh();
  const extended_completion_queue_ref<> fewer = queue;
  (void)fewer;
}

#if defined(ADVERB_EXPECT_LENGTH_OF_A_BARE_QUEUE)
// expect: the queue was made without completion_field::byte_length
void fail(bare_message message) { (void)message.length(); }
#elif defined(ADVERB_EXPECT_IMMEDIATE_OF_A_BARE_QUEUE)
// expect: the queue was made without completion_field::immediate
void fail(bare_message message) { (void)message.immediate(); }
#elif defined(ADVERB_EXPECT_INVALIDATED_KEY_OF_A_BARE_QUEUE)
// expect: the queue was made without completion_field::immediate, which tells the invalidated key
// too
void fail(bare_message message) { (void)message.invalidated_key(); }
#elif defined(ADVERB_EXPECT_QUEUE_PAIR_OF_A_BARE_QUEUE)
// expect: the queue was made without completion_field::queue_pair
void fail(bare_completion completion) { (void)completion.queue_pair(); }
#elif defined(ADVERB_EXPECT_SOURCE_QUEUE_PAIR_OF_A_BARE_QUEUE)
// expect: the queue was made without completion_field::source_queue_pair
void fail(bare_message message) { (void)message.source_queue_pair(); }
#elif defined(ADVERB_EXPECT_SOURCE_LID_OF_A_BARE_QUEUE)
// expect: the queue was made without completion_field::source_lid
void fail(bare_message message) { (void)message.source_lid(); }
#elif defined(ADVERB_EXPECT_SERVICE_LEVEL_OF_A_BARE_QUEUE)
// expect: the queue was made without completion_field::service_level
void fail(bare_message message) { (void)message.service_level(); }
#elif defined(ADVERB_EXPECT_PATH_BITS_OF_A_BARE_QUEUE)
// expect: the queue was made without completion_field::path_bits
void fail(bare_message message) { (void)message.path_bits(); }
#elif defined(ADVERB_EXPECT_TIMESTAMP_OF_A_BARE_QUEUE)
// expect: the queue was made without completion_field::timestamp
void fail(bare_success completion) { (void)completion.timestamp(); }
#elif defined(ADVERB_EXPECT_WALL_CLOCK_OF_A_BARE_QUEUE)
// expect: the queue was made without completion_field::wall_clock
void fail(bare_success completion) { (void)completion.wall_clock(); }
#elif defined(ADVERB_EXPECT_VLAN_OF_A_BARE_QUEUE)
// expect: the queue was made without completion_field::vlan
void fail(bare_message message) { (void)message.vlan(); }
#elif defined(ADVERB_EXPECT_FLOW_TAG_OF_A_BARE_QUEUE)
// expect: the queue was made without completion_field::flow_tag
void fail(bare_message message) { (void)message.flow_tag(); }
#elif defined(ADVERB_EXPECT_TAG_OF_A_BARE_QUEUE)
// expect: the queue was made without completion_field::tag_matching
void fail(bare_success completion) { (void)completion.receive_tagged().tag(); }
#elif defined(ADVERB_EXPECT_REFERENCE_THAT_READS_MORE)
// expect: the queue was not made with all fields that this reference reads
void fail(const bare_queue& queue) { const extended_completion_queue_ref<> reference = queue; }
#elif defined(ADVERB_EXPECT_CLASSIC_POLL)
// expect: an extended completion queue is polled one by one
void fail(const timed_queue& queue) {
  std::array<adverb::completion, 4> batch;
  queue.poll(batch);
}
#elif defined(ADVERB_EXPECT_IGNORED_POLL)
// expect: ignoring return value
void fail(const timed_queue& queue) { queue.poll(); }
#elif defined(ADVERB_EXPECT_COPIED_ROUND)
// expect: deleted
void fail(const timed_queue& queue) {
  auto round = queue.poll();
  auto copy = round;
}
#elif defined(ADVERB_EXPECT_COMPLETION_OF_A_ROUND_THAT_IS_OVER)
// expect: deleted
void fail(const timed_queue& queue) { const auto first = *queue.poll(1).begin(); }
#elif defined(ADVERB_EXPECT_ANY_QUEUE_OF_A_TEMPORARY)
// expect: deleted
void fail(adverb::context_ref context) {
  const adverb::completion_queue_ref reference = timed_queue{context, 16};
}
#elif defined(ADVERB_EXPECT_REFERENCE_TO_A_TEMPORARY)
// expect: deleted
void fail(adverb::context_ref context) {
  const extended_completion_queue_ref<> reference = timed_queue{context, 16};
}
#elif defined(ADVERB_EXPECT_PERIOD_WITHOUT_A_UNIT)
// expect(gcc): no matching function
// expect(clang): no matching member function
void fail(const timed_queue& queue) { queue.moderate(16, 10); }
#endif
