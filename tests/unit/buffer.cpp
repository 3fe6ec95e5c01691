// SPDX-License-Identifier: MIT
// Buffers as the C API sees a list of them.
#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <adverb/memory/buffer.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

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

template <class Buffer>
bool is(const Buffer& buffer, const ibv_sge& element) {
  return buffer.address() == element.addr && buffer.size() == element.length &&
         buffer.key() == adverb::lkey{element.lkey};
}

template <class Buffer>
void check_slices(const std::string& verb) {
  const Buffer whole{adopt, ibv_sge{0x1000, 64, 7}};
  CHECK(is(whole.slice(16, 8), {0x1010, 8, 7}));
  CHECK(is(whole.unchecked_slice(16, 8), {0x1010, 8, 7}));
  CHECK(is(whole.slice(64, 0), {0x1040, 0, 7}));

  const adverb::failure why =
      reported([&](auto&&... policy) { (void)whole.slice(60, 5, policy...); });
  CHECK(std::string{why.what()} ==
        verb + "ERANGE (Numerical result out of range); 5 bytes from 60 are not inside 64");
  std::error_code code;
  constexpr auto largest = std::numeric_limits<std::size_t>::max();
  for (const auto& [offset, length] : {std::pair{std::size_t{65}, std::size_t{0}},
                                       {std::size_t{1}, largest},
                                       {largest, std::size_t{2}}}) {
    CHECK(is(whole.slice(offset, length, code), {0, 0, 0}));
    CHECK(code == std::errc::result_out_of_range);
  }
  CHECK(is(whole.slice(16, 8, code), {0x1010, 8, 7}));
  CHECK_FALSE(code);
}

}  // namespace

TEST_CASE("a list of buffers has the layout of a list of ibv_sge") {
  check_list<const_buffer>();
  check_list<mutable_buffer>();
}

TEST_CASE("an empty buffer has address 0, size 0 and lkey 0") {
  CHECK(const_buffer{}.address() == 0);
  CHECK(const_buffer{}.size() == 0);
  CHECK(mutable_buffer{}.key() == adverb::lkey{0});
}

TEST_CASE("a mutable buffer converts to a const buffer") {
  const mutable_buffer target{adopt, ibv_sge{0x1000, 64, 7}};
  const std::vector<const_buffer> list{target};
  CHECK(list[0].address() == 0x1000);
  CHECK(list[0].size() == 64);
  CHECK(list[0].key() == adverb::lkey{7});
}

TEST_CASE("a slice of a buffer keeps its key and fails with ERANGE beyond the end") {
  check_slices<const_buffer>("const_buffer::slice: ");
  check_slices<mutable_buffer>("mutable_buffer::slice: ");
}

TEST_CASE("A buffer_list holds the buffers that were added, and its copy is independent") {
  adverb::buffer_list<3, mutable_buffer> list;
  CHECK(list.empty());
  list.push_back({adopt, ibv_sge{0x1000, 64, 7}});
  list.push_back({adopt, ibv_sge{0x2000, 8, 9}});
  REQUIRE(list.size() == 2);
  const ibv_sge* const native = adverb::detail::native_elements(list.data());
  CHECK(native[0].addr == 0x1000);
  CHECK(native[1].length == 8);
  CHECK(native[1].lkey == 9);

  adverb::buffer_list<3, mutable_buffer> copy{list};
  list.clear();
  CHECK(list.empty());
  CHECK(copy.size() == 2);
  CHECK(copy.data() != list.data());
  CHECK(copy.begin()[1].address() == 0x2000);
  copy.push_back({adopt, ibv_sge{0x3000, 1, 1}});
  list = copy;
  CHECK(list.end() - list.begin() == 3);
  CHECK(std::span{list}.back().address() == 0x3000);
}
