// SPDX-License-Identifier: MIT
#include "logs.hpp"

#include <algorithm>
#include <cerrno>

namespace logs {

std::uint64_t acknowledgements::committed() const noexcept {
  const auto [one, two, three] = records_;
  return std::max(std::min(one, two), std::min(std::max(one, two), three));
}

c_log::c_log(const overhead::c_objects& c) noexcept
    : queue_{c.sends},
      memory_{c.memory},
      memory_size_{c.memory_size},
      local_key_{c.local_key},
      element_{0, 0, c.local_key},
      request_{} {
  peers_.fill({c.pair, c.remote_address, c.memory_size, c.remote_key});
  request_.sg_list = &element_;
  request_.num_sge = 1;
  request_.opcode = IBV_WR_RDMA_WRITE;
}

int c_log::append(std::uint64_t offset, std::uint32_t length) noexcept {
  if (offset > memory_size_ || length > memory_size_ - offset) return ERANGE;
  const bool is_signaled = ++record_ % signal_interval == 0;
  element_.addr = memory_ + offset;
  element_.length = length;
  request_.send_flags = is_signaled ? IBV_SEND_SIGNALED : 0;
  for (std::size_t number = 0; number < peer_count; ++number) {
    const peer& each = peers_[number];
    if (offset > each.size || length > each.size - offset) return ERANGE;
    request_.wr_id = record_ * peer_count + number;
    request_.wr.rdma.remote_addr = each.address + offset;
    request_.wr.rdma.rkey = each.key;
    ibv_send_wr* bad;
    const int result = ibv_post_send(each.pair, &request_, &bad);
    if (result != 0) return result;
  }
  return is_signaled ? note_completions() : 0;
}

int c_log::append_anew(std::uint64_t offset, std::uint32_t length) noexcept {
  if (offset > memory_size_ || length > memory_size_ - offset) return ERANGE;
  const bool is_signaled = ++record_ % signal_interval == 0;
  for (std::size_t number = 0; number < peer_count; ++number) {
    const peer& each = peers_[number];
    if (offset > each.size || length > each.size - offset) return ERANGE;
    ibv_sge element;
    element.addr = memory_ + offset;
    element.length = length;
    element.lkey = local_key_;
    ibv_send_wr request;
    request.wr_id = record_ * peer_count + number;
    request.next = nullptr;
    request.sg_list = &element;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = is_signaled ? IBV_SEND_SIGNALED : 0;
    request.wr.rdma.remote_addr = each.address + offset;
    request.wr.rdma.rkey = each.key;
    ibv_send_wr* bad;
    const int result = ibv_post_send(each.pair, &request, &bad);
    if (result != 0) return result;
  }
  return is_signaled ? note_completions() : 0;
}

int c_log::note_completions() noexcept {
  ibv_wc done[peer_count];
  const int count = ibv_poll_cq(queue_, peer_count, done);
  if (count < 0) return EIO;
  for (int index = 0; index < count; ++index) {
    if (done[index].status != IBV_WC_SUCCESS) return EIO;
    acknowledged_.note(done[index].wr_id);
  }
  committed_ = acknowledged_.committed();
  return 0;
}

adverb_log::adverb_log(const overhead::adverb_objects& my)
    : queue_{my.sends},
      region_{my.region},
      peers_{[&] {
        const peer each{
            my.pair, {adverb::adopt, my.remote.address(), my.remote.size_bytes(), my.remote.key()}};
        return std::array{each, each, each};
      }()},
      request_{write(peers_[0].memory, region_.const_slice(0, 0))} {}

void adverb_log::append(std::uint64_t offset, std::uint32_t length) {
  const adverb::const_buffer block = region_.const_slice(offset, length);
  const bool is_signaled = begin_record();
  for (std::size_t number = 0; number < peer_count; ++number) {
    const peer& each = peers_[number];
    const remote_log there = each.memory.slice(offset, length);
    each.pair.post(write(there, block).id(id_of(number)).signaled(is_signaled)).check();
  }
  if (is_signaled) note_completions();
}

void adverb_log::append(std::uint64_t offset, std::uint32_t length, std::error_code& code) {
  const adverb::const_buffer block = region_.const_slice(offset, length, code);
  if (code) return;
  const bool is_signaled = begin_record();
  for (std::size_t number = 0; number < peer_count; ++number) {
    const peer& each = peers_[number];
    const remote_log there = each.memory.slice(offset, length, code);
    if (code) return;
    each.pair.post(write(there, block).id(id_of(number)).signaled(is_signaled)).check(code);
    if (code) return;
  }
  if (is_signaled) note_completions(adverb::on_failure{code});
}

void adverb_log::append_with_policy(std::uint64_t offset, std::uint32_t length,
                                    adverb::on_failure policy) {
  const adverb::const_buffer block = region_.const_slice(offset, length, policy);
  if (policy.failed()) return;
  const bool is_signaled = begin_record();
  for (std::size_t number = 0; number < peer_count; ++number) {
    const peer& each = peers_[number];
    const remote_log there = each.memory.slice(offset, length, policy);
    if (policy.failed()) return;
    each.pair.post(write(there, block).id(id_of(number)).signaled(is_signaled)).check(policy);
    if (policy.failed()) return;
  }
  if (is_signaled) note_completions(policy);
}

std::error_code adverb_log::append_with_result(std::uint64_t offset, std::uint32_t length) {
  std::error_code code;
  const adverb::const_buffer block = region_.const_slice(offset, length, code);
  if (code) return code;
  const bool is_signaled = begin_record();
  for (std::size_t number = 0; number < peer_count; ++number) {
    const peer& each = peers_[number];
    const remote_log there = each.memory.slice(offset, length, code);
    if (code) return code;
    const auto result = each.pair.post(write(there, block).id(id_of(number)).signaled(is_signaled));
    if (!result) return result.code();
  }
  if (is_signaled) note_completions(adverb::on_failure{code});
  return code;
}

void adverb_log::append_prepared(std::uint64_t offset, std::uint32_t length) {
  request_.move_payload(region_.const_slice(offset, length));
  const bool is_signaled = begin_record();
  request_.signaled(is_signaled);
  for (std::size_t number = 0; number < peer_count; ++number) {
    const peer& each = peers_[number];
    request_.remote(each.memory.slice(offset, length)).id(id_of(number));
    each.pair.post(request_).check();
  }
  if (is_signaled) note_completions();
}

template <class... Policy>
void adverb_log::note_completions(Policy... policy) {
  std::array<adverb::completion, peer_count> batch;
  for (const adverb::completion& each : queue_.poll(batch, policy...)) {
    each.check(policy...);
    if ((policy.failed() || ...)) return;
    acknowledged_.note(each.id());
  }
  committed_ = acknowledged_.committed();
}

}  // namespace logs
