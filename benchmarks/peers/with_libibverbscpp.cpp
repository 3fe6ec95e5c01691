// SPDX-License-Identifier: MIT
// The jobs with libibverbscpp, as its example does them. Failures are exceptions. A slice of memory
// is not checked, and a completion queue has a channel.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>

#include <libibverbscpp.h>

#include "program.hpp"

namespace {

using ibv::AccessFlag;
using ibv::workcompletion::WorkCompletion;

std::array<std::byte, peers::block_count * peers::block_size> memory;

/// From the device to a queue pair in RTS, which is connected to itself.
struct objects {
  explicit objects(bool serves) {
    context = ibv::device::DeviceList()[0]->open();
    domain = context->allocProtectionDomain();
    channel = context->createCompletionEventChannel();
    queue = context->createCompletionQueue(128, nullptr, *channel, 0);
    region = domain->registerMemoryRegion(memory.data(), memory.size(),
                                          {AccessFlag::LOCAL_WRITE, AccessFlag::REMOTE_WRITE});
    create(serves);
    connect();
  }

  void create(bool serves) {
    ibv::queuepair::InitAttributes initial{};
    if (serves) {
      ibv::srq::InitAttributes shared_attributes{ibv::srq::Attributes{peers::receive_count, 1}};
      shared = domain->createSrq(shared_attributes);
      initial.setSharedReceiveQueue(*shared);
    }
    initial.setSendCompletionQueue(*queue);
    initial.setRecvCompletionQueue(*queue);
    ibv::queuepair::Capabilities capabilities{};
    capabilities.setMaxSendWr(128);
    capabilities.setMaxRecvWr(1);
    capabilities.setMaxSendSge(1);
    capabilities.setMaxRecvSge(1);
    capabilities.setMaxInlineData(64);
    initial.setCapabilities(capabilities);
    initial.setType(ibv::queuepair::Type::RC);
    pair = domain->createQueuePair(initial);
  }

  void connect() {
    using Mask = ibv::queuepair::AttrMask;
    using State = ibv::queuepair::State;
    const auto port = context->queryPort(1);
    const auto gid = context->queryGid(1, 0);
    ibv::queuepair::Attributes init{};
    init.setQpState(State::INIT);
    init.setPkeyIndex(0);
    init.setPortNum(1);
    init.setQpAccessFlags({AccessFlag::REMOTE_WRITE});
    pair->modify(init, {Mask::STATE, Mask::PKEY_INDEX, Mask::PORT, Mask::ACCESS_FLAGS});
    ibv::queuepair::Attributes receiving{};
    receiving.setQpState(State::RTR);
    receiving.setPathMtu(port.getActiveMtu());
    receiving.setDestQpNum(pair->getNum());
    receiving.setRqPsn(0);
    receiving.setMaxDestRdAtomic(1);
    receiving.setMinRnrTimer(12);
    ibv::GlobalRoute route{};
    route.setDgid(gid);
    route.setHopLimit(64);
    ibv::ah::Attributes address{};
    address.setIsGlobal(true);
    address.setPortNum(1);
    address.setGrh(route);
    receiving.setAhAttr(address);
    pair->modify(receiving, {Mask::STATE, Mask::AV, Mask::PATH_MTU, Mask::DEST_QPN, Mask::RQ_PSN,
                             Mask::MAX_DEST_RD_ATOMIC, Mask::MIN_RNR_TIMER});
    ibv::queuepair::Attributes sending{};
    sending.setQpState(State::RTS);
    sending.setSqPsn(0);
    sending.setMaxRdAtomic(1);
    sending.setTimeout(14);
    sending.setRetryCnt(7);
    sending.setRnrRetry(7);
    pair->modify(sending, {Mask::STATE, Mask::SQ_PSN, Mask::MAX_QP_RD_ATOMIC, Mask::TIMEOUT,
                           Mask::RETRY_CNT, Mask::RNR_RETRY});
  }

  std::unique_ptr<ibv::context::Context> context;
  std::unique_ptr<ibv::protectiondomain::ProtectionDomain> domain;
  std::unique_ptr<ibv::completions::CompletionEventChannel> channel;
  std::unique_ptr<ibv::completions::CompletionQueue> queue;
  std::unique_ptr<ibv::memoryregion::MemoryRegion> region;
  std::unique_ptr<ibv::srq::SharedReceiveQueue> shared;  // used by a server only
  std::unique_ptr<ibv::queuepair::QueuePair> pair;
};

class client {
 public:
  explicit client(const objects& all)
      : pair_{*all.pair},
        queue_{*all.queue},
        region_{*all.region},
        remote_{all.region->getRemoteAddress()} {}

  [[gnu::noinline]] void put(std::uint64_t offset, std::uint32_t length,
                             const peers::callback& done) {
    if (in_progress_ == peers::window_size) take_back();
    const std::uint32_t slot = next_++ % peers::window_size;
    callbacks_[slot] = done;
    ibv::workrequest::Simple<ibv::workrequest::Write> request;
    request.setId(slot);
    request.setLocalAddress(region_.getSlice(static_cast<std::uint32_t>(offset), length));
    request.setRemoteAddress(remote_.offset(offset));
    request.setSignaled();
    ibv::workrequest::SendWr* bad = nullptr;
    pair_.postSend(request, bad);
    ++in_progress_;
  }

  void finish() {
    while (in_progress_ > 0) take_back();
  }

 private:
  [[gnu::noinline]] void take_back() {
    std::array<WorkCompletion, peers::window_size> batch;
    const int count = queue_.poll(peers::window_size, batch.data());
    for (int index = 0; index < count; ++index) {
      const WorkCompletion& each = batch[static_cast<std::size_t>(index)];
      peers::require(each.isSuccessful(), "a put failed");
      const peers::callback& done = callbacks_[each.getId() % peers::window_size];
      done.function(done.argument);
      --in_progress_;
    }
  }

  ibv::queuepair::QueuePair& pair_;
  ibv::completions::CompletionQueue& queue_;
  ibv::memoryregion::MemoryRegion& region_;
  ibv::memoryregion::RemoteAddress remote_;
  std::uint32_t next_ = 0;
  std::uint32_t in_progress_ = 0;
  std::array<peers::callback, peers::window_size> callbacks_{};
};

class server {
 public:
  explicit server(const objects& all)
      : pair_{*all.pair}, queue_{*all.queue}, shared_{*all.shared}, region_{*all.region} {
    for (std::size_t index = 0; index < peers::batch_size; ++index) {
      refill_[index].setSge(&slices_[index], 1);
      if (index + 1 < peers::batch_size) refill_[index].setNext(&refill_[index + 1]);
    }
    for (std::size_t block = 0; block < peers::receive_count; ++block) give_back(block);
  }

  /// Polls once. Returns the number of requests that were answered.
  [[gnu::noinline]] std::uint64_t serve() {
    std::array<WorkCompletion, 16> batch;
    const int count = queue_.poll(16, batch.data());
    std::uint64_t answered = 0;
    for (int index = 0; index < count; ++index) {
      const WorkCompletion& each = batch[static_cast<std::size_t>(index)];
      peers::require(each.isSuccessful(), "a request failed");
      switch (each.getOpcode()) {
        case ibv::workcompletion::Opcode::RECV:
          answer(each);
          give_back(each.getId());
          ++answered;
          break;
        case ibv::workcompletion::Opcode::SEND: --in_progress_; break;
        default: peers::require(false, "an unexpected completion");
      }
    }
    return answered;
  }

 private:
  /// Sends the message back. The length of a completion has no accessor.
  void answer(const WorkCompletion& received) {
    const auto length = reinterpret_cast<const ibv_wc&>(received).byte_len;
    ibv::workrequest::Simple<ibv::workrequest::Send> request;
    request.setId(peers::receive_count);
    request.setLocalAddress(slice_of(received.getId(), length));
    request.setSignaled();
    request.setInline();
    ibv::workrequest::SendWr* bad = nullptr;
    pair_.postSend(request, bad);
    ++in_progress_;
  }

  void give_back(std::uint64_t block) {
    slices_[gathered_] = slice_of(block, peers::block_size);
    refill_[gathered_].setId(block);
    if (++gathered_ < peers::batch_size) return;
    gathered_ = 0;
    ibv::workrequest::Recv* bad = nullptr;
    shared_.postRecv(refill_[0], bad);
  }

  [[nodiscard]] ibv::memoryregion::Slice slice_of(std::uint64_t block, std::uint32_t length) {
    return region_.getSlice(static_cast<std::uint32_t>(block * peers::block_size), length);
  }

  ibv::queuepair::QueuePair& pair_;
  ibv::completions::CompletionQueue& queue_;
  ibv::srq::SharedReceiveQueue& shared_;
  ibv::memoryregion::MemoryRegion& region_;
  std::uint32_t in_progress_ = 0;
  std::size_t gathered_ = 0;
  std::array<ibv::memoryregion::Slice, peers::batch_size> slices_{};
  std::array<ibv::workrequest::Recv, peers::batch_size> refill_{};
};

}  // namespace

int main() try {
  const objects all{false};
  client writer{all};
  peers::count_puts("libibverbscpp", "put", writer);
  peers::missing("put, ranges checked", "no range checks");
  const objects serving{true};
  server answering{serving};
  peers::count_answers("libibverbscpp", answering);
  peers::count_set_up("libibverbscpp", [] { return objects{false}; });
  return 0;
} catch (const std::exception& failed) {
  std::fprintf(stderr, "%s\n", failed.what());
  return 1;
}
