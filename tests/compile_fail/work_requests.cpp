// SPDX-License-Identifier: MIT
// Work requests that make no sense, whatever they are posted to.
#include <array>
#include <span>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include <adverb/adverb.hpp>

using namespace adverb;

[[maybe_unused]] static void make(remote_buffer<std::uint64_t, access_right::remote_read> readable,
                                  remote_buffer<std::uint64_t, access_right::remote_write> writable,
                                  remote_buffer<std::uint64_t, access_right::remote_atomic> counter,
                                  remote_buffer<std::byte, access_right::remote_atomic> bytes,
                                  mutable_buffer buffer, const_buffer constant,
                                  std::span<const const_buffer> constants,
                                  std::span<const inline_data> pieces, int number,
                                  const protection_domain& owner,
                                  const datagram_destination& somebody,
                                  const queue_pair<transport::rc, qp_state::rts>& pair) {
  (void)pair;
  (void)read(readable, buffer);
  (void)write(writable, constant);
  (void)write_with_immediate(writable, immediate{1}, constants).solicited();
  (void)compare_and_swap(counter, {.expected = 1, .desired = 2}, buffer);
  (void)fetch_and_add(bytes.as<std::uint64_t>(), 1, buffer);
  (void)send(constant, buffer).solicited();
  (void)send(constants).to(somebody);
  (void)send(pieces).to(somebody);
  (void)write(writable, inline_data{number}, inline_data{readable.encode()});
  (void)owner;
  const std::array both{buffer, buffer};
  (void)receive(std::span{both});
  // The functions of POSIX that have these names stay what they are.
  (void)send(0, "", 0, 0);
  (void)write(0, "", 0);

#if ADVERB_MUST_FAIL == 1
  // case: write_to_read_only
  // expect: a write needs a remote buffer with the right remote_write
  (void)write(readable, buffer);

  // case: read_without_right
  // expect: a read needs a remote buffer with the right remote_read
  (void)read(writable, buffer);

  // case: atomic_without_right
  // expect: an atomic operation needs a remote buffer with the right remote_atomic
  (void)fetch_and_add(writable, 1, buffer);

  // case: compare_and_swap_without_right
  // expect: an atomic operation needs a remote buffer with the right remote_atomic
  (void)compare_and_swap(readable, {.expected = 1, .desired = 2}, buffer);

  // case: atomic_on_bytes
  // expect: an atomic operation needs a remote buffer of 64-bit integers
  (void)fetch_and_add(bytes, 1, buffer);

  // case: receive_into_const
  // expect: data is received into mutable buffers, or into one std::span of them: a const_buffer
  (void)receive(constant);

  // case: read_into_const
  // expect: data is received into mutable buffers, or into one std::span of them: a const_buffer
  (void)read(readable, buffer, constant);

  // case: receive_into_const_list
  // expect: data is received into mutable buffers, or into one std::span of them: a const_buffer
  (void)receive(constants);

  // case: send_of_a_number
  // expect: no matching function for call to
  (void)send(7);

  // case: list_in_a_container
  // expect: a request sends buffers, inline_data, or one std::span of either
  (void)send(std::array<const_buffer, 2>{});

  // case: id_of_a_const_pointer
  // expect: no matching
  {
    static const int job = 0;
    (void)send().id(&job);
  }

  // case: send_of_two_lists
  // expect: a request sends buffers, inline_data, or one std::span of either
  (void)send(constants, constants);

  // case: inline_with_buffer
  // expect: a request sends buffers, inline_data, or one std::span of either
  (void)send(inline_data{std::span<const std::byte>{}}, buffer);

  // case: inline_list_in_a_container
  // expect: a request sends buffers, inline_data, or one std::span of either
  (void)send(std::array{inline_data{buffer.size()}});

  // case: inline_list_and_piece
  // expect: a request sends buffers, inline_data, or one std::span of either
  (void)send(pieces, inline_data{number});

  // case: receive_into_inline_list
  // expect: data is received into mutable buffers, or into one std::span of them: a const_buffer
  (void)receive(pieces);

  // case: inline_buffer
  // expect: inline_data is for unregistered memory: pass a buffer to the request directly
  (void)send(inline_data{buffer});

  // case: inline_remote_buffer
  // expect: this type must be sent in its wire format: inline_data{object.encode()}
  (void)send(inline_data{readable});

  // case: inline_data_of_a_list
  // expect: inline_data cannot hold a list of inline data: send(std::span{list})
  (void)send(inline_data{pieces});

  // case: inline_data_that_is_not_bytes
  // expect: inline data holds only trivially copyable types
  (void)send(inline_data{owner});

  // case: inline_pointer
  // expect: inline_data refers to bytes that live until the post: pass an object, a container or
  // array that is not a temporary, or a std::span
  (void)send(inline_data{&number});

  // case: inline_data_of_a_temporary
  // expect: inline_data refers to bytes that live until the post: pass an object, a container or
  // array that is not a temporary, or a std::span
  // expect(not): no matching
  (void)send(inline_data{std::vector<int>(4)});

  // case: solicited_write
  // expect: only requests that complete a receive of the peer can be solicited
  (void)write(writable, buffer).solicited();

  // case: solicited_read
  // expect: only requests that complete a receive of the peer can be solicited
  (void)read(readable, buffer).solicited();

  // case: write_what_then_where
  // expect: the first argument must be the remote buffer: write(remote, local...)
  // expect(not): no matching function
  pair.post(write(buffer, writable).signaled()).check();

  // case: write_inline_data_then_where
  // expect: the first argument must be the remote buffer: write(remote, local...)
  // expect(not): no matching function
  pair.post(write(inline_data{number}, writable)).check();

  // case: write_list_then_where
  // expect: the first argument must be the remote buffer: write(remote, local...)
  // expect(not): no matching function
  pair.post(write(constants, writable)).check();

  // case: write_memory_then_where
  // expect: the first argument must be the remote buffer: write(remote, local...)
  // expect(not): no matching function
  pair.post(write(std::span{&number, 1}, writable)).check();

  // case: write_nowhere
  // expect: the first argument must be the remote buffer: write(remote, local...)
  // expect(not): no matching function
  pair.post(write(constant)).check();

  // case: write_to_a_key
  // expect: the first argument must be the remote buffer: write(remote, local...)
  // expect(not): no matching function
  pair.post(write(rkey{7}, buffer)).check();

  // case: read_from_an_address_and_a_key
  // expect: the first argument must be the remote buffer: read(remote, local...)
  // expect(not): no matching function
  pair.post(read(number, rkey{7}, buffer)).check();

  // case: write_with_immediate_what_then_where
  // expect: the first argument must be the remote buffer, the second the immediate:
  // write_with_immediate(remote, immediate{...}, local...)
  // expect(not): no matching function
  pair.post(write_with_immediate(buffer, immediate{1}, writable)).check();

  // case: immediate_then_where
  // expect: the first argument must be the remote buffer, the second the immediate:
  // write_with_immediate(remote, immediate{...}, local...)
  // expect(not): no matching function
  pair.post(write_with_immediate(immediate{1}, writable, buffer)).check();

  // case: read_into_then_from
  // expect: the first argument must be the remote buffer: read(remote, local...)
  // expect(not): no matching function
  pair.post(read(buffer, readable).fenced()).check();

  // case: read_from_nowhere
  // expect: the first argument must be the remote buffer: read(remote, local...)
  // expect(not): no matching function
  pair.post(read(buffer)).check();

  // case: compare_and_swap_result_first
  // expect: the first argument must be the remote buffer, the last the result buffer:
  // compare_and_swap(remote, values, result)
  // expect(not): no matching function
  pair.post(compare_and_swap(buffer, {.expected = 1, .desired = 2}, counter)).check();

  // case: fetch_and_add_result_first
  // expect: the first argument must be the remote buffer, the last the result buffer:
  // fetch_and_add(remote, addend, result)
  // expect(not): no matching function
  pair.post(fetch_and_add(buffer, 1, counter)).check();

  // case: two_destinations
  // expect: the request already has a destination
  (void)send(buffer).to(somebody).to(somebody);

#elif ADVERB_MUST_FAIL == 2
  // The instantiations that fail here fail above too.

  // case: write_with_immediate_to_read_only
  // expect: a write needs a remote buffer with the right remote_write
  (void)write_with_immediate(readable, immediate{1}, buffer);

  // case: atomic_result_in_const
  // expect: data is received into mutable buffers, or into one std::span of them: a const_buffer
  (void)fetch_and_add(counter, 1, constant);
#endif
}
