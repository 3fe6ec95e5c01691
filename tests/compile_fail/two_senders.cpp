// SPDX-License-Identifier: MIT
// Code for both ways to send must fit both.
#include <cstdint>

#include <adverb/adverb.hpp>

using namespace adverb;

[[maybe_unused]] constexpr send_operations words =
    send_operation::send | send_operation::atomic_write;

[[maybe_unused]] static void use(const queue_pair<transport::rc>& pair,
                                 const queue_pair<transport::rc, qp_state::init>& waiting,
                                 remote_buffer<std::uint64_t, access_right::remote_write> remote,
                                 mutable_buffer buffer) {
  pair.with_sender([&](const auto& sender) { sender.post(send(buffer)).check(); });
  (void)waiting;
  (void)remote;
#if ADVERB_MUST_FAIL == 1
  // case: operation_of_one_engine
  // expect: this operation exists only in the extended calls: post it through extended()
  pair.with_sender<words>([&](auto sender) { sender.post(atomic_write(remote, 7)).check(); });

  // case: operation_not_named
  // expect: the extended sender was created without this operation: name it in
  // extended<operations>()
  pair.with_sender<words>([&](auto sender) { sender.post(write(remote, buffer)).check(); });

  // case: function_of_one_engine
  // expect: the function must accept both the extended and the classic engine: take a const auto&
  pair.with_sender(
      [&](extended_sender<transport::rc> sender) { sender.post(send(buffer)).check(); });

  // case: two_results
  // expect: the function must return the same type for both engines
  pair.with_sender([](auto sender) { return sender; });

#elif ADVERB_MUST_FAIL == 2
  // Clang does not print where a function with a deduced return type is called.

  // case: before_rts
  // expect: requests can be sent when the queue pair is ready to send: finish rts() or connect()
  // first
  waiting.with_sender([](auto) {});

#elif ADVERB_MUST_FAIL == 3
  // Clang does not print where a function with a deduced return type is called.

  // case: in_any_state
  // expect: the type of the queue pair has no state: call .as<qp_state::...>() or
  // .assume<qp_state::...>()
  queue_pair<transport::rc, qp_state::any>{}.with_sender([](auto) {});
#endif
}
