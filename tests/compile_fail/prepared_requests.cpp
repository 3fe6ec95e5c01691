// SPDX-License-Identifier: MIT
// Requests that cannot be prepared, settings that a prepared request lacks, and queue pairs that do
// not take it.
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
#if ADVERB_MUST_FAIL == 1
  // case: no_remote_memory
  // expect: the request has no remote memory: only writes, reads and atomic operations have it
  sent.remote(writable);

  // case: write_to_read_only
  // expect: a write needs a remote buffer with the right remote_write
  written.remote(readable);

  // case: read_of_write_only
  // expect: a read needs a remote buffer with the right remote_read
  got.remote(remote_buffer<std::byte, access_right::remote_write>{});

  // case: atomic_without_right
  // expect: an atomic operation needs a remote buffer with the right remote_atomic
  added.remote(writable);

  // case: atomic_on_bytes
  // expect: an atomic operation needs a remote buffer of 64-bit integers
  added.remote(remote_buffer<std::byte, access_right::remote_atomic>{});

  // case: no_immediate
  // expect: the request has no immediate data: prepare send_with_immediate(
  written.immediate(immediate{1});

  // case: no_values
  // expect: only a compare_and_swap(...) has values
  added.values({.expected = 1, .desired = 2});

  // case: no_addend
  // expect: only a fetch_and_add(...) has an addend
  written.addend(1);

  // case: no_invalidated_key
  // expect: the request invalidates no key: prepare send_with_invalidate(
  sent.invalidated_key(rkey{1});

  // case: no_destination
  // expect: the request was prepared without a destination of this kind: add .to(destination)
  // before preparing it
  sent.to(somebody);

  // case: other_destination
  // expect: the request was prepared without a destination of this kind: add .to(destination)
  // before preparing it
  {
    auto datagram = prepared_request{send(buffer).to(somebody)};
    datagram.to(shared_receive_queue_number{1});
  }

  // case: signaled_receive
  // expect: a receive always generates a completion: only sends can be signaled or unsignaled
  received.signaled();

  // case: is_signaled_receive
  // expect: a receive always generates a completion: only sends can be signaled or unsignaled
  (void)received.is_signaled();

  // case: remote_of_receive
  // expect: the request has no remote memory: only writes, reads and atomic operations have it
  received.remote(writable);

  // case: receive_into_const
  // expect: data is received into mutable buffers
  received.payload(constant);

  // case: too_many_buffers
  // expect: the request was prepared with fewer pieces of payload
  written.payload<1>(constant);

  // case: payload_of_none
  // expect: the request was prepared with fewer pieces of payload
  {
    prepared_request own{local_invalidate(rkey{1})};
    own.payload(constant);
  }

  // case: move_inline
  // expect: only a buffer has a key: set lists and inline data by payload()
  written.move_payload(inline_data{std::span{bytes}});

  // case: inline_for_buffer
  // expect: the payload must be of the same kind as in the prepared request: a buffer, or
  // inline_data
  written.payload(inline_data{std::span{bytes}});

  // case: buffer_for_inline
  // expect: the payload must be of the same kind as in the prepared request: a buffer, or
  // inline_data
  {
    prepared_request copied{send(inline_data{std::span{bytes}})};
    copied.payload(constant);
  }

  // case: buffer_for_list
  // expect: the request was prepared with a list of buffers
  {
    prepared_request listed{send(std::span{constants})};
    listed.payload(constant);
  }

  // case: inline_list_for_list
  // expect: the request was prepared with a list of buffers
  {
    prepared_request listed{send(std::span{constants})};
    listed.payload(std::span{pieces});
  }

  // case: buffer_for_inline_list
  // expect: the request was prepared with a list of inline data: pass another std::span of
  // inline_data, or change the elements of the prepared one
  // expect(not): list of buffers
  {
    prepared_request listed{send(std::span{pieces})};
    listed.payload(constant);
  }

  // case: bind
  // expect: binding a window cannot be prepared: each binding has a new key, which the post stores
  // in the window
  prepared_request bound{bind_window(binding)};

  // case: only_extended
  // expect: this operation exists only in the extended calls and cannot be prepared: post it
  // through extended()
  prepared_request word{
      atomic_write(remote_buffer<std::uint64_t, access_right::remote_write>{}, 1)};

  // case: no_request
  // expect: only work requests can be prepared: send(
  prepared_request nothing{buffer};

  // case: mixed_batch
  // expect: sends and receives go to different queues: prepare a batch of each
  prepared_batch mixed{send(buffer), receive(buffer)};

  // case: no_such_request
  // expect: the batch has no request at this index
  (void)batch.request<2>();

  // case: mixed_with_plain
  // expect: prepared requests cannot be posted together with others: prepare them all as one batch
  rc.post(written, send(buffer)).check();

  // case: several
  // expect: separately prepared requests cannot be posted together: prepare them as a
  // prepared_batch or a prepared_list
  rc.post(written, sent).check();

  // case: linked_alone
  // expect: a request of a prepared batch or list cannot be posted separately: post the batch, the
  // list, or list.first(n)
  rc.post(batch.request<1>()).check();

  // case: extended
  // expect: the extended sender cannot post prepared requests, because it builds each request anew:
  // post them through the queue pair
  sender.post(written).check();

  // case: extended_batch
  // expect: the extended sender cannot post prepared requests, because it builds each request anew:
  // post them through the queue pair
  sender.start().add(batch).commit().check();

  // case: read_on_uc
  // expect: a UC queue pair can send and write: reads, atomics and fences need RC
  uc.post(got).check();

  // case: batch_on_ud
  // expect: a UD queue pair can only send: writes need UC or RC, reads, atomics and fences need RC
  ud.post(batch).check();

  // case: send_in_init
  // expect: sends can be posted when the queue pair is ready to send: finish rts() or connect()
  // first
  waiting.post(sent).check();

  // case: send_to_shared
  // expect: only receives can be posted here: receive(
  shared.post(sent).check();

  // case: refill_in_reset
  // expect: receives can be posted only from INIT on: finish init() first
  {
    const queue_pair<transport::rc, qp_state::reset> fresh;
    receive_refill early{fresh, region.blocks(64)};
    early.fill().check();
  }

  // case: refill_that_owns
  // expect: receive_refill needs a reference type: receive_refill<queue_pair_ref<...>>,
  // receive_refill<shared_receive_queue_ref>
  receive_refill<queue_pair<transport::rc, qp_state::init>> owner{waiting, region.blocks(64)};

  // case: ignored_fill
  // expect: ignoring return
  receives.fill();

  // case: ignored_give_back
  // expect: ignoring return
  receives.give_back(1);

  // case: copied_refill
  // expect(gcc): use of deleted function
  // expect(clang): call to
  auto second = receives;

#elif ADVERB_MUST_FAIL == 2
  // The instantiations that fail here fail above too.

  // case: read_into_const
  // expect: data is received into mutable buffers
  got.payload(constant);

  // case: bind_in_batch
  // expect: binding a window cannot be prepared: each binding has a new key, which the post stores
  // in the window
  prepared_batch bound{bind_window(binding), send(buffer)};

  // case: no_datagram
  // expect: a datagram needs its destination: add .to(destination)
  ud.post(sent).check();
#endif
}
