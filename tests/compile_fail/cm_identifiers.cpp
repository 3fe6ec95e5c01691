// SPDX-License-Identifier: MIT
// Owners of librdmacm's objects: moved, not copied, and not referred to when they are about to die.
#include <utility>

#include <adverb/cm.hpp>

using namespace adverb;

[[maybe_unused]] static void use(cm::event_channel& channel, cm::identifier& id, cm::event& event) {
  const cm::event_channel_ref channel_reference = channel;
  const cm::identifier_ref reference = id;
  cm::identifier moved{std::move(id)};
  cm::event taken{std::move(event)};
  cm::identifier request = taken.take_request();
  (void)channel_reference;
  (void)reference;
#if defined(ADVERB_EXPECT_COPY)
  // expect(gcc): use of deleted function
  // expect(clang): deleted
  cm::identifier copy{moved};
#elif defined(ADVERB_EXPECT_COPY_OF_EVENT)
  // expect(gcc): use of deleted function
  // expect(clang): deleted
  cm::event copy{taken};
#elif defined(ADVERB_EXPECT_TEMPORARY)
  // expect(gcc): use of deleted function
  // expect(clang): deleted
  const cm::identifier_ref dangling = cm::identifier{};
#elif defined(ADVERB_EXPECT_TEMPORARY_CHANNEL)
  // expect(gcc): use of deleted function
  // expect(clang): deleted
  (void)cm::identifier::create(cm::event_channel::create(), cm::port_space::tcp);
#elif defined(ADVERB_EXPECT_IGNORED_REQUEST)
  // expect: ignoring return
  taken.take_request();
#elif defined(ADVERB_EXPECT_IGNORED_EVENT)
  // expect: ignoring return
  channel.next_event();
#elif defined(ADVERB_EXPECT_NUMBER_AS_TIMEOUT)
  // expect: no matching
  moved.resolve_route(2000);
#endif
}
