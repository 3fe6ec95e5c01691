// SPDX-License-Identifier: MIT
// Queue pairs that cannot be attached to a multicast group, and too few bytes for a header.
#include <array>
#include <cstddef>
#include <span>

#include <adverb/adverb.hpp>

using namespace adverb;

[[maybe_unused]] static void attach(queue_pair<transport::ud>& pair,
                                    queue_pair<transport::ud, qp_state::init>& waiting,
                                    queue_pair<transport::raw_packet, qp_state::reset>& raw,
                                    queue_pair<transport::rc>& connected, const gid& group) {
  multicast_attachment attachment{pair, group};
  const multicast_attachment of_waiting{waiting, group, lid{0xc001}};
  const multicast_attachment of_raw{raw, group};
  const std::array<std::byte, grh_size> bytes{};
  const global_route_header header{bytes};
  const std::array<std::byte, 39> few{};
  (void)connected, (void)attachment, (void)header, (void)few;

#if ADVERB_MUST_FAIL == 1
  // case: attachment_of_rc
  // expect: only datagram (UD) and raw packet queue pairs can be attached to a multicast group
  const multicast_attachment of_connected{connected, group};

  // case: copy_of_attachment
  // expect(gcc): use of deleted function
  // expect(clang): call to implicitly-deleted copy constructor
  const multicast_attachment copy = attachment;

  // case: header_of_few_bytes
  // expect: no matching
  const global_route_header short_header{few};
#endif
}
