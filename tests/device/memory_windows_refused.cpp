// SPDX-License-Identifier: MIT
// Requests about memory windows that the device refuses although they are not signaled, and
// accesses of zero bytes.
#include "memory_windows.hpp"
#include "refusals.hpp"

using namespace adverb;

namespace {

using window_1 = memory_window<window_type::one>;
using window_2 = memory_window<window_type::two>;

constexpr std::size_t length = 64;

/// Expects the completion of a request that was not signaled, and the flush of the next one. Then
/// both sides recover.
void check_refused(window_link<>& link, std::uint64_t id, completion_status expected) {
  const completion refused = next_completion(link.far_end.queue);
  CHECK(refused.id() == id);
  CHECK(refused.status() == expected);
  const completion flushed = next_completion(link.far_end.queue);
  CHECK(flushed.id() == id + 1);
  CHECK(flushed.status() == completion_status::flushed);
  CHECK(link.far_pair.query().state() == qp_state::error);
  reconnect(link);
  check_traffic(link);
}

/// Posts a request of zero bytes, which succeeds.
template <class Request>
void check_empty_succeeds(const window_link<>& link, const Request& request) {
  link.near_pair.post(request.signaled().id(4)).check();
  CHECK(next_success(link.near_end.queue).id() == 4);
  CHECK(link.near_pair.query().state() == qp_state::rts);
}

}  // namespace

TEST_CASE("A refused bind of type 2 completes although it is not signaled") {
  window_link link;
  const window_2 granting{link.domain};
  const auto grant = granting.prepare(link.region, 0, length);
  link.bind_to(grant);
  const auto again = granting.prepare(link.region, 0, length);
  link.far_pair.post(bind_window(again).id(1), send().id(2)).check();
  check_refused(link, 1, refused_bind_on(link.context));
  granting.restore_key(again.previous_key());
  link.far_pair.post(local_invalidate(grant).signaled()).check();
  next_success(link.far_end.queue);
  link.region.close();
}

TEST_CASE("A refused bind of type 1 completes although it is not signaled") {
  window_link link;
  const window_1 granting{link.domain};
  const memory_region unwilling{link.domain, link.far_end.bytes, every_right};
  const memory_region_ref claimed_rights{adopt, unwilling.native_handle(), window_rights,
                                         unwilling.device_address()};
  const auto failing = link.far_pair.bind(granting, claimed_rights, 0, length, {.id = 1});
  link.far_pair.post(send().id(2)).check();
  check_refused(link, 1, refused_bind_on(link.context));
  granting.restore_key(failing.previous_key());
  const auto bound = link.far_pair.bind(granting, link.region, 0, length);
  CHECK(bound.key() == failing.key());
  CHECK(link.write_to(bound.remote(), length) == completion_status::success);
}

TEST_CASE("A refused invalidation completes although it is not signaled") {
  window_link link;
  const window_2 granting{link.domain};
  const auto grant = granting.prepare(link.region, 0, length);
  link.bind_to(grant);
  const auto wrong = static_cast<rkey>(static_cast<std::uint32_t>(grant.key()) ^ 0x55);
  link.far_pair.post(local_invalidate(wrong).id(1), send().id(2)).check();
  check_refused(link, 1, refused_invalidation_on(link.context));
  CHECK(link.write_to(grant.remote(), length) == completion_status::success);
}

TEST_CASE("A local invalidation of a window of type 1 is refused and leaves it bound") {
  window_link link;
  const window_1 granting{link.domain};
  const auto bound = link.far_pair.bind(granting, link.region, 0, length);
  link.far_pair.post(local_invalidate(bound.key()).id(1), send().id(2)).check();
  check_refused(link, 1, refused_invalidation_on(link.context));
  CHECK(link.write_to(bound.remote(), length) == completion_status::success);
}

TEST_CASE("A local invalidation of a registered region is refused and leaves it valid") {
  window_link link;
  link.far_pair.post(local_invalidate(link.far_end.region.rkey()).id(1), send().id(2)).check();
  check_refused(link, 1, refused_invalidation_on(link.context));
  CHECK(link.write_to(link.far_end.remote(), length) == completion_status::success);
}

TEST_CASE("The device refuses to bind a window of type 2 to zero bytes") {
  window_link link;
  const window_2 granting{link.domain};
  const auto whole = granting.prepare(link.region, 0, length);
  ibv_mw_bind_info nothing = whole.native();
  nothing.length = 0;
  const window_binding<window_type::two, std::byte, access_right::remote_read> empty{
      adopt, whole.native_window(), nothing, whole.key(), whole.previous_key()};
  link.far_pair.post(bind_window(empty).id(1), send().id(2)).check();
  check_refused(link, 1, refused_bind_on(link.context));
  granting.restore_key(empty.previous_key());
  link.bind_to(whole);
  CHECK(link.write_to(whole.remote(), length) == completion_status::success);
}

TEST_CASE("Accesses of zero bytes go through a bound window") {
  window_link link;
  const window_2 granting{link.domain};
  const auto grant = granting.prepare(link.region, 0, length);
  link.bind_to(grant);
  check_empty_succeeds(link, read(grant.remote()));
  check_empty_succeeds(link, write(grant.remote()));
}

TEST_CASE("Accesses of zero bytes do not need the key of an invalidated window") {
  window_link link;
  const window_2 granting{link.domain};
  const auto grant = granting.prepare(link.region, 0, length);
  link.bind_to(grant);
  link.far_pair.post(local_invalidate(grant).signaled()).check();
  next_success(link.far_end.queue);
  check_empty_succeeds(link, read(grant.remote()));
  check_empty_succeeds(link, write(grant.remote()));
  link.far_pair.post(receive().id(3)).check();
  check_empty_succeeds(link, write_with_immediate(grant.remote(), immediate{7}));
  CHECK(next_success(link.far_end.queue).success().receive().immediate() == immediate{7});
  CHECK(link.write_to(grant.remote(), length) == completion_status::remote_access_error);
}
