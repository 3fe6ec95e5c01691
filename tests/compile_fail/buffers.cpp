// SPDX-License-Identifier: MIT
// Writable memory stays apart from read-only memory.
#include <adverb/memory/memory_region.hpp>

using adverb::const_buffer;
using adverb::mutable_buffer;

void receive_into(mutable_buffer);
void send_from(const_buffer);

void use(const adverb::memory_region& region) {
  receive_into(region.buffer());
  send_from(region.buffer());
  send_from(region.const_buffer());
  send_from(region.blocks(64)[0]);
}

#if ADVERB_MUST_FAIL == 1
// case: receiving_into_const_memory
// expect(gcc): could not convert
// expect(clang): no matching function for call to 'receive_into'
void receiving_into_const_memory(const adverb::memory_region& region) {
  receive_into(region.const_buffer());
}

// case: mutable_from_const
// expect: no matching
mutable_buffer mutable_from_const(const_buffer buffer) {
  return mutable_buffer{adverb::adopt, buffer};
}

// case: element_of_c_without_the_tag
// expect(gcc): could not convert
// expect(clang): no matching function for call to 'send_from'
void element_of_c_without_the_tag(ibv_sge element) { send_from(element); }
#endif
