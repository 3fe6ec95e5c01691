// SPDX-License-Identifier: MIT
// Values that cannot be sent as private data.
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <adverb/cm.hpp>

using namespace adverb;

struct with_copy {
  with_copy() = default;
  with_copy(const with_copy&) {}
};
using too_long = std::array<std::byte, 195>;
using longest = std::array<std::byte, 194>;
[[maybe_unused]] static longest longest_of_all{};

[[maybe_unused]] static void use(const cm::private_data& data, const with_copy& copied) {
  (void)cm::private_data::of(longest{});
  (void)data.as<longest>();
  (void)data.text();
  (void)copied;
#if ADVERB_MUST_FAIL == 1
  // case: of_not_trivially_copyable
  // expect: private data is copied byte by byte: the type has to be trivially copyable
  (void)cm::private_data::of(copied);

  // case: as_not_trivially_copyable
  // expect: private data is copied byte by byte: the type has to be trivially copyable
  (void)data.as<std::string>();

  // case: of_too_long
  // expect: private data is at most 56 bytes in a request and 196 in an acceptance, two of which
  (void)cm::private_data::of(too_long{});

  // case: of_pointer
  // expect: private data cannot hold a pointer, a span or a view: pass the value, or its bytes:
  // private_data{bytes}
  (void)cm::private_data::of(&longest_of_all);

  // case: of_span
  // expect: private data cannot hold a pointer, a span or a view: pass the value, or its bytes:
  // private_data{bytes}
  (void)cm::private_data::of(std::span{longest_of_all});

  // case: as_view
  // expect: private data cannot hold a pointer, a span or a view: pass the value, or its bytes:
  // private_data{bytes}
  (void)data.as<std::string_view>();

  // case: text_of_temporary
  // expect: deleted
  (void)cm::private_data{}.text();

  // case: as_too_long
  // expect: private data is at most 56 bytes in a request and 196 in an acceptance, two of which
  (void)data.as<std::array<std::byte, 196>>();
#endif
}
