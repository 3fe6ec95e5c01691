// SPDX-License-Identifier: MIT
// Sets of bits are of one kind, and are no numbers.
#include <adverb/device/device_attributes.hpp>
#include <adverb/memory/registrable_memory.hpp>

using adverb::access_right;
using adverb::access_rights;

void combine() {
  const access_rights rights = access_right::local_write | access_right::remote_read;
  const access_rights same = access_rights::from_bits(rights.bits());
  (void)same;
}

#if ADVERB_MUST_FAIL == 1
// case: rights_from_a_number
// expect(gcc): conversion from 'int' to non-scalar type
// expect(clang): no viable conversion from 'int'
void rights_from_a_number() { const access_rights rights = 5; }

// case: rights_as_a_number
// expect(gcc): cannot convert
// expect(clang): no viable conversion
int rights_as_a_number(access_rights rights) { return rights; }

// case: rights_as_a_condition
// expect(gcc): could not convert
// expect(clang): not contextually convertible to 'bool'
void rights_as_a_condition(access_rights rights) {
  if (rights) return;
}

// case: bits_of_two_kinds
// expect(gcc): no match for 'operator|'
// expect(clang): invalid operands to binary expression
void bits_of_two_kinds() {
  (void)(access_right::local_write | adverb::device_capability::raw_multicast);
}
#endif
