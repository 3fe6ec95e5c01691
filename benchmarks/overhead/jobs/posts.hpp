// SPDX-License-Identifier: MIT
// Functions that post, in a unit of their own, as programs have them: in C and with adverb.
#pragma once

#include <span>

#include "job.hpp"

namespace posts {

struct c_remote {
  std::uint64_t address;
  std::uint32_t key;
};

// Return whether the request was accepted.
bool write_value(ibv_qp* pair, std::uint64_t address, std::uint32_t key, ibv_sge block,
                 std::uint64_t id) noexcept;
bool write_reference(ibv_qp* pair, const c_remote* there, const ibv_sge* block,
                     std::uint64_t id) noexcept;
bool send_span(ibv_qp* pair, const ibv_sge* blocks, int count, std::uint64_t id) noexcept;
// The same, with structs that are zeroed first.
bool write_value_zeroed(ibv_qp* pair, std::uint64_t address, std::uint32_t key, ibv_sge block,
                        std::uint64_t id) noexcept;
bool write_reference_zeroed(ibv_qp* pair, const c_remote* there, const ibv_sge* block,
                            std::uint64_t id) noexcept;
bool send_span_zeroed(ibv_qp* pair, const ibv_sge* blocks, int count, std::uint64_t id) noexcept;

using pair_ref = adverb::queue_pair_ref<adverb::transport::rc>;
using remote_words = overhead::adverb_objects::remote_words;

bool write_value(pair_ref pair, remote_words there, adverb::const_buffer block, std::uint64_t id);
bool write_reference(pair_ref pair, const remote_words& there, const adverb::const_buffer& block,
                     std::uint64_t id);
bool send_span(pair_ref pair, std::span<const adverb::const_buffer> blocks, std::uint64_t id);

}  // namespace posts
