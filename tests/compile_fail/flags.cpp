// SPDX-License-Identifier: MIT
// Sets of bits are of one kind, and are no numbers.
#include <adverb/device/device_attributes.hpp>
#include <adverb/memory/access.hpp>

using adverb::access_right;
using adverb::access_rights;

void combine() {
  const access_rights rights = access_right::local_write | access_right::remote_read;
  const access_rights same = access_rights::from_bits(rights.bits());
  (void)same;
}

#if defined(ADVERB_EXPECT_RIGHTS_FROM_A_NUMBER)
// expect(gcc): conversion from 'int' to non-scalar type
// expect(clang): no viable conversion from 'int'
void fail() { const access_rights rights = 5; }
#elif defined(ADVERB_EXPECT_RIGHTS_AS_A_NUMBER)
// expect(gcc): cannot convert
// expect(clang): no viable conversion
int fail(access_rights rights) { return rights; }
#elif defined(ADVERB_EXPECT_RIGHTS_AS_A_CONDITION)
// expect(gcc): could not convert
// expect(clang): not contextually convertible to 'bool'
void fail(access_rights rights) {
  if (rights) return;
}
#elif defined(ADVERB_EXPECT_BITS_OF_TWO_KINDS)
// expect(gcc): no match for 'operator|'
// expect(clang): invalid operands to binary expression
void fail() { (void)(access_right::local_write | adverb::device_capability::raw_multicast); }
#endif
