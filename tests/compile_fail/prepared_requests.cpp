// SPDX-License-Identifier: MIT
// What cannot be prepared, what a prepared request cannot be told, and where it cannot be posted.
#include <array>
#include <cstdint>
#include <span>

#include <adverb/adverb.hpp>

using namespace adverb;

[[maybe_unused]] static void use(
    const queue_pair<transport::rc>& rc, const queue_pair<transport::uc>& uc,
    const queue_pair<transport::ud>& ud, const queue_pair<transport::rc, qp_state::init>& waiting,
    const adverb::shared_receive_queue& shared, extended_sender<transport::rc> sender,
    const datagram_destination& somebody, remote_buffer<> writable,
    remote_buffer<std::byte, access_right::remote_read> readable,
    remote_buffer<std::uint64_t, access_right::remote_atomic> counter,
    const window_binding<window_type::two, std::byte, access_right::remote_write>& binding,
    mutable_buffer buffer, const_buffer constant, memory_region& region) {
  prepared_request written{write(writable, constant)};
  prepared_request got{read(readable, buffer)};
  prepared_request added{fetch_and_add(counter, 1, buffer)};
  prepared_request sent{send(buffer)};
  prepared_request received{receive(buffer)};
  prepared_batch batch{write(writable, buffer), send(buffer)};
  prepared_list list{receive(buffer), 4};
  rc.post(written.remote(writable).id(1).payload(constant)).check();
  rc.post(got.remote(readable).payload(buffer)).check();
  rc.post(added.remote(counter).addend(2)).check();
  rc.post(batch).check();
  waiting.post(received).check();
  waiting.post(list.first(2)).check();
  shared.post(list).check();
  receive_refill receives{waiting, region.blocks(64), {.batch = 2}};
  static_assert(can_post<queue_pair<transport::rc>, decltype(batch)>);
  static_assert(!can_post<queue_pair<transport::ud>, decltype(batch)>);
  static_assert(!can_post<queue_pair<transport::rc, qp_state::init>, decltype(sent)>);

  const std::array<std::byte, 4> bytes{};
  const std::array<const_buffer, 2> constants{};
  const std::array pieces{inline_data{std::span{bytes}}, inline_data{std::span{bytes}}};
  (void)uc;
  (void)ud;
  (void)sender;
  (void)somebody;
  (void)binding;
  (void)bytes;
  (void)constants;
  (void)pieces;
#if defined(ADVERB_EXPECT_NO_REMOTE_MEMORY)
  // expect: the request has no remote memory: only writes, reads and atomic operations do
  sent.remote(writable);
#elif defined(ADVERB_EXPECT_WRITE_TO_READ_ONLY)
  // expect: a write needs a remote buffer with the right remote_write
  written.remote(readable);
#elif defined(ADVERB_EXPECT_READ_OF_WRITE_ONLY)
  // expect: a read needs a remote buffer with the right remote_read
  got.remote(remote_buffer<std::byte, access_right::remote_write>{});
#elif defined(ADVERB_EXPECT_ATOMIC_WITHOUT_RIGHT)
  // expect: an atomic operation needs a remote buffer with the right remote_atomic
  added.remote(writable);
#elif defined(ADVERB_EXPECT_ATOMIC_ON_BYTES)
  // expect: an atomic operation needs a remote buffer of 64-bit integers
  added.remote(remote_buffer<std::byte, access_right::remote_atomic>{});
#elif defined(ADVERB_EXPECT_NO_IMMEDIATE)
  // expect: the request has no immediate data: prepare send_with_immediate(
  written.immediate(immediate{1});
#elif defined(ADVERB_EXPECT_NO_VALUES)
  // expect: only a compare_and_swap(...) has values
  added.values({.expected = 1, .desired = 2});
#elif defined(ADVERB_EXPECT_NO_ADDEND)
  // expect: only a fetch_and_add(...) has an addend
  written.addend(1);
#elif defined(ADVERB_EXPECT_NO_INVALIDATED_KEY)
  // expect: the request invalidates no key: prepare send_with_invalidate(
  sent.invalidated_key(rkey{1});
#elif defined(ADVERB_EXPECT_NO_DESTINATION)
  // expect: the request was not prepared with such a destination: add .to(destination) before
  sent.to(somebody);
#elif defined(ADVERB_EXPECT_OTHER_DESTINATION)
  // expect: the request was not prepared with such a destination: add .to(destination) before
  auto datagram = prepared_request{send(buffer).to(somebody)};
  datagram.to(shared_receive_queue_number{1});
#elif defined(ADVERB_EXPECT_SIGNALED_RECEIVE)
  // expect: a receive always has a completion: only sends can be signaled or not
  received.signaled();
#elif defined(ADVERB_EXPECT_IS_SIGNALED_RECEIVE)
  // expect: a receive always has a completion: only sends can be signaled or not
  (void)received.is_signaled();
#elif defined(ADVERB_EXPECT_REMOTE_OF_RECEIVE)
  // expect: the request has no remote memory: only writes, reads and atomic operations do
  received.remote(writable);
#elif defined(ADVERB_EXPECT_RECEIVE_INTO_CONST)
  // expect: data is received into mutable buffers
  received.payload(constant);
#elif defined(ADVERB_EXPECT_READ_INTO_CONST)
  // expect: data is received into mutable buffers
  got.payload(constant);
#elif defined(ADVERB_EXPECT_TOO_MANY_BUFFERS)
  // expect: the request was prepared with fewer pieces of payload
  written.payload<1>(constant);
#elif defined(ADVERB_EXPECT_PAYLOAD_OF_NONE)
  // expect: the request was prepared with fewer pieces of payload
  prepared_request own{local_invalidate(rkey{1})};
  own.payload(constant);
#elif defined(ADVERB_EXPECT_INLINE_FOR_BUFFER)
  // expect: the payload has to be of the kind that the request was prepared with
  written.payload(inline_data{std::span{bytes}});
#elif defined(ADVERB_EXPECT_BUFFER_FOR_INLINE)
  // expect: the payload has to be of the kind that the request was prepared with
  prepared_request copied{send(inline_data{std::span{bytes}})};
  copied.payload(constant);
#elif defined(ADVERB_EXPECT_BUFFER_FOR_LIST)
  // expect: the request was prepared with a list of buffers
  prepared_request listed{send(std::span{constants})};
  listed.payload(constant);
#elif defined(ADVERB_EXPECT_INLINE_LIST_FOR_LIST)
  // expect: the request was prepared with a list of buffers
  prepared_request listed{send(std::span{constants})};
  listed.payload(std::span{pieces});
#elif defined(ADVERB_EXPECT_BUFFER_FOR_INLINE_LIST)
  // expect: the request was prepared with a list of inline data: give another std::span of
  // expect(not): list of buffers
  prepared_request listed{send(std::span{pieces})};
  listed.payload(constant);
#elif defined(ADVERB_EXPECT_BIND)
  // expect: binding a window cannot be prepared: its key is another one each time
  prepared_request bound{bind_window(binding)};
#elif defined(ADVERB_EXPECT_BIND_IN_BATCH)
  // expect: binding a window cannot be prepared: its key is another one each time
  prepared_batch bound{bind_window(binding), send(buffer)};
#elif defined(ADVERB_EXPECT_ONLY_EXTENDED)
  // expect: this operation exists only in the extended calls, which have nothing to prepare
  prepared_request word{
      atomic_write(remote_buffer<std::uint64_t, access_right::remote_write>{}, 1)};
#elif defined(ADVERB_EXPECT_NO_REQUEST)
  // expect: only work requests can be prepared: send(
  prepared_request nothing{buffer};
#elif defined(ADVERB_EXPECT_MIXED_BATCH)
  // expect: sends and receives go to different queues: prepare a batch of each
  prepared_batch mixed{send(buffer), receive(buffer)};
#elif defined(ADVERB_EXPECT_NO_SUCH_REQUEST)
  // expect: the batch has fewer requests
  (void)batch.request<2>();
#elif defined(ADVERB_EXPECT_MIXED_WITH_PLAIN)
  // expect: prepared requests cannot be posted together with others: prepare them all as one batch
  rc.post(written, send(buffer)).check();
#elif defined(ADVERB_EXPECT_SEVERAL)
  // expect: prepared requests are posted together when they were prepared together
  rc.post(written, sent).check();
#elif defined(ADVERB_EXPECT_LINKED_ALONE)
  // expect: a request of a prepared batch or list is posted with it
  rc.post(batch.request<1>()).check();
#elif defined(ADVERB_EXPECT_EXTENDED)
  // expect: prepared requests are posted by the queue pair
  sender.post(written).check();
#elif defined(ADVERB_EXPECT_EXTENDED_BATCH)
  // expect: prepared requests are posted by the queue pair
  sender.start().add(batch).commit().check();
#elif defined(ADVERB_EXPECT_READ_ON_UC)
  // expect: a UC queue pair can send and write: reads, atomics and fences need RC
  uc.post(got).check();
#elif defined(ADVERB_EXPECT_BATCH_ON_UD)
  // expect: a UD queue pair can only send: writes need UC or RC, reads, atomics and fences need RC
  ud.post(batch).check();
#elif defined(ADVERB_EXPECT_NO_DATAGRAM)
  // expect: a datagram needs its destination: add .to(destination)
  ud.post(sent).check();
#elif defined(ADVERB_EXPECT_SEND_IN_INIT)
  // expect: sends can be posted when the queue pair is ready to send: finish rts() or connect()
  // first
  waiting.post(sent).check();
#elif defined(ADVERB_EXPECT_SEND_TO_SHARED)
  // expect: only receives can be posted here: receive(
  shared.post(sent).check();
#elif defined(ADVERB_EXPECT_REFILL_IN_RESET)
  // expect: receives can be posted from INIT on: bring the queue pair up with init() first
  const queue_pair<transport::rc, qp_state::reset> fresh;
  receive_refill early{fresh, region.blocks(64)};
  early.fill().check();
#elif defined(ADVERB_EXPECT_REFILL_THAT_OWNS)
  // expect: it refers to its queue: receive_refill<queue_pair_ref<
  receive_refill<queue_pair<transport::rc, qp_state::init>> owner{waiting, region.blocks(64)};
#elif defined(ADVERB_EXPECT_IGNORED_FILL)
  // expect: ignoring return
  receives.fill();
#elif defined(ADVERB_EXPECT_IGNORED_GIVE_BACK)
  // expect: ignoring return
  receives.give_back(1);
#elif defined(ADVERB_EXPECT_COPIED_REFILL)
  // expect(gcc): use of deleted function
  // expect(clang): call to
  auto second = receives;
#endif
}
