// SPDX-License-Identifier: MIT
// Rights to a peer's memory are given up, never gained.
#include <array>
#include <cstddef>
#include <string>

#include <adverb/memory/remote_buffer.hpp>

using adverb::access_right;
using adverb::remote_buffer;

using readable = remote_buffer<std::byte, access_right::remote_read>;
using writable = remote_buffer<std::byte, access_right::remote_write>;

readable narrowed(const remote_buffer<>& buffer) { return buffer; }

#if defined(ADVERB_EXPECT_MORE_RIGHTS)
// expect: a remote buffer cannot be converted to one with more rights
remote_buffer<> fail(const readable& buffer) { return buffer; }
#elif defined(ADVERB_EXPECT_OTHER_RIGHTS)
// expect: a remote buffer cannot be converted to one with more rights
writable fail(const readable& buffer) { return writable{buffer}; }
#elif defined(ADVERB_EXPECT_NO_RIGHTS)
// expect: the rights of a remote buffer are some of remote_read, remote_write, remote_atomic,
// flush_global and flush_persistent
std::size_t fail(const remote_buffer<std::byte, adverb::access_rights{}>& buffer) {
  return buffer.size();
}
#elif defined(ADVERB_EXPECT_LOCAL_RIGHTS)
// expect: the rights of a remote buffer are some of remote_read, remote_write, remote_atomic,
// flush_global and flush_persistent
std::size_t fail(const remote_buffer<std::byte, access_right::local_write>& buffer) {
  return buffer.size();
}
#elif defined(ADVERB_EXPECT_STRINGS)
// expect: remote memory holds trivially copyable types
std::size_t fail(const remote_buffer<std::string>& buffer) { return buffer.size(); }
#elif defined(ADVERB_EXPECT_STRINGS_SEEN_IN_BYTES)
// expect: remote memory holds trivially copyable types
std::size_t fail(const readable& buffer) { return buffer.as<std::string>().size(); }
#elif defined(ADVERB_EXPECT_OTHER_ELEMENTS)
// expect(gcc): could not convert
// expect(clang): no viable conversion
remote_buffer<int, access_right::remote_read> fail(const readable& buffer) { return buffer; }
#elif defined(ADVERB_EXPECT_TOO_FEW_BYTES)
// expect: no matching function
readable fail(const std::array<std::byte, 23>& bytes) { return readable::decode(bytes); }
#elif defined(ADVERB_EXPECT_IGNORED_BUFFER)
// expect: ignoring return value
void fail(const std::array<std::byte, 24>& bytes) { readable::decode(bytes); }
#endif
