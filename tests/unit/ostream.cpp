// SPDX-License-Identifier: MIT
#include <iomanip>
#include <sstream>
#include <string>

#include <adverb/completion/completion.hpp>
#include <adverb/core/durations.hpp>
#include <adverb/device/gid.hpp>
#include <adverb/memory/registrable_memory.hpp>
#include <adverb/ostream.hpp>
#include <support/catch.hpp>

namespace {

template <class... Value>
std::string written(const Value&... values) {
  std::ostringstream stream;
  (stream << ... << values);
  return stream.str();
}

}  // namespace

TEST_CASE("operator<< writes every kind of type that has a text") {
  CHECK(written(adverb::rkey{0x1f}) == "0x1f");
  CHECK(written(adverb::psn{5}) == "0x000005");
  CHECK(written(adverb::acknowledge_timeout::from_code(14)) == "67.108 ms");
  CHECK(written(adverb::access_right::local_write | adverb::access_right::remote_read) ==
        "local_write|remote_read");
  CHECK(written(adverb::gid{}) == "::");
  CHECK(written(adverb::gid_entry{}) == "0 (InfiniBand, ::)");
  CHECK(written(adverb::completion_status::flushed) == "flushed");
}

TEST_CASE("width, fill and alignment of the stream apply") {
  CHECK(written("[", std::setw(8), adverb::rkey{0x1f}, "]") == "[    0x1f]");
  CHECK(written("[", std::left, std::setfill('.'), std::setw(8), adverb::rkey{0x1f}, "]") ==
        "[0x1f....]");
}
