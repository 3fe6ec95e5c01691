// SPDX-License-Identifier: MIT
#include <string>

#include <support/catch.hpp>
#include <support/skip.hpp>

#if __has_include(<fmt/format.h>)

#define FMT_HEADER_ONLY
#include <adverb/completion/completion.hpp>
#include <adverb/core/durations.hpp>
#include <adverb/device/gid.hpp>
#include <adverb/fmt.hpp>
#include <adverb/memory/registrable_memory.hpp>

TEST_CASE("{fmt} formats every kind of type that has a text") {
  CHECK(fmt::format("{}", adverb::rkey{0x1f}) == "0x1f");
  CHECK(fmt::format("{}", adverb::psn{5}) == "0x000005");
  CHECK(fmt::format("{}", adverb::acknowledge_timeout::from_code(14)) == "67.108 ms");
  CHECK(fmt::format("{}", adverb::access_right::local_write | adverb::access_right::remote_read) ==
        "local_write|remote_read");
  CHECK(fmt::format("{}", adverb::gid{}) == "::");
  CHECK(fmt::format("{}", adverb::gid_entry{}) == "0 (InfiniBand, ::)");
  CHECK(fmt::format("{}", adverb::completion_status::flushed) == "flushed");
}

TEST_CASE("{fmt} applies width, fill, alignment and precision as for a string") {
  CHECK(fmt::format("[{:8}]", adverb::rkey{0x1f}) == "[0x1f    ]");
  CHECK(fmt::format("[{:.>8}]", adverb::rkey{0x1f}) == "[....0x1f]");
  CHECK(fmt::format("[{:^8}]", adverb::rkey{0x1f}) == "[  0x1f  ]");
  CHECK(fmt::format("[{:.3}]", adverb::completion_status::flushed) == "[flu]");
  CHECK(fmt::format("[{:{}}]", adverb::rkey{0x1f}, 6) == "[0x1f  ]");
}

#else

TEST_CASE("{fmt} formats every kind of type that has a text") {
  tell_skip("unit.fmt", "{fmt} is not installed");
}

#endif
