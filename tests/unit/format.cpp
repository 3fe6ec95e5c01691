// SPDX-License-Identifier: MIT
#include <string>
#include <version>

#include <adverb/completion/completion.hpp>
#include <adverb/core/durations.hpp>
#include <adverb/device/gid.hpp>
#include <adverb/format.hpp>
#include <adverb/memory/registrable_memory.hpp>
#include <support/catch.hpp>
#include <support/skip.hpp>

#if defined(__cpp_lib_format)

TEST_CASE("std::format formats every kind of type that has a text") {
  CHECK(std::format("{}", adverb::rkey{0x1f}) == "0x1f");
  CHECK(std::format("{}", adverb::psn{5}) == "0x000005");
  CHECK(std::format("{}", adverb::acknowledge_timeout::from_code(14)) == "67.108 ms");
  CHECK(std::format("{}", adverb::access_right::local_write | adverb::access_right::remote_read) ==
        "local_write|remote_read");
  CHECK(std::format("{}", adverb::gid{}) == "::");
  CHECK(std::format("{}", adverb::gid_entry{}) == "0 (InfiniBand, ::)");
  CHECK(std::format("{}", adverb::completion_status::flushed) == "flushed");
}

TEST_CASE("std::format applies width, fill, alignment and precision as for a string") {
  CHECK(std::format("[{:8}]", adverb::rkey{0x1f}) == "[0x1f    ]");
  CHECK(std::format("[{:.>8}]", adverb::rkey{0x1f}) == "[....0x1f]");
  CHECK(std::format("[{:^8}]", adverb::rkey{0x1f}) == "[  0x1f  ]");
  CHECK(std::format("[{:.3}]", adverb::completion_status::flushed) == "[flu]");
  CHECK(std::format("[{:{}}]", adverb::rkey{0x1f}, 6) == "[0x1f  ]");
}

#else

TEST_CASE("std::format formats every kind of type that has a text") {
  tell_skip("unit.format", "this standard library has no <format>");
}

#endif
