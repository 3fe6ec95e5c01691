// SPDX-License-Identifier: MIT
// Work requests that make no sense, whatever they are posted to.
#include <array>
#include <span>

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

#if defined(ADVERB_EXPECT_WRITE_TO_READ_ONLY)
  // expect: a write needs a remote buffer with the right remote_write
  (void)write(readable, buffer);
#elif defined(ADVERB_EXPECT_WRITE_WITH_IMMEDIATE_TO_READ_ONLY)
  // expect: a write needs a remote buffer with the right remote_write
  (void)write_with_immediate(readable, immediate{1}, buffer);
#elif defined(ADVERB_EXPECT_READ_WITHOUT_RIGHT)
  // expect: a read needs a remote buffer with the right remote_read
  (void)read(writable, buffer);
#elif defined(ADVERB_EXPECT_ATOMIC_WITHOUT_RIGHT)
  // expect: an atomic operation needs a remote buffer with the right remote_atomic
  (void)fetch_and_add(writable, 1, buffer);
#elif defined(ADVERB_EXPECT_COMPARE_AND_SWAP_WITHOUT_RIGHT)
  // expect: an atomic operation needs a remote buffer with the right remote_atomic
  (void)compare_and_swap(readable, {.expected = 1, .desired = 2}, buffer);
#elif defined(ADVERB_EXPECT_ATOMIC_ON_BYTES)
  // expect: an atomic operation needs a remote buffer of 64-bit integers
  (void)fetch_and_add(bytes, 1, buffer);
#elif defined(ADVERB_EXPECT_RECEIVE_INTO_CONST)
  // expect: data is received into mutable buffers, or into one std::span of them: a const_buffer
  (void)receive(constant);
#elif defined(ADVERB_EXPECT_READ_INTO_CONST)
  // expect: data is received into mutable buffers, or into one std::span of them: a const_buffer
  (void)read(readable, buffer, constant);
#elif defined(ADVERB_EXPECT_RECEIVE_INTO_CONST_LIST)
  // expect: data is received into mutable buffers, or into one std::span of them: a const_buffer
  (void)receive(constants);
#elif defined(ADVERB_EXPECT_ATOMIC_RESULT_IN_CONST)
  // expect: data is received into mutable buffers, or into one std::span of them: a const_buffer
  (void)fetch_and_add(counter, 1, constant);
#elif defined(ADVERB_EXPECT_SEND_OF_A_NUMBER)
  // expect: no matching function for call to
  (void)send(7);
#elif defined(ADVERB_EXPECT_LIST_IN_A_CONTAINER)
  // expect: a request sends buffers, one std::span of buffers, or inline_data
  (void)send(std::array<const_buffer, 2>{});
#elif defined(ADVERB_EXPECT_ID_OF_A_CONST_POINTER)
  // expect: no matching
  static const int job = 0;
  (void)send().id(&job);
#elif defined(ADVERB_EXPECT_SEND_OF_TWO_LISTS)
  // expect: a request sends buffers, one std::span of buffers, or inline_data
  (void)send(constants, constants);
#elif defined(ADVERB_EXPECT_INLINE_WITH_BUFFER)
  // expect: a request sends buffers, one std::span of buffers, or inline_data
  (void)send(inline_data{std::span<const std::byte>{}}, buffer);
#elif defined(ADVERB_EXPECT_INLINE_LIST_IN_A_CONTAINER)
  // expect: a request sends buffers, one std::span of buffers, or inline_data or one std::span of
  // it
  (void)send(std::array{inline_data{buffer.size()}});
#elif defined(ADVERB_EXPECT_INLINE_LIST_AND_PIECE)
  // expect: a request sends buffers, one std::span of buffers, or inline_data or one std::span of
  // it
  (void)send(pieces, inline_data{number});
#elif defined(ADVERB_EXPECT_RECEIVE_INTO_INLINE_LIST)
  // expect: data is received into mutable buffers, or into one std::span of them: a const_buffer
  (void)receive(pieces);
#elif defined(ADVERB_EXPECT_INLINE_BUFFER)
  // expect: a buffer is sent as it is: only what is not registered has to be inline
  (void)send(inline_data{buffer});
#elif defined(ADVERB_EXPECT_INLINE_REMOTE_BUFFER)
  // expect: this type is sent in its wire format: inline_data{object.encode()}
  (void)send(inline_data{readable});
#elif defined(ADVERB_EXPECT_INLINE_DATA_OF_A_LIST)
  // expect: a list of inline data is sent as it is: send(std::span{list})
  (void)send(inline_data{pieces});
#elif defined(ADVERB_EXPECT_INLINE_DATA_THAT_IS_NOT_BYTES)
  // expect: the device copies bytes: inline data is of trivially copyable types
  (void)send(inline_data{owner});
#elif defined(ADVERB_EXPECT_INLINE_POINTER)
  // expect: no matching
  (void)send(inline_data{&number});
#elif defined(ADVERB_EXPECT_SOLICITED_WRITE)
  // expect: only requests that complete a receive of the peer can be solicited
  (void)write(writable, buffer).solicited();
#elif defined(ADVERB_EXPECT_SOLICITED_READ)
  // expect: only requests that complete a receive of the peer can be solicited
  (void)read(readable, buffer).solicited();
#elif defined(ADVERB_EXPECT_WRITE_WHAT_THEN_WHERE)
  // expect: the peer's memory comes first, then what is here: write(remote, local...)
  // expect(not): no matching function
  pair.post(write(buffer, writable).signaled()).check();
#elif defined(ADVERB_EXPECT_WRITE_INLINE_DATA_THEN_WHERE)
  // expect: the peer's memory comes first, then what is here: write(remote, local...)
  // expect(not): no matching function
  pair.post(write(inline_data{number}, writable)).check();
#elif defined(ADVERB_EXPECT_WRITE_LIST_THEN_WHERE)
  // expect: the peer's memory comes first, then what is here: write(remote, local...)
  // expect(not): no matching function
  pair.post(write(constants, writable)).check();
#elif defined(ADVERB_EXPECT_WRITE_MEMORY_THEN_WHERE)
  // expect: the peer's memory comes first, then what is here: write(remote, local...)
  // expect(not): no matching function
  pair.post(write(std::span{&number, 1}, writable)).check();
#elif defined(ADVERB_EXPECT_WRITE_NOWHERE)
  // expect: the peer's memory comes first, then what is here: write(remote, local...)
  // expect(not): no matching function
  pair.post(write(constant)).check();
#elif defined(ADVERB_EXPECT_WRITE_WITH_IMMEDIATE_WHAT_THEN_WHERE)
  // expect: the peer's memory comes first, then the immediate, then what is here
  // expect(not): no matching function
  pair.post(write_with_immediate(buffer, immediate{1}, writable)).check();
#elif defined(ADVERB_EXPECT_IMMEDIATE_THEN_WHERE)
  // expect: the peer's memory comes first, then the immediate, then what is here
  // expect(not): no matching function
  pair.post(write_with_immediate(immediate{1}, writable, buffer)).check();
#elif defined(ADVERB_EXPECT_READ_INTO_THEN_FROM)
  // expect: the peer's memory comes first, then where it goes: read(remote, local...)
  // expect(not): no matching function
  pair.post(read(buffer, readable).fenced()).check();
#elif defined(ADVERB_EXPECT_READ_FROM_NOWHERE)
  // expect: the peer's memory comes first, then where it goes: read(remote, local...)
  // expect(not): no matching function
  pair.post(read(buffer)).check();
#elif defined(ADVERB_EXPECT_COMPARE_AND_SWAP_RESULT_FIRST)
  // expect: the peer's memory comes first, and where its old value goes last
  // expect(not): no matching function
  pair.post(compare_and_swap(buffer, {.expected = 1, .desired = 2}, counter)).check();
#elif defined(ADVERB_EXPECT_FETCH_AND_ADD_RESULT_FIRST)
  // expect: the peer's memory comes first, and where its old value goes last
  // expect(not): no matching function
  pair.post(fetch_and_add(buffer, 1, counter)).check();
#elif defined(ADVERB_EXPECT_TWO_DESTINATIONS)
  // expect: the request has a destination already
  (void)send(buffer).to(somebody).to(somebody);
#endif
}
