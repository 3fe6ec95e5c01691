// SPDX-License-Identifier: MIT
// Memory windows and several queue pairs of one domain: a window of type 2 belongs to the pair that
// bound it, a window of type 1 to the domain.
#include <optional>
#include <string_view>
#include <vector>

#include "memory_windows.hpp"
#include "random_rounds.hpp"
#include "refusals.hpp"

using namespace adverb;

namespace {

using window_1 = memory_window<window_type::one>;
using window_2 = memory_window<window_type::two>;

constexpr access_rights atomic_right = access_right::remote_atomic;
constexpr std::size_t length = 64;

/// Two pairs whose far one binds windows, and two more in the same domain.
struct two_links : window_link<> {
  more_pairs others{context, domain, domain};
  const std::uint64_t aligned = (8 - region.device_address() % 8) % 8;

  [[nodiscard]] mutable_buffer here() const { return near_end.region.slice(4096, length); }

  /// Posts a request of the second far pair and returns its status.
  template <class Request>
  [[nodiscard]] completion_status status_at_other_far(const Request& request) const {
    others.far_pair.post(request.signaled()).check();
    return next_completion(others.far_queue).status();
  }
  /// Binds a window of type 1 through one of the far pairs, and waits for it.
  template <class Pair>
  [[nodiscard]] auto bound_by(const Pair& pair, const completion_queue& queue,
                              const window_1& window, std::size_t offset) const {
    const auto bound = pair.bind(window, region, offset, length, {.signaled = true});
    next_success(queue);
    return bound;
  }
};

/// Binds a window of type 2 through the first pair, and expects that the peer of the second pair is
/// refused and that of the first is not.
template <class MakeRequest>
void check_other_pair_is_refused(const MakeRequest& request_for) {
  two_links link;
  link.far_end.fill(0, 4096, 5);
  const std::vector<std::byte> before = link.far_end.bytes;
  const window_2 granting{link.domain};
  const auto grant = granting.prepare < std::byte,
             access_right::remote_read | access_right::remote_write |
                 access_right::remote_atomic > (link.region, link.aligned, length);
  link.bind_to(grant);
  CHECK(link.others.status_of(request_for(link, grant.remote())) ==
        completion_status::remote_access_error);
  check_fails_soon(link.others.near_pair);
  check_fails_soon(link.others.far_pair);
  CHECK(link.far_end.bytes == before);
  CHECK(link.near_end.bytes == std::vector<std::byte>(link.near_end.bytes.size()));

  link.near_pair.post(request_for(link, grant.remote()).signaled()).check();
  next_success(link.near_end.queue);
}

}  // namespace

TEST_CASE("A window of type 2 refuses a read through another pair") {
  check_other_pair_is_refused(
      [](const two_links& link, const auto& remote) { return read(remote, link.here()); });
}

TEST_CASE("A window of type 2 refuses a write through another pair") {
  check_other_pair_is_refused(
      [](const two_links& link, const auto& remote) { return write(remote, link.here()); });
}

TEST_CASE("A window of type 2 refuses an atomic through another pair") {
  check_other_pair_is_refused([](const two_links& link, const auto& remote) {
    const remote_buffer<std::uint64_t, atomic_right> number{adopt, remote.address(), 1,
                                                            remote.key()};
    return fetch_and_add(number, 1, link.near_end.region.slice(4096, 8));
  });
}

TEST_CASE("A window of type 2 is not invalidated through another pair", "[optional]") {
  two_links link;
  const window_2 granting{link.domain};
  const auto grant = granting.prepare(link.region, 0, length);
  link.bind_to(grant);
  const completion_status status = link.status_at_other_far(local_invalidate(grant));
  if (holds(device_facts::every_pair_invalidates_windows, link.context)) {
    CHECK(status == completion_status::success);
    CHECK(link.write_to(grant.remote(), length) == completion_status::remote_access_error);
    return tell_skip("invalidation through another pair",
                     "Soft-RoCE accepts it from every pair of the device");
  }
  CHECK(status == refused_bind_on(link.context));
  CHECK(link.write_to(grant.remote(), length) == completion_status::success);
}

TEST_CASE("A window of type 2 is not invalidated by the peer of another pair", "[optional]") {
  two_links link;
  const window_2 granting{link.domain};
  const auto grant = granting.prepare(link.region, 0, length);
  link.bind_to(grant);
  link.others.far_pair.post(receive()).check();
  const completion_status sent = link.others.status_of(send_with_invalidate(grant.key()));
  const completion received = next_completion(link.others.far_queue);
  if (holds(device_facts::every_pair_invalidates_windows, link.context)) {
    CHECK(sent == completion_status::success);
    CHECK(received.success());
    CHECK(link.write_to(grant.remote(), length) == completion_status::remote_access_error);
    return tell_skip("invalidation by the peer of another pair",
                     "Soft-RoCE accepts it from every pair of the device");
  }
  CHECK(!received.success());
  CHECK(link.write_to(grant.remote(), length) == completion_status::success);
}

TEST_CASE("A bound window of type 2 cannot be bound through another pair") {
  two_links link;
  const window_2 granting{link.domain};
  const auto grant = granting.prepare(link.region, 0, length);
  link.bind_to(grant);
  const auto again = granting.prepare(link.region, 4096, length);
  CHECK(link.status_at_other_far(bind_window(again)) == refused_bind_on(link.context));
  granting.restore_key(again.previous_key());
  CHECK(link.write_to(grant.remote(), length) == completion_status::success);
  CHECK(link.far_end.holds(0, length, 5));
  link.far_pair.post(local_invalidate(grant).signaled()).check();
  next_success(link.far_end.queue);
  link.region.close();
}

TEST_CASE("An invalidated window of type 2 is bound through another pair and serves its peer") {
  two_links link;
  const window_2 granting{link.domain};
  const auto first = granting.prepare(link.region, 0, length);
  link.bind_to(first);
  link.far_pair.post(local_invalidate(first).signaled()).check();
  next_success(link.far_end.queue);
  const auto second = granting.prepare(link.region, 4096, length);
  CHECK(link.status_at_other_far(bind_window(second)) == completion_status::success);

  link.near_end.fill(4096, length, 3);
  CHECK(link.others.status_of(write(second.remote(), link.here())) == completion_status::success);
  CHECK(link.far_end.holds(4096, length, 3));
  CHECK(link.write_to(second.remote(), length) == completion_status::remote_access_error);
  CHECK(link.far_end.holds(4096, length, 3));
}

TEST_CASE("A window of type 1 serves the peers of every pair of its domain") {
  two_links link;
  const window_1 granting{link.domain};
  const auto bound = link.bound_by(link.far_pair, link.far_end.queue, granting, 0);
  CHECK(link.write_to(bound.remote(), length) == completion_status::success);
  CHECK(link.others.status_of(read(bound.remote(), link.here())) == completion_status::success);
  CHECK(link.near_end.holds(4096, length, 5));
}

TEST_CASE("A window of type 1 refuses the peer of a pair of another domain") {
  window_link link;
  const protection_domain other{link.context};
  const more_pairs others{link.context, link.domain, other};
  const window_1 granting{link.domain};
  const auto bound = link.far_pair.bind(granting, link.region, 0, length, {.signaled = true});
  next_success(link.far_end.queue);
  CHECK(others.status_of(write(bound.remote(), link.near_end.region.slice(0, length))) ==
        completion_status::remote_access_error);
  CHECK(link.write_to(bound.remote(), length) == completion_status::success);
}

TEST_CASE("A window of type 1 is bound again through another pair, which invalidates its old key") {
  two_links link;
  const window_1 granting{link.domain};
  const auto first = link.bound_by(link.far_pair, link.far_end.queue, granting, 0);
  const auto second = link.bound_by(link.others.far_pair, link.others.far_queue, granting, 4096);
  CHECK(second.previous_key() == first.key());
  CHECK(link.write_to(second.remote(), length) == completion_status::success);
  CHECK(link.far_end.holds(4096, length, 5));
  CHECK(link.write_to(first.remote(), length) == completion_status::remote_access_error);
  CHECK(link.others.status_of(write(first.remote(), link.here())) ==
        completion_status::remote_access_error);
  CHECK(link.far_end.bytes[0] == std::byte{0});
}

TEST_CASE("A window of type 1 is unbound through another pair") {
  two_links link;
  const window_1 granting{link.domain};
  const auto bound = link.bound_by(link.far_pair, link.far_end.queue, granting, 0);
  link.others.far_pair.unbind(bound, {.signaled = true});
  next_success(link.others.far_queue);
  CHECK(link.write_to(bound.remote(), length) == completion_status::remote_access_error);
  CHECK(link.far_end.bytes[0] == std::byte{0});
  link.region.close();
}

TEST_CASE("A window of type 1 outlives the pair that bound it") {
  window_link link;
  const window_1 granting{link.domain};
  std::optional<more_pairs> others{std::in_place, link.context, link.domain, link.domain};
  const auto bound = others->far_pair.bind(granting, link.region, 0, length, {.signaled = true});
  next_success(others->far_queue);
  others.reset();
  CHECK(link.write_to(bound.remote(), length) == completion_status::success);
  CHECK(link.far_end.holds(0, length, 5));
  link.far_pair.unbind(bound, {.signaled = true});
  next_success(link.far_end.queue);
  link.region.close();
}

TEST_CASE("A window of type 1 that a pair in ERR has bound serves the peers of other pairs") {
  two_links link;
  const window_1 granting{link.domain};
  const auto bound = link.bound_by(link.others.far_pair, link.others.far_queue, granting, 0);
  const auto failed = link.others.far_pair.error();
  CHECK(link.write_to(bound.remote(), length) == completion_status::success);
  const auto again = link.bound_by(link.far_pair, link.far_end.queue, granting, 4096);
  CHECK(link.write_to(again.remote(), length) == completion_status::success);
  CHECK(link.far_end.holds(4096, length, 5));
}

TEST_CASE("A window of type 2 that a pair in ERR has bound can be deallocated") {
  two_links link;
  window_2 granting{link.domain};
  const auto grant = granting.prepare(link.region, 0, length);
  CHECK(link.status_at_other_far(bind_window(grant)) == completion_status::success);
  const auto failed = link.others.far_pair.error();
  CHECK(link.write_to(grant.remote(), length) == completion_status::remote_access_error);
  CHECK(link.far_end.bytes[0] == std::byte{0});
  granting.close();
  link.region.close();
}

TEST_CASE("A bind through a pair in ERR is flushed and leaves the window usable") {
  two_links link;
  const window_2 granting{link.domain};
  const auto flushed = granting.prepare(link.region, 0, length);
  const auto failed = link.others.far_pair.error();
  failed.post(bind_window(flushed).id(6)).check();
  const completion done = next_completion(link.others.far_queue);
  CHECK(done.id() == 6);
  CHECK(done.status() == completion_status::flushed);
  granting.restore_key(flushed.previous_key());
  const auto grant = granting.prepare(link.region, 0, length);
  CHECK(grant.key() == flushed.key());
  link.bind_to(grant);
  CHECK(link.write_to(grant.remote(), length) == completion_status::success);
}

TEST_CASE("A window of type 2 is deallocated after the pair that bound it", "[optional]") {
  two_links link;
  const bool is_slow = holds(device_facts::bound_window_delays_end_of_pair, link.context);
  if (is_slow && !random_rounds::has_time())
    return tell_skip("a pair that is destroyed before its window",
                     "it takes 50 seconds on Soft-RoCE, and the kernel warns");
  window_2 granting{link.domain};
  const auto grant = granting.prepare(link.region, 0, length);
  CHECK(link.status_at_other_far(bind_window(grant)) == completion_status::success);
  link.others.far_pair.close();
  CHECK(!link.others.far_pair);
  CHECK(link.write_to(grant.remote(), length) == completion_status::remote_access_error);
  CHECK(link.far_end.bytes[0] == std::byte{0});
  failure why;
  link.region.close(why);
  if (is_slow) {
    CHECK(why.code() == std::errc::invalid_argument);
    CHECK(why.explanation().find("a memory window is bound to it") != std::string_view::npos);
  }
  granting.close();
  if (link.region) link.region.close();
  CHECK(!link.region);
}
