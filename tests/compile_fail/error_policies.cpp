// SPDX-License-Identifier: MIT
// The last parameter of what can fail: nothing, a std::error_code or a failure that can be set.
#include <system_error>

#include <adverb/memory/protection_domain.hpp>

void report(const adverb::context& context, adverb::protection_domain& domain) {
  std::error_code code;
  adverb::failure why;
  (void)context.query_device();
  (void)context.query_device(code);
  (void)context.query_device(why);
  domain.close(code);
}

#if ADVERB_MUST_FAIL == 1
// case: const_error_code
// expect(gcc): to 'const std::error_code' discards qualifiers
// expect(clang): no viable conversion from 'const std::error_code'
void const_error_code(const adverb::context& context, const std::error_code& code) {
  (void)context.query_device(code);
}

// case: temporary_error_code
// expect(gcc): cannot bind non-const lvalue reference of type 'std::error_code&'
// expect(clang): no viable conversion from 'std::error_code'
void temporary_error_code(const adverb::context& context) {
  (void)context.query_device(std::error_code{});
}

// case: temporary_failure
// expect(gcc): failure&' to an rvalue
// expect(clang): no viable conversion from 'adverb::failure'
void temporary_failure(const adverb::context& context) {
  (void)context.query_device(adverb::failure{});
}

// case: const_failure
// expect(gcc): failure' discards qualifiers
// expect(clang): no viable conversion from 'const adverb::failure'
void const_failure(const adverb::context& context, const adverb::failure& why) {
  (void)context.query_device(why);
}

// case: anything_else
// expect(gcc): cannot convert 'int' to 'adverb::
// expect(clang): no viable conversion from 'int'
void anything_else(adverb::protection_domain& domain, int& number) { domain.close(number); }

// case: ignored_answer
// expect: ignoring return value
void ignored_answer(const adverb::context& context) { context.query_device(); }
#endif
