// SPDX-License-Identifier: MIT
// The headers with warnings that the library's own programs do not turn on: a program that includes
// them without -isystem may. The functions off the data path are defined here.
#define ADVERB_SEPARATE_COMPILATION
#include <array>
#include <cstdint>

#include <adverb/impl/src.hpp>
#include <adverb/ostream.hpp>
#include <adverb/pool/impl/src.hpp>
#if __has_include(<rdma/rdma_cma.h>)
#include <adverb/cm/impl/src.hpp>
// GCC warns of every coroutine.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
#include <adverb/async/impl/src.hpp>
#include <adverb/messages/impl/src.hpp>
#include <adverb/remote/impl/src.hpp>
#pragma GCC diagnostic pop
#endif

namespace {

using namespace adverb;

/// Code whose warnings appear only when it is instantiated.
[[maybe_unused]] void use(context_ref context, protection_domain_ref domain,
                          completion_queue_ref queue) {
  auto fresh = queue_pair<transport::rc>::create(domain, {.send_cq = queue, .recv_cq = queue});
  auto waiting = fresh.init().port(port_number{1}).apply();
  auto pair = waiting.connect(waiting.endpoint());
  std::array<std::uint64_t, 8> words{};
  const memory_region region{domain, words, access_right::local_write};
  pair.post(send(region.slice(0, 8)), read(remote_buffer<std::uint64_t>{}, region.slice(8, 8)))
      .check();
  const completion_queue own{context, 8};
  std::array<completion, 4> done{};
  for (const completion& each : own.poll(done)) each.check();
}

#if __has_include(<rdma/rdma_cma.h>)
[[maybe_unused]] bool use(cm::connection<>& connection, const const_buffer& words) {
  connection.queue_pair().post(send(words).signaled()).check();
  std::array<completion, 1> done{};
  return connection.wait(connection.send_cq(), done).empty();
}
#endif

}  // namespace
