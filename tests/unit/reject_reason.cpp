// SPDX-License-Identifier: MIT
// The reasons of rejections: each number of the InfiniBand specification has its own words.
#include <cstdint>
#include <string>
#include <string_view>

#include <adverb/cm/reject_reason.hpp>
#include <support/catch.hpp>

using namespace adverb;
using cm::reject_reason;

namespace {

/// The subject of the words for a number ("REJ reason codes").
struct meaning {
  std::uint16_t number;
  std::string_view subject;
};

constexpr meaning meanings[]{
    {1, "queue pair"},
    {2, "end-to-end context"},
    {3, "resources"},
    {4, "timed out"},
    {5, "support"},
    {6, "connection"},
    {7, "attempt"},
    {8, "nothing listens"},
    {9, "transport"},
    {10, "still has a connection"},
    {11, "reliable datagram"},
    {12, "requested GID"},
    {13, "requested LID"},
    {14, "service level"},
    {15, "traffic class"},
    {16, "hop limit"},
    {17, "packet rate"},
    {18, "GID of the alternate path"},
    {19, "LID of the alternate path"},
    {20, "service level of the alternate path"},
    {21, "traffic class of the alternate path"},
    {22, "hop limit of the alternate path"},
    {23, "packet rate of the alternate path"},
    {24, "another port"},
    {25, "another port"},
    {26, "MTU"},
    {27, "reads and atomics"},
    {28, "program refused"},
    {29, "receiver-not-ready"},
    {30, "already"},
    {31, "another version"},
    {32, "flow label"},
    {33, "flow label of the alternate path"},
    {35, "enhancements"},
};

}  // namespace

TEST_CASE("Each reject reason of the specification has an uncut text of its own") {
  for (const auto& [number, subject] : meanings) {
    CAPTURE(number);
    const auto reason = static_cast<reject_reason>(number);
    CHECK(describe(reason).find(subject) != std::string_view::npos);
    CHECK((describe(reason).find("alternate") != std::string_view::npos) ==
          (subject.find("alternate") != std::string_view::npos));
    CHECK(to_string(reason) == describe(reason));
  }
  CHECK(to_string(reject_reason::unspecified) == describe(reject_reason::unspecified));
}

TEST_CASE("A reject reason without a text is written as its number") {
  for (const int number : {34, 36, 65535}) {
    const auto reason = static_cast<reject_reason>(number);
    CHECK(describe(reason).empty());
    CHECK(to_string(reason) == "reason " + std::to_string(number));
  }
}
