// SPDX-License-Identifier: MIT
// A stream reads into memory that can be changed, and is accepted from what outlives the step.
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include <adverb/remote.hpp>

using namespace adverb;

[[maybe_unused]] static void use(const remote_stream& stream, std::span<std::byte> bytes,
                                 async::connection_request& request) {
  const std::span<const std::byte> unchanging = bytes;
  (void)stream.read(bytes);
  (void)stream.write(unchanging);
  (void)stream.connection();
  (void)remote_stream::accept(request);
#if ADVERB_MUST_FAIL == 1
  // case: read_into_const_memory
  // expect: bytes are read into memory that is not const
  (void)stream.read(unchanging);

  // case: connection_of_a_temporary
  // expect: deleted
  (void)remote_stream{}.connection();
#endif
}
