// SPDX-License-Identifier: MIT
// Requests whose calls the oldest headers of rdma-core lack.
#include <cstdint>

#include <adverb/adverb.hpp>

using namespace adverb;

using words = remote_buffer<std::uint64_t, access_right::remote_write | access_right::flush_global>;
using any_sender =
    extended_sender<transport::rc, send_operation::flush | send_operation::atomic_write>;

// Generic code finds out without failing.
static_assert(!can_post<any_sender, decltype(flush(words{}, placement::global))>);
static_assert(!can_post<any_sender, decltype(atomic_write(words{}, 1))>);

[[maybe_unused]] static void use(any_sender sender, words remote) {
  (void)sender;
  (void)remote;
#if ADVERB_MUST_FAIL == 1
  // case: flush
  // expect: a flush (ibv_wr_flush) needs headers of rdma-core 45 or later
  sender.post(flush(remote, placement::global)).check();

  // case: atomic_write
  // expect: an atomic write (ibv_wr_atomic_write) needs headers of rdma-core 44 or later
  sender.post(atomic_write(remote, 1)).check();
#endif
}
