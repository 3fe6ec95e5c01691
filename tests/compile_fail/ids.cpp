// SPDX-License-Identifier: MIT
// One number is not another, and some are not even in order.
#include <cstdint>

#include <adverb/device/context.hpp>

using adverb::psn;

void name(const adverb::context& context) {
  (void)context.gid(adverb::port_number{1}, adverb::gid_index{0});
  const adverb::lkey local{5};
  const bool same = local == adverb::lkey{5} && psn{1} == psn{2};
  (void)same;
}

#if ADVERB_MUST_FAIL == 1
// case: number_for_a_port
// expect(gcc): cannot convert 'int' to 'adverb::
// expect(clang): with an rvalue of type 'int'
void number_for_a_port(const adverb::context& context) { (void)context.query_port(1); }

// case: index_for_a_port
// expect(gcc): cannot convert 'adverb::
// expect(clang): with an rvalue of type 'adverb::gid_index'
void index_for_a_port(const adverb::context& context) {
  (void)context.gid(adverb::gid_index{0}, adverb::port_number{1});
}

// case: index_of_another_table
// expect(gcc): cannot convert 'adverb::
// expect(clang): with an rvalue of type 'adverb::gid_index'
void index_of_another_table(const adverb::context& context) {
  (void)context.pkey(adverb::port_number{1}, adverb::gid_index{1});
}

// case: remote_key_for_a_local_one
// expect(gcc): cannot convert 'adverb::
// expect(clang): cannot initialize a variable of type 'const adverb::lkey'
void remote_key_for_a_local_one(adverb::rkey remote) {
  const adverb::lkey local = remote;
  (void)local;
}

// case: comparing_keys
// expect(gcc): no match for 'operator=='
// expect(clang): invalid operands to binary expression
bool comparing_keys(adverb::rkey remote, adverb::lkey local) { return remote == local; }

// case: number_from_a_key
// expect(gcc): cannot convert 'adverb::
// expect(clang): cannot initialize return object of type
std::uint32_t number_from_a_key(adverb::rkey remote) { return remote; }

// case: order_of_psns
// expect(gcc): no match for 'operator<'
// expect(clang): invalid operands to binary expression
bool order_of_psns(psn left, psn right) { return left < right; }

// case: psn_from_a_number
// expect(gcc): conversion from 'int' to non-scalar type
// expect(clang): no viable conversion from 'int'
void psn_from_a_number() { const psn number = 5; }
#endif
