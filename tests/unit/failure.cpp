// SPDX-License-Identifier: MIT
// Failures as values: the message, and the parts of it.
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>

#include <adverb/core/failure.hpp>
#include <support/catch.hpp>

namespace {

using adverb::failure;
using adverb::failure_description;
using adverb::text_writer;

std::error_code code_of(int number) { return {number, std::generic_category()}; }

const auto nothing = [](failure_description&) {};

}  // namespace

TEST_CASE("a default-constructed failure is empty") {
  const failure why;
  CHECK_FALSE(why);
  CHECK_FALSE(why.code());
  CHECK(std::string_view{why.what()}.empty());
  CHECK(why.verb().empty());
  CHECK(why.object().empty());
  CHECK(why.explanation().empty());
}

TEST_CASE("a message consists of verb, detail, object, errno and explanation in this order") {
  const failure why{code_of(EINVAL), "ibv_modify_qp", [](failure_description& description) {
                      description.detail("INIT->RTR")
                          .object([](text_writer& out) { out.put("rxe0:1 qp 0x11"); })
                          .explain("sgid index 3 is empty");
                    }};
  CHECK(why);
  CHECK(std::string{why.what()} ==
        "ibv_modify_qp INIT->RTR on rxe0:1 qp 0x11: EINVAL (Invalid argument); "
        "sgid index 3 is empty");
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.verb() == "ibv_modify_qp");
  CHECK(why.object() == "rxe0:1 qp 0x11");
  CHECK(why.explanation() == "sgid index 3 is empty");
}

TEST_CASE("a message omits missing parts other than the verb and the errno") {
  const failure bare{code_of(ENOMEM), "ibv_alloc_pd", nothing};
  CHECK(std::string{bare.what()} == "ibv_alloc_pd: ENOMEM (Cannot allocate memory)");
  CHECK(bare.object().empty());
  CHECK(bare.explanation().empty());

  const failure unexplained{code_of(EBUSY), "ibv_dealloc_pd", [](failure_description& description) {
                              description.object([](text_writer& out) { out.put("rxe0 pd 1"); });
                            }};
  CHECK(std::string{unexplained.what()} ==
        "ibv_dealloc_pd on rxe0 pd 1: EBUSY (Device or resource busy)");

  const failure silent{code_of(EBUSY), "ibv_dealloc_pd", [](failure_description& description) {
                         description.explain([](text_writer&) {});
                       }};
  CHECK(std::string{silent.what()} == "ibv_dealloc_pd: EBUSY (Device or resource busy)");
  CHECK(silent.explanation().empty());
}

TEST_CASE("a failed optional verb is explained by the feature that the device lacks") {
  const auto explanation = [](int number, std::string_view verb, std::string_view object) {
    return std::string{failure{
        code_of(number), std::string{verb}.c_str(), [&](failure_description& description) {
          description.object([&](text_writer& out) { out.put(object); });
        }}.explanation()};
  };
  using adverb::detail::listed_name;
  using adverb::detail::optional_verbs;
  for (std::size_t index = 0; !listed_name(optional_verbs, index).empty(); index += 2) {
    const std::string_view verb = listed_name(optional_verbs, index);
    const std::string has_none = " has no " + std::string{listed_name(optional_verbs, index + 1)};
    CHECK(explanation(EOPNOTSUPP, verb, "rxe0 pd 1") == "rxe0" + has_none);
    CHECK(explanation(ENOSYS, verb, "rxe0:1") == "rxe0" + has_none);
    CHECK(explanation(ENOSYS, verb, "") == "the device" + has_none);
    CHECK(explanation(EINVAL, verb, "rxe0").empty());
  }
  CHECK(explanation(EOPNOTSUPP, "ibv_alloc_pd", "rxe0").empty());
}

TEST_CASE("failure_description returns the error code") {
  const failure why{code_of(EPERM), "verb", [](failure_description& description) {
                      CHECK(description.code() == std::errc::operation_not_permitted);
                    }};
  CHECK(why);
}

TEST_CASE("an errno without a name and another category are reported by their message") {
  const failure unnamed{code_of(ESTALE), "verb", nothing};
  CHECK(std::string{unnamed.what()} == "verb: Stale file handle");

  const std::error_code other = std::make_error_code(std::io_errc::stream);
  const failure foreign{other, "verb", nothing};
  CHECK(std::string{foreign.what()} == "verb: " + other.message());
}

TEST_CASE("errno names match those of the C library") {
  for (int number = 1; number < 134; ++number) {
    const std::string_view name = adverb::detail::errno_name(number);
    if (name.empty()) continue;
    // glibc's own name of it; the two pairs of synonyms have only one each here.
    CHECK(std::string{name} == strerrorname_np(number));
  }
  CHECK(adverb::detail::errno_name(EOPNOTSUPP) == "EOPNOTSUPP");
  CHECK(adverb::detail::errno_name(ECANCELED) == "ECANCELED");
  CHECK(adverb::detail::errno_name(0).empty());
}

TEST_CASE("a message that is too long is cut off and stays a C string") {
  const std::string endless(2000, 'x');
  const failure why{code_of(EINVAL), "verb", [&](failure_description& description) {
                      description.object([&](text_writer& out) { out.put(endless); })
                          .explain("nobody will read this");
                    }};
  const std::string message = why.what();
  CHECK(message.size() == 1023);
  CHECK(message.substr(0, 12) == "verb on xxxx");
  CHECK(message.substr(message.size() - 4) == "x...");
  CHECK(why.object().size() == 1023 - std::strlen("verb on "));
  CHECK(why.explanation().empty());
}

TEST_CASE("an explanation that is too long is cut off") {
  const std::string endless(2000, 'x');
  const failure why{code_of(EINVAL), "verb",
                    [&](failure_description& description) { description.explain(endless); }};
  CHECK(why.explanation().size() == 640);
  CHECK(why.explanation().substr(636) == "x...");
}

TEST_CASE("a copy of a failure is independent of the original") {
  failure copy;
  {
    const failure why{code_of(EINVAL), "verb",
                      [](failure_description& description) { description.explain("because"); }};
    copy = why;
  }
  CHECK(std::string{copy.what()} == "verb: EINVAL (Invalid argument); because");
  CHECK(copy.explanation().data() >= copy.what());
  CHECK(copy.explanation().data() < copy.what() + 1024);
}
