// SPDX-License-Identifier: MIT
// An extended completion queue returns only the fields that it was made with, and is polled only in
// its own way.
#include <array>

#include <adverb/completion/extended_completion_queue.hpp>

using adverb::completion_field;
using adverb::extended_completion_queue;
using adverb::extended_completion_queue_ref;

// Has only the fields of every completion.
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

#if ADVERB_MUST_FAIL == 1
// case: length_of_a_bare_queue
// expect: the queue was created without completion_field::byte_length
void length_of_a_bare_queue(bare_message message) { (void)message.length(); }

// case: immediate_of_a_bare_queue
// expect: the queue was created without completion_field::immediate
void immediate_of_a_bare_queue(bare_message message) { (void)message.immediate(); }

// case: invalidated_key_of_a_bare_queue
// expect: the queue was created without completion_field::immediate, which includes the invalidated
// key
void invalidated_key_of_a_bare_queue(bare_message message) { (void)message.invalidated_key(); }

// case: queue_pair_of_a_bare_queue
// expect: the queue was created without completion_field::queue_pair
void queue_pair_of_a_bare_queue(bare_completion completion) { (void)completion.queue_pair(); }

// case: source_queue_pair_of_a_bare_queue
// expect: the queue was created without completion_field::source_queue_pair
void source_queue_pair_of_a_bare_queue(bare_message message) { (void)message.source_queue_pair(); }

// case: source_lid_of_a_bare_queue
// expect: the queue was created without completion_field::source_lid
void source_lid_of_a_bare_queue(bare_message message) { (void)message.source_lid(); }

// case: service_level_of_a_bare_queue
// expect: the queue was created without completion_field::service_level
void service_level_of_a_bare_queue(bare_message message) { (void)message.service_level(); }

// case: path_bits_of_a_bare_queue
// expect: the queue was created without completion_field::path_bits
void path_bits_of_a_bare_queue(bare_message message) { (void)message.path_bits(); }

// case: timestamp_of_a_bare_queue
// expect: the queue was created without completion_field::timestamp
void timestamp_of_a_bare_queue(bare_success completion) { (void)completion.timestamp(); }

// case: wall_clock_of_a_bare_queue
// expect: the queue was created without completion_field::wall_clock
void wall_clock_of_a_bare_queue(bare_success completion) { (void)completion.wall_clock(); }

// case: vlan_of_a_bare_queue
// expect: the queue was created without completion_field::vlan
void vlan_of_a_bare_queue(bare_message message) { (void)message.vlan(); }

// case: flow_tag_of_a_bare_queue
// expect: the queue was created without completion_field::flow_tag
void flow_tag_of_a_bare_queue(bare_message message) { (void)message.flow_tag(); }

// case: tag_of_a_bare_queue
// expect: the queue was created without completion_field::tag_matching
void tag_of_a_bare_queue(bare_success completion) { (void)completion.receive_tagged().tag(); }

// case: classic_poll
// expect: an extended completion queue is polled one by one
void classic_poll(const timed_queue& queue) {
  std::array<adverb::completion, 4> batch;
  queue.poll(batch);
}

// case: next_of_an_extended_queue
// expect: an extended completion is valid only while it is polled: queue.wait(up_to<1>, [](const
// auto& completion) { completion.check(); })
void next_of_an_extended_queue(const timed_queue& queue) { queue.next().check(); }

// case: ignored_poll
// expect: ignoring return value
void ignored_poll(const timed_queue& queue) { queue.poll(); }

// case: copied_round
// expect: deleted
void copied_round(const timed_queue& queue) {
  auto round = queue.poll();
  auto copy = round;
}

// case: completion_of_a_round_that_is_over
// expect: deleted
void completion_of_a_round_that_is_over(const timed_queue& queue) {
  const auto first = *queue.poll(1).begin();
}

// case: any_queue_of_a_temporary
// expect: deleted
void any_queue_of_a_temporary(adverb::context_ref context) {
  const adverb::completion_queue_ref reference = timed_queue{context, 16};
}

// case: reference_to_a_temporary
// expect: deleted
void reference_to_a_temporary(adverb::context_ref context) {
  const extended_completion_queue_ref<> reference = timed_queue{context, 16};
}

// case: period_without_a_unit
// expect(gcc): no matching function
// expect(clang): no matching member function
void period_without_a_unit(const timed_queue& queue) { queue.moderate(16, 10); }

#elif ADVERB_MUST_FAIL == 2
// GCC does not print where an inherited constructor is called.

// case: reference_that_reads_more
// expect: the queue was created without some fields that this reference reads
void reference_that_reads_more(const bare_queue& queue) {
  const extended_completion_queue_ref<> reference = queue;
}
#endif
