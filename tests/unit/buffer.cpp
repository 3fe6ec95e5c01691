// SPDX-License-Identifier: MIT
// Buffers as the C API sees a list of them.
#include <array>
#include <vector>

#include <adverb/memory/buffer.hpp>
#include <support/catch.hpp>

namespace {

using adverb::adopt;
using adverb::const_buffer;
using adverb::mutable_buffer;

template <class Buffer>
void check_list() {
  const std::array list{Buffer{adopt, ibv_sge{0x1000, 64, 7}},
                        Buffer{adopt, ibv_sge{0x2000, 8, 9}}};
  const ibv_sge* const native = adverb::detail::native_elements(list.data());
  CHECK(native[0].addr == 0x1000);
  CHECK(native[0].length == 64);
  CHECK(native[0].lkey == 7);
  CHECK(native[1].addr == 0x2000);
  CHECK(native[1].length == 8);
  CHECK(native[1].lkey == 9);
}

}  // namespace

TEST_CASE("a list of buffers is a list of elements") {
  check_list<const_buffer>();
  check_list<mutable_buffer>();
}

TEST_CASE("an empty buffer has no bytes of no region") {
  CHECK(const_buffer{}.address() == 0);
  CHECK(const_buffer{}.size() == 0);
  CHECK(mutable_buffer{}.key() == adverb::lkey{0});
}

TEST_CASE("a mutable buffer is given where a const one is taken") {
  const mutable_buffer target{adopt, ibv_sge{0x1000, 64, 7}};
  const std::vector<const_buffer> list{target};
  CHECK(list[0].address() == 0x1000);
  CHECK(list[0].size() == 64);
  CHECK(list[0].key() == adverb::lkey{7});
}
