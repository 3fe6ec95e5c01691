// SPDX-License-Identifier: MIT
// Operations that shared receive queues, tag matching and XRC lack.
#include <cstddef>

#include <adverb/adverb.hpp>

using namespace adverb;

[[maybe_unused]] static void use(const shared_receive_queue& shared, const tag_matching_queue& tags,
                                 const xrc_shared_receive_queue& far, protection_domain& domain,
                                 xrc_domain& xrc, tag_handle handle, mutable_buffer buffer,
                                 const_buffer readable) {
  shared.post(receive(buffer), receive()).check();
  far.post(receive(buffer)).check();
  tags.post(receive(buffer)).check();
  tags.post_operations(add_tag(1, buffer), delete_tag(handle), synchronize_tags(1)).check();
  (void)queue_pair<transport::xrc_recv>::create(xrc);
  (void)readable;
  queue_pair_options taking{.srq = shared};
  taking.srq = shared_receive_queue_ref{shared};
  taking.srq = tags;
  taking.srq = shared.native_handle();
  taking.srq = nullptr;
  queue_pair_options copied = taking;
  copied.srq = taking.srq;
  (void)queue_pair<transport::rc>::create(domain, copied);
#if ADVERB_MUST_FAIL == 1
  // case: send_to_a_shared_queue
  // expect: only receives can be posted here: receive(
  shared.post(send(buffer)).check();

  // case: nothing_to_post
  // expect: there is nothing to post
  shared.post().check();

  // case: ignored_result
  // expect: ignoring return
  shared.post(receive(buffer));

  // case: receive_as_an_operation
  // expect: only operations on the tag list can be posted here: add_tag(...), delete_tag(...),
  // synchronize_tags(...); pass receives to post()
  tags.post_operations(receive(buffer)).check();

  // case: no_operation
  // expect: there is nothing to post
  tags.post_operations().check();

  // case: operation_as_a_receive
  // expect: only receives can be posted here: receive(
  tags.post(delete_tag(handle)).check();

  // case: tag_for_const_memory
  // expect: data is received into mutable buffers, or into one std::span of them: a const_buffer
  tags.post_operations(add_tag(1, readable)).check();

  // case: rc_pair_in_an_xrc_domain
  // expect: only XRC targets are created in an XRC domain: create(protection_domain, options)
  (void)queue_pair<transport::rc>::create(xrc);

  // case: rc_pair_that_is_opened
  // expect: only XRC targets can be opened by a process that did not create them
  (void)queue_pair<transport::rc>::open(xrc, qp_number{1});

  // case: target_in_a_protection_domain
  // expect: an XRC target is created in an XRC domain: create(xrc_domain)
  (void)queue_pair<transport::xrc_recv>::create(domain, {});

  // case: xrc_queue_of_a_pair
  // expect: a queue pair cannot use an XRC shared receive queue: each request names it with
  // .to(number)
  taking.srq = far;

  // case: referred_xrc_queue_of_a_pair
  // expect: a queue pair cannot use an XRC shared receive queue: each request names it with
  // .to(number)
  (void)queue_pair<transport::rc>::create(domain, {.srq = xrc_shared_receive_queue_ref{far}});

  // case: temporary_queue_of_a_pair
  // expect(gcc): no match for
  // expect(clang): no viable overloaded '='
  taking.srq = shared_receive_queue{};

  // case: reference_to_a_temporary
  // expect(gcc): use of deleted function
  // expect(clang): call to deleted constructor
  const shared_receive_queue_ref dangling{shared_receive_queue{}};
#endif
}
