// SPDX-License-Identifier: MIT
// Requests that are wrong on both sides: which status the requester reports, and what happens at
// the peer.
#include <array>

#include "refusals.hpp"

using namespace adverb;

namespace {

enum class operation { write, read, fetch_and_add, compare_and_swap };
enum class flaw { wrong_key, outside };

struct atomic_ends : loopback<transport::rc> {
  /// Posts the operation with a local and a remote side that are both wrong.
  void post(operation wanted, flaw local, flaw remote) const {
    const mutable_buffer here = local == flaw::wrong_key
                                    ? forged(near_end.region, 0xff00)
                                    : forged(near_end.region, 0, near_end.bytes.size());
    const std::uint64_t offset = remote == flaw::outside ? far_end.bytes.size() : 0;
    const std::uint32_t change = remote == flaw::wrong_key ? 0xff : 0;
    const auto number =
        claimed<access_right::remote_atomic, std::uint64_t>(far_end.region, offset, change);
    switch (wanted) {
      case operation::write:
        return near_pair
            .post(write(claimed<access_right::remote_write>(far_end.region, offset, change), here)
                      .id(1))
            .check();
      case operation::read:
        return near_pair
            .post(read(claimed<access_right::remote_read>(far_end.region, offset, change), here)
                      .id(1))
            .check();
      case operation::fetch_and_add:
        return near_pair.post(fetch_and_add(number, 1, here).id(1)).check();
      case operation::compare_and_swap:
        return near_pair.post(compare_and_swap(number, {.expected = 0, .desired = 1}, here).id(1))
            .check();
    }
  }
};

}  // namespace

TEST_CASE(
    "The local error of a write, and the remote error of others, wins if both sides are wrong") {
  for (const operation wanted :
       {operation::write, operation::read, operation::fetch_and_add, operation::compare_and_swap}) {
    for (const flaw local : {flaw::wrong_key, flaw::outside}) {
      for (const flaw remote : {flaw::wrong_key, flaw::outside}) {
        CAPTURE(wanted, local, remote);
        atomic_ends link;
        link.post(wanted, local, remote);
        const completion failed = next_completion(link.near_end.queue);
        CHECK(failed.id() == 1);
        const completion_status local_status = local == flaw::wrong_key
                                                   ? refused_key_on(link.context)
                                                   : refused_buffer_on(link.context);
        CHECK(failed.status() ==
              (wanted == operation::write ? local_status : completion_status::remote_access_error));
        check_fails_soon(link.near_pair);
        // The peer has seen only requests that were sent.
        if (wanted == operation::write)
          CHECK(link.far_pair.query().state() == qp_state::rts);
        else
          check_fails_soon(link.far_pair);
        CHECK(link.far_end.bytes == std::vector<std::byte>(link.far_end.bytes.size()));
        CHECK(link.near_end.bytes == link.far_end.bytes);
        reconnect(link);
        check_traffic(link);
      }
    }
  }
}
