// SPDX-License-Identifier: MIT
// One number is not another, and some are not even in order.
#include <cstdint>

#include <adverb/device/context.hpp>

using adverb::packet_sequence_number;

void name(const adverb::context& context) {
  (void)context.gid(adverb::port_number{1}, adverb::gid_index{0});
  const adverb::lkey local{5};
  const bool same =
      local == adverb::lkey{5} && packet_sequence_number{1} == packet_sequence_number{2};
  (void)same;
}

#if defined(ADVERB_EXPECT_NUMBER_FOR_A_PORT)
// expect(gcc): no matching function
// expect(clang): no matching member function
void fail(const adverb::context& context) { (void)context.query_port(1); }
#elif defined(ADVERB_EXPECT_INDEX_FOR_A_PORT)
// expect(gcc): no matching function
// expect(clang): no matching member function
void fail(const adverb::context& context) {
  (void)context.gid(adverb::gid_index{0}, adverb::port_number{1});
}
#elif defined(ADVERB_EXPECT_INDEX_OF_ANOTHER_TABLE)
// expect(gcc): no matching function
// expect(clang): no matching member function
void fail(const adverb::context& context) {
  (void)context.pkey(adverb::port_number{1}, adverb::gid_index{1});
}
#elif defined(ADVERB_EXPECT_REMOTE_KEY_FOR_A_LOCAL_ONE)
// expect(gcc): cannot convert 'adverb::
// expect(clang): cannot initialize a variable of type 'const adverb::lkey'
void fail(adverb::rkey remote) {
  const adverb::lkey local = remote;
  (void)local;
}
#elif defined(ADVERB_EXPECT_COMPARING_KEYS)
// expect(gcc): no match for 'operator=='
// expect(clang): invalid operands to binary expression
bool fail(adverb::rkey remote, adverb::lkey local) { return remote == local; }
#elif defined(ADVERB_EXPECT_NUMBER_FROM_A_KEY)
// expect(gcc): cannot convert 'adverb::
// expect(clang): cannot initialize return object of type
std::uint32_t fail(adverb::rkey remote) { return remote; }
#elif defined(ADVERB_EXPECT_ORDER_OF_SEQUENCE_NUMBERS)
// expect(gcc): no match for 'operator<'
// expect(clang): invalid operands to binary expression
bool fail(packet_sequence_number left, packet_sequence_number right) { return left < right; }
#elif defined(ADVERB_EXPECT_SEQUENCE_NUMBER_FROM_A_NUMBER)
// expect(gcc): conversion from 'int' to non-scalar type
// expect(clang): no viable conversion from 'int'
void fail() { const packet_sequence_number number = 5; }
#endif
