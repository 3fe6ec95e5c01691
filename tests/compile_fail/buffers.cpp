// SPDX-License-Identifier: MIT
// What may be written stays apart from what may only be read.
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

#if defined(ADVERB_EXPECT_RECEIVING_INTO_CONST_MEMORY)
// expect(gcc): could not convert
// expect(clang): no matching function for call to 'receive_into'
void fail(const adverb::memory_region& region) { receive_into(region.const_buffer()); }
#elif defined(ADVERB_EXPECT_MUTABLE_FROM_CONST)
// expect: no matching
mutable_buffer fail(const_buffer buffer) { return mutable_buffer{adverb::adopt, buffer}; }
#elif defined(ADVERB_EXPECT_ELEMENT_OF_C_WITHOUT_THE_TAG)
// expect(gcc): could not convert
// expect(clang): no matching function for call to 'send_from'
void fail(ibv_sge element) { send_from(element); }
#endif
