// SPDX-License-Identifier: MIT
// A builder refers to its queue pair, so it must not be kept from a temporary one. Clang sees that
// for the builder that starts a transition; with GCC, and behind a setter, it goes unnoticed.
#include <adverb/adverb.hpp>

using namespace adverb;

[[maybe_unused]] static void build(protection_domain_ref domain,
                                   const queue_pair_options& options) {
  auto fresh = queue_pair<transport::rc>::create(domain, options);
  [[maybe_unused]] const auto builder = fresh.init();
  (void)queue_pair<transport::rc>::create(domain, options).init().port(port_number{1}).apply();

#if ADVERB_MUST_FAIL == 1
  // case: builder_of_a_temporary
  // expect(clang): temporary whose address is used as value of local variable 'dangling'
  [[maybe_unused]] const auto dangling = queue_pair<transport::rc>::create(domain, options).init();

  // case: ignored_builder
  // expect: nothing is changed before .apply()
  fresh.init();

  // case: forgotten_apply
  // expect: nothing is changed before .apply()
  fresh.init().port(port_number{1});

  // case: ignored_pair
  // expect: ignoring return
  fresh.init().port(port_number{1}).apply();
#endif
}
