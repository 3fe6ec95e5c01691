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

#if ADVERB_MUST_FAIL == 1
// case: more_rights
// expect: a remote buffer cannot be converted to one with more rights
remote_buffer<> more_rights(const readable& buffer) { return buffer; }

// case: other_rights
// expect: a remote buffer cannot be converted to one with more rights
writable other_rights(const readable& buffer) { return writable{buffer}; }

// case: no_rights
// expect: a remote buffer grants one or more of remote_read, remote_write, remote_atomic,
// flush_global and flush_persistent
std::size_t no_rights(const remote_buffer<std::byte, adverb::access_rights{}>& buffer) {
  return buffer.size();
}

// case: local_rights
// expect: a remote buffer grants one or more of remote_read, remote_write, remote_atomic,
// flush_global and flush_persistent
std::size_t local_rights(const remote_buffer<std::byte, access_right::local_write>& buffer) {
  return buffer.size();
}

// case: strings
// expect: remote memory holds only trivially copyable types
std::size_t strings(const remote_buffer<std::string>& buffer) { return buffer.size(); }

// case: strings_seen_in_bytes
// expect: remote memory holds only trivially copyable types
std::size_t strings_seen_in_bytes(const readable& buffer) {
  return buffer.as<std::string>().size();
}

// case: other_elements
// expect(gcc): could not convert
// expect(clang): no viable conversion
remote_buffer<int, access_right::remote_read> other_elements(const readable& buffer) {
  return buffer;
}

// case: too_few_bytes
// expect(gcc): cannot convert 'const std::array<std::byte, 23>' to 'std::span<const std::byte, 24>'
// expect(clang): no viable conversion from 'const std::array<std::byte, 23>'
readable too_few_bytes(const std::array<std::byte, 23>& bytes) { return readable::decode(bytes); }

// case: ignored_buffer
// expect: ignoring return value
void ignored_buffer(const std::array<std::byte, 24>& bytes) { readable::decode(bytes); }
#endif
