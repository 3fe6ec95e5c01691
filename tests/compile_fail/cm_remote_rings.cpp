// SPDX-License-Identifier: MIT
// The entries of a ring are of one type that can be copied as bytes, or bytes of any length.
#include <cstddef>
#include <string>

#include <adverb/remote.hpp>

using namespace adverb;

[[maybe_unused]] static void fill(const remote_ring<int>::writer& numbers,
                                  const remote_ring<std::byte>::writer& bytes,
                                  const remote_ring<int>::entry& number,
                                  const remote_ring<std::byte>::entry& some) {
  numbers.claim() = *number;
  (void)numbers.try_claim();
  (void)bytes.claim(some.bytes().size());
#if ADVERB_MUST_FAIL == 1
  // case: typed_claim_of_bytes
  // expect: the entries of a ring of bytes have a length each: claim(size), and bytes()
  (void)bytes.claim();

  // case: typed_try_claim_of_bytes
  // expect: the entries of a ring of bytes have a length each: claim(size), and bytes()
  (void)bytes.try_claim();

  // case: typed_entry_of_bytes
  // expect: the entries of a ring of bytes have a length each: claim(size), and bytes()
  (void)*some;

  // case: claim_of_a_length
  // expect: only a ring of std::byte has entries of any length: call claim()
  (void)numbers.claim(4);

  // case: entries_that_are_no_bytes
  // expect: an entry is copied as bytes, so its type must be trivially copyable
  (void)remote_ring<std::string>::writer{};
#endif
}
