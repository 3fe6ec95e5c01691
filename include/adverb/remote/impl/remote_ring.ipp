// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>

#include <adverb/remote/remote_ring.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void check_ring(const ring_options& options, on_failure policy) {
  policy.clear();
  if (options.slots != 0 && options.slots <= ring_place::most_slots && options.slot_size != 0)
    return;
  policy.report(EINVAL, "remote_ring", [&](failure_description& description) {
    description.explain(
        "a ring has 1 to 2^24 slots of at least 1 byte, and these are {} of {} bytes",
        {options.slots, options.slot_size});
  });
}

ADVERB_FUNC void check_entries(const ring_description& of_reader, std::size_t size,
                               std::size_t alignment, on_failure policy) {
  policy.clear();
  const bool has_size = of_reader.slot_size == size;
  if (has_size && of_reader.distance % alignment == 0) return;
  policy.report(EPROTO, "remote_ring::writer", [&](failure_description& description) {
    if (has_size)
      description.explain(
          "the slots of the reader are {} bytes apart, and entries of this program are aligned to "
          "{}",
          {of_reader.distance, alignment});
    else
      description.explain("the entries of the reader have {} bytes, and those of this program {}",
                          {of_reader.slot_size, size});
  });
}

ADVERB_FUNC void report_no_room(const ring_writer& of, on_failure policy) {
  policy.report(of.is_closed() ? EPIPE : ENOBUFS, "remote_ring::claim",
                [&](failure_description& description) {
                  if (of.is_closed()) {
                    description.explain("the ring is closed");
                    return;
                  }
                  const ring_writer_slots& slots = of.slots();
                  description.explain(
                      "no slot can be claimed: of {} slots the reader has {}, and {} are claimed; "
                      "wait for room",
                      {slots.size(), slots.in_flight(), slots.claimed()});
                });
}

ADVERB_FUNC void report_too_much_room(const ring_writer& of, std::uint32_t slots,
                                      on_failure policy) {
  policy.report(EINVAL, "remote_ring::room", [&](failure_description& description) {
    description.explain("the ring has {} slots, and these are {}", {of.slots().size(), slots});
  });
}

ADVERB_FUNC void report_long_entry(const ring_writer& of, std::size_t size, on_failure policy) {
  policy.report(EMSGSIZE, "remote_ring::claim", [&](failure_description& description) {
    description.explain("the entry has {} bytes, and a slot {}",
                        {size, of.description().slot_size});
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail
