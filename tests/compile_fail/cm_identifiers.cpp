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
#if ADVERB_MUST_FAIL == 1
  // case: copy
  // expect(gcc): use of deleted function
  // expect(clang): deleted
  const cm::identifier copy{moved};

  // case: copy_of_event
  // expect(gcc): use of deleted function
  // expect(clang): deleted
  const cm::event copy_of_event{taken};

  // case: temporary
  // expect(gcc): use of deleted function
  // expect(clang): deleted
  const cm::identifier_ref dangling = cm::identifier{};

  // case: temporary_channel
  // expect(gcc): use of deleted function
  // expect(clang): deleted
  (void)cm::identifier::create(cm::event_channel::create(), cm::port_space::tcp);

  // case: ignored_request
  // expect: ignoring return
  taken.take_request();

  // case: ignored_event
  // expect: ignoring return
  channel.next_event();

  // case: number_as_timeout
  // expect: a timeout is a duration, which has a unit: std::chrono::milliseconds{100}
  moved.resolve_route(2000);
#endif
}
