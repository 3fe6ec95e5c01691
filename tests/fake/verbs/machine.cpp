// SPDX-License-Identifier: MIT
// The state of the fake, and how a call is recorded and made to fail.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include <cxxabi.h>
#include <unistd.h>

#include "state.hpp"

namespace fake {
namespace {

machine* running = nullptr;

ibv_gid_entry entry(ibv_gid gid, std::uint32_t index, std::uint32_t type) {
  ibv_gid_entry made{};
  made.gid = gid;
  made.gid_index = index;
  made.port_num = 1;
  made.gid_type = type;
  made.ndev_ifindex = 2;
  return made;
}

}  // namespace

ibv_gid ipv4_gid(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  return {.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d}};
}

device roce_device(std::string name) {
  device made{};
  made.name = std::move(name);

  ibv_device_attr& limits = made.attributes;
  std::strcpy(limits.fw_ver, "1.2.3");
  limits.node_guid = 0x0100'0000'0000'0002;
  limits.phys_port_cnt = 1;
  limits.max_mr_size = std::uint64_t{1} << 40;
  limits.max_qp = 1024;
  limits.max_qp_wr = 4096;
  limits.max_sge = 16;
  limits.max_sge_rd = 16;
  limits.max_cq = 1024;
  limits.max_cqe = 32768;
  limits.max_mr = 1024;
  limits.max_mw = 512;
  limits.device_cap_flags = IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
  limits.max_pd = 1024;
  limits.max_ah = 1024;
  limits.max_qp_rd_atom = 16;
  limits.max_qp_init_rd_atom = 16;
  limits.max_res_rd_atom = 4096;
  limits.atomic_cap = IBV_ATOMIC_HCA;
  limits.max_pkeys = 1;
  limits.max_srq = 256;
  limits.max_srq_wr = 2048;
  limits.max_srq_sge = 8;
  limits.device_cap_flags |= IBV_DEVICE_SRQ_RESIZE;
  made.extended.max_dm_size = 1U << 20;
  made.extended.odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
  made.extended.tm_caps = {.max_rndv_hdr_size = 64,
                           .max_num_tags = 127,
                           .flags = IBV_TM_CAP_RC,
                           .max_ops = 64,
                           .max_sge = 1};

  port only{};
  only.attributes.state = IBV_PORT_ACTIVE;
  only.attributes.max_mtu = IBV_MTU_4096;
  only.attributes.active_mtu = IBV_MTU_1024;
  only.attributes.gid_tbl_len = 8;
  only.attributes.pkey_tbl_len = 1;
  only.attributes.max_msg_sz = 1U << 30;
  only.attributes.link_layer = IBV_LINK_LAYER_ETHERNET;
  const ibv_gid link_local{
      .raw = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x50, 0x54, 0, 0xff, 0xfe, 0x12, 0x34, 0x56}};
  only.gids = {entry(link_local, 0, IBV_GID_TYPE_ROCE_V1),
               entry(link_local, 1, IBV_GID_TYPE_ROCE_V2),
               entry(ipv4_gid(10, 0, 0, 1), 2, IBV_GID_TYPE_ROCE_V2)};
  only.pkeys = {0xffff};
  made.ports.push_back(std::move(only));
  return made;
}

machine::machine() : state_{std::make_unique<state>()} {
  if (running != nullptr) {
    std::fputs("fake: there is another fake::machine already\n", stderr);
    std::abort();
  }
  running = this;
  devices.push_back(roce_device("fake0"));
}

machine::~machine() {
  for (auto& [native, leaked] : state_->channels) {
    ::close(leaked->native.fd);
    ::close(leaked->writing_end);
  }
  for (auto& [native, leaked] : state_->contexts) close_async_events(*leaked);
  running = nullptr;
}

const std::vector<call>& machine::log() const { return state_->log; }
void machine::forget_calls() { state_->log.clear(); }

std::size_t machine::live_objects() const {
  return state_->lists.size() + state_->contexts.size() + state_->domains.size() +
         state_->regions.size() + state_->channels.size() + state_->queues.size() +
         state_->address_handles.size() + state_->pairs.size() + state_->windows.size() +
         state_->shared_receive_queues.size() + state_->xrc_domains.size() +
         state_->work_queues.size() + state_->indirection_tables.size() + state_->flows.size() +
         state_->flow_actions.size() + state_->counters.size() + state_->thread_domains.size() +
         state_->device_memories.size();
}

void machine::fail_kind(std::type_index kind, int error, std::size_t nth) {
  state_->failures.insert_or_assign(kind, state::planned_failure{nth, error});
}
void machine::fail_any(int error, std::size_t nth) {
  fail_by([error, nth](const call&) mutable { return --nth == 0 ? error : 0; });
}
void machine::fail_by(std::function<int(const call&)> choose) {
  state_->choose_failure = std::move(choose);
}
void machine::fail_nothing() {
  state_->failures.clear();
  state_->choose_failure = nullptr;
}

void machine::answer_post(post_answer answer) { state_->post_answers.push_back(answer); }
void machine::set_before(std::type_index kind, std::function<void()> action) {
  state_->actions.insert_or_assign(kind, std::move(action));
}

std::size_t machine::unacknowledged(ibv_cq* queue) const {
  const completion_queue& found = state_->queues.at(queue);
  return found.taken_events - found.acknowledged_events;
}

const ibv_qp_attr& machine::attributes(ibv_qp* pair) const {
  return state_->pairs.at(pair).attributes;
}

machine& current() {
  if (running == nullptr) {
    std::fputs("fake: a verb was called, and there is no fake::machine\n", stderr);
    std::abort();
  }
  return *running;
}

std::string line_of(std::type_index kind, const fields& arguments) {
  std::string text = arguments.text();
  if (arguments.is_named()) return text;
  const std::unique_ptr<char, decltype(&std::free)> type{
      abi::__cxa_demangle(kind.name(), nullptr, nullptr, nullptr), &std::free};
  const std::string_view whole = type.get();
  const std::string_view name = whole.substr(whole.rfind(':') + 1);
  const std::string_view library = name.starts_with("rdma_") ? "" : "ibv_";
  const std::string_view separator = text.empty() || text.starts_with(' ') ? "" : " ";
  return std::string{library}.append(name).append(separator).append(text);
}

void record(call what) {
  const std::type_index kind = what.kind();
  machine::state& state = current().internals();
  state.log.push_back(std::move(what));
  // A copy: the action may replace itself.
  if (const auto found = state.actions.find(kind); found != state.actions.end())
    if (const auto action = found->second) action();
}

int errno_of(call what) {
  const std::type_index kind = what.kind();
  record(what);
  machine::state& state = current().internals();
  int error = 0;
  if (const auto found = state.failures.find(kind);
      found != state.failures.end() && --found->second.nth == 0) {
    error = found->second.error;
    state.failures.erase(found);
  }
  if (state.choose_failure)
    if (const int chosen = state.choose_failure(what)) error = chosen;
  return error;
}

device& device_of(const ibv_context* context) {
  machine& machine = current();
  return machine.devices.at(machine.internals().contexts.at(context).device);
}

port* port_of(const ibv_context* context, std::uint32_t number) {
  device& device = device_of(context);
  return number >= 1 && number <= device.ports.size() ? &device.ports[number - 1] : nullptr;
}

post_answer next_post_answer() {
  auto& answers = current().internals().post_answers;
  if (answers.empty()) return {};
  const post_answer answer = answers.front();
  answers.pop_front();
  return answer;
}

}  // namespace fake
