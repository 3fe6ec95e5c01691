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

#if defined(ADVERB_EXPECT_CONST_ERROR_CODE)
// expect(gcc): no matching function
// expect(clang): no matching member function
void fail(const adverb::context& context, const std::error_code& code) {
  (void)context.query_device(code);
}
#elif defined(ADVERB_EXPECT_TEMPORARY_ERROR_CODE)
// expect(gcc): no matching function
// expect(clang): no matching member function
void fail(const adverb::context& context) { (void)context.query_device(std::error_code{}); }
#elif defined(ADVERB_EXPECT_TEMPORARY_FAILURE)
// expect(gcc): no matching function
// expect(clang): no matching member function
void fail(const adverb::context& context) { (void)context.query_device(adverb::failure{}); }
#elif defined(ADVERB_EXPECT_CONST_FAILURE)
// expect: no matching
void fail(const adverb::context& context, const adverb::failure& why) {
  const adverb::protection_domain domain{context, why};
}
#elif defined(ADVERB_EXPECT_ANYTHING_ELSE)
// expect(gcc): no matching function
// expect(clang): no matching member function
void fail(adverb::protection_domain& domain, int& number) { domain.close(number); }
#elif defined(ADVERB_EXPECT_IGNORED_ANSWER)
// expect: ignoring return value
void fail(const adverb::context& context) { context.query_device(); }
#endif
