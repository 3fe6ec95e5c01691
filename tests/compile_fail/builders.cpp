// SPDX-License-Identifier: MIT
// A builder refers to its queue pair: one of a temporary applies in the same expression. Clang
// warns of a builder that is kept.
#include <utility>

#include <adverb/adverb.hpp>

using namespace adverb;

[[maybe_unused]] static void build(protection_domain_ref domain,
                                   const queue_pair_options& options) {
  auto fresh = queue_pair<transport::rc>::create(domain, options);
  auto builder = fresh.init();
  (void)std::move(builder).port(port_number{1}).apply();
  (void)queue_pair<transport::rc>::create(domain, options).init().port(port_number{1}).apply();

#if ADVERB_MUST_FAIL == 1
  // case: builder_of_a_temporary
  // expect(clang): temporary whose address is used as value of local variable 'dangling'
  [[maybe_unused]] const auto dangling = queue_pair<transport::rc>::create(domain, options).init();

  // case: builder_of_a_temporary_behind_a_setter
  // expect: the queue pair of this builder was a temporary, which is gone
  const auto next = queue_pair<transport::rc>::create(domain, options).init().port(port_number{1});
  (void)next.apply();

  // case: setter_of_a_kept_builder_of_a_temporary
  // expect(gcc): discards qualifiers
  // expect(clang): is an lvalue, but function has rvalue ref-qualifier
  auto kept = queue_pair<transport::rc>::create(domain, options).init().port(port_number{1});
  (void)kept.pkey_index(pkey_index{0}).apply();

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
