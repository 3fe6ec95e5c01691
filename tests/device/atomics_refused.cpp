// SPDX-License-Identifier: MIT
// Atomic operations that are refused: by the library, by this side, by the peer.
#include <array>

#include <support/reported.hpp>

#include "support.hpp"

using namespace adverb;

namespace {

constexpr access_rights atomic_right = access_right::remote_atomic;

/// One number there, and room for what it was here.
struct atomic_link : loopback<transport::rc> {
  using loopback::loopback;

  std::array<std::uint64_t, 2> there{40, 50};
  std::array<std::uint64_t, 2> here{};
  memory_region there_region{domain, there, every_right};
  memory_region here_region{domain, here};

  using remote_number = remote_buffer<std::uint64_t, atomic_right>;

  /// A number that the peer did not hand out.
  [[nodiscard]] static remote_number claimed(const memory_region& region,
                                             std::uint32_t key_change = 0,
                                             std::uint64_t offset = 0) {
    return {adopt, region.device_address() + offset, 1,
            static_cast<rkey>(static_cast<std::uint32_t>(region.rkey()) ^ key_change)};
  }
  [[nodiscard]] mutable_buffer result() const { return here_region.slice(0, 8); }
};

/// The operation fails so on the posting pair, stores no result, and leaves these numbers there: by
/// default it changes nothing.
template <class Request>
void check_refused(atomic_link& link, const Request& request, completion_status expected,
                   const std::array<std::uint64_t, 2>& there = {40, 50}) {
  link.near_pair.post(request.id(1)).check();
  const completion failed = next_completion(link.near_end.queue);
  CHECK(failed.id() == 1);
  CHECK(failed.status() == expected);
  check_fails_soon(link.near_pair);
  CHECK(link.there == there);
  CHECK(link.here == std::array<std::uint64_t, 2>{});
}

/// Both operations, each on a link of its own.
template <class MakeRemote>
void check_both_refused(const MakeRemote& remote_of, completion_status expected,
                        const loopback_options<transport::rc>& options = {}) {
  {
    atomic_link link{options};
    check_refused(link, fetch_and_add(remote_of(link), 1, link.result()), expected);
  }
  atomic_link link{options};
  check_refused(link,
                compare_and_swap(remote_of(link), {.expected = 40, .desired = 1}, link.result()),
                expected);
}

}  // namespace

TEST_CASE("An atomic with a wrong rkey is refused by the peer") {
  check_both_refused(
      [](const atomic_link& link) { return atomic_link::claimed(link.there_region, 0xff); },
      completion_status::remote_access_error);
}

TEST_CASE("An atomic beyond the region is refused by the peer") {
  check_both_refused(
      [](const atomic_link& link) { return atomic_link::claimed(link.there_region, 0, 16); },
      completion_status::remote_access_error);
}

TEST_CASE("An atomic through a pair without the right is refused by the peer") {
  loopback_options<transport::rc> options;
  options.far_grants = access_right::remote_read | access_right::remote_write;
  check_both_refused(
      [](const atomic_link& link) { return atomic_link::claimed(link.there_region); },
      completion_status::remote_invalid_request_error, options);
}

TEST_CASE("An atomic to a region without the right is refused by the peer") {
  atomic_link link;
  const memory_region region{link.domain, link.there,
                             access_right::local_write | access_right::remote_write};
  check_refused(link, fetch_and_add(atomic_link::claimed(region), 1, link.result()),
                completion_status::remote_access_error);
}

TEST_CASE("An atomic is refused whatever other rights its region has") {
  for (const access_rights rights :
       {access_rights{access_right::local_write},
        access_right::local_write | access_right::remote_read,
        access_right::local_write | access_right::remote_read | access_right::remote_write}) {
    CAPTURE(rights.bits());
    for (const bool swap : {false, true}) {
      atomic_link link;
      const memory_region region{link.domain, link.there, rights};
      const auto remote = atomic_link::claimed(region);
      if (swap)
        check_refused(link, compare_and_swap(remote, {.expected = 40, .desired = 1}, link.result()),
                      completion_status::remote_access_error);
      else
        check_refused(link, fetch_and_add(remote, 1, link.result()),
                      completion_status::remote_access_error);
    }
  }
}

TEST_CASE("An atomic to a region with no other remote right than atomics succeeds") {
  atomic_link link;
  const memory_region region{link.domain, link.there,
                             access_right::local_write | access_right::remote_atomic};
  link.near_pair.post(fetch_and_add(atomic_link::claimed(region), 1, link.result()).signaled())
      .check();
  next_success(link.near_end.queue);
  CHECK(link.there[0] == 41);
  CHECK(link.here[0] == 40);
}

TEST_CASE("An atomic fails if its result may not be written, although the peer performs it") {
  atomic_link link;
  const memory_region read_only{link.domain, link.here, access_right::remote_read};
  const mutable_buffer result{adopt,
                              {.addr = read_only.device_address(),
                               .length = 8,
                               .lkey = static_cast<std::uint32_t>(read_only.lkey())}};
  check_refused(link, fetch_and_add(atomic_link::claimed(link.there_region), 1, result),
                completion_status::local_protection_error, {41, 50});
}

TEST_CASE("An atomic to a region of another protection domain is refused by the peer") {
  atomic_link link;
  const protection_domain other{link.context};
  const memory_region region{other, link.there, every_right};
  check_refused(link, fetch_and_add(atomic_link::claimed(region), 1, link.result()),
                completion_status::remote_access_error);
}

TEST_CASE("An atomic with a wrong lkey is performed and fails with a local error") {
  atomic_link link;
  const mutable_buffer bogus{
      adopt,
      {.addr = link.here_region.device_address(),
       .length = 8,
       .lkey = static_cast<std::uint32_t>(link.here_region.lkey()) ^ 0xff00}};
  check_refused(link, fetch_and_add(atomic_link::claimed(link.there_region), 1, bogus),
                completion_status::local_protection_error, {41, 50});
}

TEST_CASE("A remote buffer fails to convert to an unaligned number") {
  const atomic_link link;
  const auto bytes = link.there_region.remote<std::byte, atomic_right>();
  const failure why = reported([&](auto&&... policy) {
    const auto number = bytes.slice(4, 8).as<std::uint64_t>(policy...);
    CHECK(number.empty());
  });
  CHECK(why.explanation() == "atomic operations need an address that is a multiple of 8");
}

TEST_CASE("A forged unaligned atomic is refused") {
  atomic_link link;
  const post_result result = link.near_pair.post(
      fetch_and_add(atomic_link::claimed(link.there_region, 0, 4), 1, link.result()).id(1));
  if (holds(device_facts::unaligned_atomic_is_refused_when_posted, link.context)) {
    CHECK(result.code() == std::errc::invalid_argument);
    CHECK(result.accepted() == 0U);
  } else {
    CHECK(next_completion(link.near_end.queue).status() ==
          completion_status::remote_invalid_request_error);
  }
  CHECK(link.there == std::array<std::uint64_t, 2>{40, 50});
}

TEST_CASE("A forged unaligned atomic is refused through the extended calls") {
  loopback_options<transport::rc> options;
  options.pair.send_operations = basic_operations(transport::rc);
  atomic_link link{options};
  const auto request =
      fetch_and_add(atomic_link::claimed(link.there_region, 0, 4), 1, link.result());
  link.near_pair.extended().post(request.signaled().id(1)).check();
  CHECK(next_completion(link.near_end.queue).status() ==
        completion_status::remote_invalid_request_error);
  check_fails_soon(link.near_pair);
  CHECK(link.there == std::array<std::uint64_t, 2>{40, 50});
}

TEST_CASE("A forged unaligned atomic with a wrong rkey is refused by the peer") {
  for (const bool swap : {false, true}) {
    CAPTURE(swap);
    loopback_options<transport::rc> options;
    options.pair.send_operations = basic_operations(transport::rc);
    const atomic_link link{options};
    const auto remote = atomic_link::claimed(link.there_region, 0xff, 4);
    if (swap)
      link.near_pair.extended()
          .post(compare_and_swap(remote, {.expected = 0, .desired = 1}, link.result()).id(1))
          .check();
    else
      link.near_pair.extended().post(fetch_and_add(remote, 1, link.result()).id(1)).check();
    const completion refused = next_completion(link.near_end.queue);
    CHECK(refused.id() == 1);
    // The specification leaves open which of the two flaws is found first.
    CHECK((refused.status() == completion_status::remote_access_error ||
           refused.status() == completion_status::remote_invalid_request_error));
    check_fails_soon(link.near_pair);
    CHECK(link.there == std::array<std::uint64_t, 2>{40, 50});
    CHECK(link.here == std::array<std::uint64_t, 2>{});
  }
}
