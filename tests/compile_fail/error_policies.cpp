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
// expect(gcc): no matching function
// expect(clang): no matching member function
void const_error_code(const adverb::context& context, const std::error_code& code) {
  (void)context.query_device(code);
}

// case: temporary_error_code
// expect(gcc): no matching function
// expect(clang): no matching member function
void temporary_error_code(const adverb::context& context) {
  (void)context.query_device(std::error_code{});
}

// case: temporary_failure
// expect(gcc): no matching function
// expect(clang): no matching member function
void temporary_failure(const adverb::context& context) {
  (void)context.query_device(adverb::failure{});
}

// case: const_failure
// expect: no matching
void const_failure(const adverb::context& context, const adverb::failure& why) {
  const adverb::protection_domain domain{context, why};
}

// case: anything_else
// expect(gcc): no matching function
// expect(clang): no matching member function
void anything_else(adverb::protection_domain& domain, int& number) { domain.close(number); }

// case: ignored_answer
// expect: ignoring return value
void ignored_answer(const adverb::context& context) { context.query_device(); }
#endif
