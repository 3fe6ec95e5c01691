// SPDX-License-Identifier: MIT
#include <string>
#include <string_view>

#include <adverb/core/ids.hpp>
#include <adverb/core/text.hpp>
#include <support/catch.hpp>

namespace {

template <std::size_t Capacity>
std::string written(std::string_view first, std::string_view second) {
  return std::string{adverb::static_string<Capacity>{[&](adverb::text_writer& out) {
                       out.put(first).put(second);
                     }}.view()};
}

template <class Write>
std::string long_text(const Write& write) {
  return std::string{adverb::static_string<64>{write}.view()};
}

}  // namespace

TEST_CASE("a static_string holds a text that fits") {
  CHECK(written<8>("", "").empty());
  CHECK(written<8>("abcd", "efg") == "abcdefg");
  CHECK(written<8>("abcd", "efgh") == "abcdefgh");
}

TEST_CASE("a static_string cuts a longer text off and ends it with dots") {
  CHECK(written<8>("abcd", "efghi") == "abcde...");
  CHECK(written<8>("abcdefghi", "") == "abcde...");
  CHECK(written<8>("abcdefghi", "jkl") == "abcde...");
  CHECK(written<2>("abc", "") == "..");
}

TEST_CASE("a null character is written as an escape sequence") {
  CHECK(written<8>(std::string_view{"a\0b", 3}, "\0") == R"(a\0b)");
  CHECK(written<8>(std::string_view{"abcdefg\0", 8}, "") == "abcde...");
}

TEST_CASE("a text_writer writes only inside its buffer") {
  char buffer[] = "________";
  adverb::text_writer out{std::span{buffer}.subspan(2, 4)};
  out.put("abcdefgh").decimal(12345);
  CHECK(std::string{buffer} == "__a...__");
  CHECK(out.size() == 4);

  adverb::text_writer nowhere{std::span<char>{}};
  CHECK(nowhere.put("a").size() == 0);
}

TEST_CASE("decimal and hexadecimal write numbers of up to 64 bits completely") {
  CHECK(long_text([](adverb::text_writer& out) { out.decimal(0); }) == "0");
  CHECK(long_text([](adverb::text_writer& out) { out.decimal(UINT64_MAX); }) ==
        "18446744073709551615");
  CHECK(long_text([](adverb::text_writer& out) { out.hexadecimal(0); }) == "0");
  CHECK(long_text([](adverb::text_writer& out) { out.hexadecimal(0xab, 4); }) == "00ab");
  CHECK(long_text([](adverb::text_writer& out) { out.hexadecimal(0xabcde, 4); }) == "abcde");
  CHECK(long_text([](adverb::text_writer& out) { out.hexadecimal(UINT64_MAX); }) ==
        "ffffffffffffffff");
}

TEST_CASE("a type that has a text can be written and converted to a string") {
  CHECK(long_text([](adverb::text_writer& out) {
          out.put("key ").put(adverb::rkey{0x12}).put(", port ").put(adverb::port_number{2});
        }) == "key 0x12, port 2");
  CHECK(to_string(adverb::lid{7}) == "0x0007");
}

TEST_CASE("an enumerator without a name shows its number") {
  CHECK(std::string_view{adverb::detail::name_or_number("active", 4)} == "active");
  CHECK(std::string_view{adverb::detail::name_or_number("", 4)} == "unknown (4)");
}

TEST_CASE("put replaces each pair of braces with an argument") {
  CHECK(long_text([](adverb::text_writer& out) {
          out.put("{} of {}: {} on port {}",
                  {3U, std::uint64_t{16}, "none", adverb::port_number{2}});
        }) == "3 of 16: none on port 2");
  CHECK(long_text([](adverb::text_writer& out) {
          out.put("{}{", {std::string_view{"a\0b", 3}});
        }) == R"(a\0b{)");
  CHECK(long_text([](adverb::text_writer& out) { out.put("{} and {}", {"one"}); }) == "one and {}");
  CHECK(long_text([](adverb::text_writer& out) { out.put("all", {"one"}); }) == "all");
  char room[6] = "_____";
  adverb::text_writer{room, 5}.put("{}{}", {"abc", 12345U});
  CHECK(std::string{room} == "ab...");
}

TEST_CASE("listed_name returns the same name at run time and in constants") {
  using adverb::detail::listed_name;
  const auto name = [](std::string_view names, std::size_t index) {
    return listed_name(names, index);
  };
  static_assert(listed_name("a||bc", 2) == "bc" && listed_name("a||bc", 3).empty());
  CHECK(name("a||bc", 0) == "a");
  CHECK(name("a||bc", 1).empty());
  CHECK(name("a||bc", 2) == "bc");
  CHECK(name("a||bc", 3).empty());
  CHECK(name("", 0).empty());
  CHECK(adverb::detail::listed_bit_name("a||bc", 4) == "bc");
  CHECK(adverb::detail::listed_bit_name("a||bc", 5).empty());
  CHECK(adverb::detail::listed_bit_name("a||bc", 0).empty());
}
