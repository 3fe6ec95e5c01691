// SPDX-License-Identifier: MIT
// What cannot be done with shared receive queues, tag matching and XRC.
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
#if defined(ADVERB_EXPECT_SEND_TO_A_SHARED_QUEUE)
  // expect: only receives can be posted here: receive(
  shared.post(send(buffer)).check();
#elif defined(ADVERB_EXPECT_NOTHING_TO_POST)
  // expect: there is nothing to post
  shared.post().check();
#elif defined(ADVERB_EXPECT_IGNORED_RESULT)
  // expect: ignoring return
  shared.post(receive(buffer));
#elif defined(ADVERB_EXPECT_RECEIVE_AS_AN_OPERATION)
  // expect: only operations on the list can be posted here: add_tag(
  tags.post_operations(receive(buffer)).check();
#elif defined(ADVERB_EXPECT_NO_OPERATION)
  // expect: there is nothing to post
  tags.post_operations().check();
#elif defined(ADVERB_EXPECT_OPERATION_AS_A_RECEIVE)
  // expect: only receives can be posted here: receive(
  tags.post(delete_tag(handle)).check();
#elif defined(ADVERB_EXPECT_TAG_FOR_CONST_MEMORY)
  // expect: data is received into mutable buffers, or into one std::span of them: a const_buffer
  tags.post_operations(add_tag(1, readable)).check();
#elif defined(ADVERB_EXPECT_RC_PAIR_IN_AN_XRC_DOMAIN)
  // expect: only XRC targets are made in an XRC domain: create(protection_domain, options)
  (void)queue_pair<transport::rc>::create(xrc);
#elif defined(ADVERB_EXPECT_RC_PAIR_THAT_IS_OPENED)
  // expect: only XRC targets can be opened by another process than the one that made them
  (void)queue_pair<transport::rc>::open(xrc, qp_number{1});
#elif defined(ADVERB_EXPECT_TARGET_IN_A_PROTECTION_DOMAIN)
  // expect: an XRC target is made in an XRC domain: create(xrc_domain)
  (void)queue_pair<transport::xrc_recv>::create(domain, {});
#elif defined(ADVERB_EXPECT_XRC_QUEUE_OF_A_PAIR)
  // expect: a shared receive queue of XRC belongs to no queue pair: requests name it
  taking.srq = far;
#elif defined(ADVERB_EXPECT_REFERRED_XRC_QUEUE_OF_A_PAIR)
  // expect: a shared receive queue of XRC belongs to no queue pair: requests name it
  (void)queue_pair<transport::rc>::create(domain, {.srq = xrc_shared_receive_queue_ref{far}});
#elif defined(ADVERB_EXPECT_TEMPORARY_QUEUE_OF_A_PAIR)
  // expect(gcc): no match for
  // expect(clang): no viable overloaded '='
  taking.srq = shared_receive_queue{};
#elif defined(ADVERB_EXPECT_REFERENCE_TO_A_TEMPORARY)
  // expect(gcc): use of deleted function
  // expect(clang): call to deleted constructor
  const shared_receive_queue_ref dangling{shared_receive_queue{}};
#endif
}
