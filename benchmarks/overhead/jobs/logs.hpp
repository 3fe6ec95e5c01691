// SPDX-License-Identifier: MIT
// A replicated log in a unit of its own, as programs have it: a record is written to three peers
// whose writes complete on one queue. Every 16th record is signaled, and a record is committed when
// two peers have it. In C that changes one kept request, in C that builds each request, and with
// adverb.
#pragma once

#include <array>
#include <cstdint>
#include <system_error>

#include "job.hpp"

namespace logs {

inline constexpr std::size_t peer_count = 3;
inline constexpr std::uint64_t signal_interval = 16;

/// The last signaled record of each peer. The id of a write is `record * peer_count + peer`.
class acknowledgements {
 public:
  void note(std::uint64_t id) noexcept { records_[id % peer_count] = id / peer_count; }
  /// Returns the last record that two peers have.
  [[nodiscard]] std::uint64_t committed() const noexcept;

 private:
  std::array<std::uint64_t, peer_count> records_{};
};

class c_log {
 public:
  explicit c_log(const overhead::c_objects& c) noexcept;

  // Return an errno, or 0.
  int append(std::uint64_t offset, std::uint32_t length) noexcept;
  int append_anew(std::uint64_t offset, std::uint32_t length) noexcept;

  [[nodiscard]] std::uint64_t committed() const noexcept { return committed_; }

 private:
  struct peer {
    ibv_qp* pair;
    std::uint64_t address;
    std::uint64_t size;
    std::uint32_t key;
  };

  int note_completions() noexcept;

  ibv_cq* queue_;
  std::uint64_t memory_;
  std::uint64_t memory_size_;
  std::uint32_t local_key_;
  std::array<peer, peer_count> peers_{};
  ibv_sge element_;
  ibv_send_wr request_;
  std::uint64_t record_ = 0;
  acknowledgements acknowledged_;
  std::uint64_t committed_ = 0;
};

class adverb_log {
 public:
  explicit adverb_log(const overhead::adverb_objects& my);

  // Each reports failures in another way.
  void append(std::uint64_t offset, std::uint32_t length);
  void append(std::uint64_t offset, std::uint32_t length, std::error_code& code);
  void append_with_policy(std::uint64_t offset, std::uint32_t length, adverb::on_failure policy);
  [[nodiscard]] std::error_code append_with_result(std::uint64_t offset, std::uint32_t length);
  /// Throws, and changes one kept request.
  void append_prepared(std::uint64_t offset, std::uint32_t length);

  [[nodiscard]] std::uint64_t committed() const noexcept { return committed_; }

 private:
  using remote_log = adverb::remote_buffer<std::byte, adverb::access_right::remote_write>;
  struct peer {
    adverb::queue_pair_ref<adverb::transport::rc> pair;
    remote_log memory;
  };

  /// Returns whether the record is signaled.
  [[nodiscard]] bool begin_record() noexcept { return ++record_ % signal_interval == 0; }
  [[nodiscard]] std::uint64_t id_of(std::size_t number) const noexcept {
    return record_ * peer_count + number;
  }
  template <class... Policy>
  void note_completions(Policy... policy);

  adverb::completion_queue_ref queue_;
  adverb::memory_region_ref region_;
  std::array<peer, peer_count> peers_;
  adverb::prepared_request<decltype(write(remote_log{}, adverb::const_buffer{}))> request_;
  std::uint64_t record_ = 0;
  acknowledgements acknowledged_;
  std::uint64_t committed_ = 0;
};

}  // namespace logs
