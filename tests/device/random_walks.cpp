// SPDX-License-Identifier: MIT
// Random walks over the control path and over traffic, beside models of what must hold. A round is
// made by its seed: see random_rounds.hpp. tests/device/random_ends --walks runs them for minutes.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iostream>
#include <list>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "cm/resources.hpp"
#include "in_threads.hpp"
#include "random_rounds.hpp"
#include "support.hpp"

using namespace adverb;
using namespace std::chrono_literals;

namespace {

namespace random_walks {

using random_rounds::chance;

struct tally {
  int rounds = 0;
  std::uint64_t steps = 0;
  std::uint64_t refused = 0;
  std::uint64_t failed_rounds = 0;

  [[nodiscard]] bool is_right() const { return failed_rounds == 0; }
  tally& operator+=(const tally& other) {
    steps += other.steps;
    refused += other.refused;
    failed_rounds += other.failed_rounds;
    return *this;
  }
};

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error{what};
}

/// An object and the number of its children.
template <class Object>
struct node {
  Object object;
  int children = 0;
};

/// Objects of one kind. A list, so that they stay where they are.
template <class Object>
using nodes = std::list<node<Object>>;

template <class Object>
[[nodiscard]] node<Object>& any_of(nodes<Object>& all, chance& random) {
  return *std::next(all.begin(), random.below(static_cast<std::uint32_t>(all.size())));
}

/// A walk over the objects of one device: creates, changes and destroys them. The model counts the
/// children of each object and has the attributes of each pair.
class control_walk {
 public:
  explicit control_walk(std::uint32_t seed) : random_{seed} {}

  [[nodiscard]] tally walk(int steps) {
    for (; steps > 0; --steps, ++tally_.steps) step();
    clear();
    return tally_;
  }

 private:
  using any_pair = queue_pair<transport::rc, qp_state::any>;

  /// A pair, its parents, and the attributes that it must have.
  struct pair_model {
    any_pair pair;
    node<protection_domain>* domain;
    node<completion_queue>* queue;
    qp_state state = qp_state::reset;
    access_rights allowed{};
    adverb::psn psn{};
    mtu path_mtu{};
    std::uint8_t retries = 0;
  };
  struct region_model {
    memory_region region;
    node<protection_domain>* domain;
  };
  struct channel_user {
    node<completion_queue>* queue;
    node<completion_channel>* channel;
  };

  void step() {
    switch (random_.below(12)) {
      case 0: return create_domain();
      case 1: return create_channel();
      case 2:
      case 3: return create_queue();
      case 4: return create_region();
      case 5:
      case 6: return create_pair();
      case 7: return close_one(domains_);
      case 8: return close_one(channels_);
      case 9: return close_queue();
      case 10: return random_.one_in(2) ? close_region() : close_pair();
      default: return change_pair();
    }
  }

  void create_domain() {
    if (domains_.size() < 6) domains_.push_back({protection_domain{device_}});
  }
  void create_channel() {
    if (channels_.size() < 4) channels_.push_back({completion_channel{device_}});
  }
  void create_queue() {
    if (queues_.size() == 8) return;
    const bool with_channel = !channels_.empty() && random_.one_in(2);
    node<completion_channel>* const channel = with_channel ? &any_of(channels_, random_) : nullptr;
    completion_queue_options options;
    if (channel != nullptr) options.channel = channel->object;
    queues_.push_back({completion_queue{device_, 1 + random_.below(64), options}});
    if (channel != nullptr) {
      ++channel->children;
      channel_users_.push_back({&queues_.back(), channel});
    }
  }
  void create_region() {
    if (domains_.empty() || regions_.size() == 8) return;
    node<protection_domain>& domain = any_of(domains_, random_);
    const std::size_t offset = random_.below(4096);
    const std::size_t length = 1 + random_.below(4096);
    regions_.push_back(
        {memory_region{domain.object, std::span{bytes_}.subspan(offset, length), every_right},
         &domain});
    ++domain.children;
    require(regions_.back().region.size() == length, "the size of a region");
  }
  void create_pair() {
    if (domains_.empty() || queues_.empty() || pairs_.size() == 12) return;
    node<protection_domain>& domain = any_of(domains_, random_);
    node<completion_queue>& queue = any_of(queues_, random_);
    pairs_.push_back(
        {queue_pair<transport::rc>::create(domain.object, {.cq = queue.object,
                                                           .max_send_wr = 1 + random_.below(16),
                                                           .max_recv_wr = 1 + random_.below(16)}),
         &domain, &queue});
    ++domain.children;
    ++queue.children;
  }

  /// Closes an object, which must fail with EBUSY if it has children: in the library and, past it,
  /// in the kernel.
  template <class Object>
  bool close(node<Object>& one) {
    if (one.children > 0 && random_.one_in(2)) {
      require(destroy_natively(one.object.native_handle()) == EBUSY, "a native destroy in use");
      ++tally_.refused;
      return false;
    }
    failure why;
    one.object.close(why);
    require((one.children > 0) == (why.code() == std::errc::device_or_resource_busy),
            "closing with children fails with EBUSY, and without succeeds");
    require(static_cast<bool>(one.object) == (one.children > 0), "a closed object is empty");
    if (one.children > 0) ++tally_.refused;
    return one.children == 0;
  }
  static int destroy_natively(ibv_pd* domain) { return ibv_dealloc_pd(domain); }
  static int destroy_natively(ibv_cq* queue) { return ibv_destroy_cq(queue); }
  static int destroy_natively(ibv_comp_channel* channel) {
    return ibv_destroy_comp_channel(channel);
  }

  template <class Object>
  void close_one(nodes<Object>& all) {
    if (all.empty()) return;
    node<Object>& one = any_of(all, random_);
    if (close(one)) all.remove_if([&](const node<Object>& each) { return &each == &one; });
  }
  void close_queue() {
    if (queues_.empty()) return;
    node<completion_queue>& one = any_of(queues_, random_);
    if (!close(one)) return;
    const auto user = std::ranges::find(channel_users_, &one, &channel_user::queue);
    if (user != channel_users_.end()) {
      --user->channel->children;
      channel_users_.erase(user);
    }
    queues_.remove_if([&](const auto& each) { return &each == &one; });
  }
  void close_region() {
    if (regions_.empty()) return;
    const auto one = regions_.begin() + random_.below(static_cast<std::uint32_t>(regions_.size()));
    one->region.close();
    --one->domain->children;
    regions_.erase(one);
  }
  void close_pair() {
    if (pairs_.empty()) return;
    const auto one = pairs_.begin() + random_.below(static_cast<std::uint32_t>(pairs_.size()));
    one->pair.close();
    --one->domain->children;
    --one->queue->children;
    pairs_.erase(one);
  }

  /// Moves a pair to a random state that its state allows, and queries it.
  void change_pair() {
    if (pairs_.empty()) return;
    pair_model& one = pairs_[random_.below(static_cast<std::uint32_t>(pairs_.size()))];
    switch (random_.below(5)) {
      case 0:
        one.pair = one.pair.reset();
        one.state = qp_state::reset;
        break;
      case 1: to_error(one); break;
      default: forward(one);
    }
    const queue_pair_attributes now = one.pair.query();
    require(now.state() == one.state, "the state of a pair");
    if (one.state == qp_state::reset || one.state == qp_state::error) return;
    require(now.allowed() == one.allowed, "the rights of a pair");
    if (one.state == qp_state::init) return;
    require(now.path_mtu() == one.path_mtu, "the path MTU of a pair");
    require(now.rq_psn() == one.psn, "the PSN of the peer");
    require(now.remote_queue_pair() == one.pair.number(), "the number of the peer");
    if (one.state == qp_state::rtr) return;
    require(now.retry_count() == one.retries, "the retries of a pair");
    require(now.sq_psn() == one.psn, "the PSN of a pair");
  }
  void to_error(pair_model& one) {
    failure why;
    auto failed = one.pair.error(why);
    // Linux refuses it in RESET alone.
    require((one.state == qp_state::reset) == static_cast<bool>(why), "the transition to ERR");
    if (why) {
      ++tally_.refused;
      return;
    }
    one.pair = std::move(failed);
    one.state = qp_state::error;
  }
  void forward(pair_model& one) {
    if (one.state == qp_state::reset) {
      for (const access_right each :
           {access_right::remote_read, access_right::remote_write, access_right::remote_atomic}) {
        if (random_.one_in(2))
          one.allowed |= each;
        else
          one.allowed -= each;
      }
      one.psn = psn{random_.below(1U << 24U)};
      auto fresh = one.pair.assume<qp_state::reset>();
      one.pair = fresh.init().port(first_port).allow(one.allowed).psn(one.psn).apply();
      one.state = qp_state::init;
    } else if (one.state == qp_state::init) {
      auto waiting = one.pair.assume<qp_state::init>();
      one.path_mtu = mtu{static_cast<std::uint8_t>(1 + random_.below(5))};
      const endpoint itself = waiting.endpoint();
      one.pair = waiting.rtr().remote(itself).path_mtu(one.path_mtu).apply();
      one.state = qp_state::rtr;
    } else if (one.state == qp_state::rtr) {
      auto receiving = one.pair.assume<qp_state::rtr>();
      one.retries = static_cast<std::uint8_t>(random_.below(8));
      one.pair = receiving.rts().retry_count(one.retries).apply();
      one.state = qp_state::rts;
    }
  }

  void clear() {
    while (!pairs_.empty()) close_pair();
    while (!regions_.empty()) close_region();
    while (!queues_.empty()) close_queue();
    while (!channels_.empty()) close_one(channels_);
    while (!domains_.empty()) close_one(domains_);
    device_.close();
  }

  chance random_;
  tally tally_;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(8192);
  context device_ = open_device();
  nodes<protection_domain> domains_;
  nodes<completion_channel> channels_;
  nodes<completion_queue> queues_;
  std::vector<channel_user> channel_users_;
  std::vector<region_model> regions_;
  std::vector<pair_model> pairs_;
};

/// The parts of the memory of each side. The requests of one batch never use a byte twice in a way
/// that depends on their order, except through the peer, which is ordered.
enum : std::size_t { sources = 0, results = 8192, targets = 16384, receives = 24576, part = 8192 };

/// A completion that must come.
struct expected {
  std::uint64_t id;
  std::uint32_t length;
  std::optional<immediate> data;
};

/// A walk over the traffic between two sides. In each batch both sides post up to eight requests.
template <transport Transport, bool Extended>
class traffic_walk {
 public:
  explicit traffic_walk(std::uint32_t seed) : random_{seed}, link_{options(random_)} {
    for (side* each : {&near_, &far_}) {
      for (std::byte& one : each->end->bytes) one = static_cast<std::byte>(random_.below(256));
      each->model = each->end->bytes;
    }
  }

  [[nodiscard]] tally walk(int batches) {
    for (; batches > 0; --batches) {
      post_batch(near_, far_, link_.near_pair, link_.far_pair);
      post_batch(far_, near_, link_.far_pair, link_.near_pair);
      for (side* each : {&near_, &far_}) take_completions(*each);
      for (side* each : {&near_, &far_})
        require(each->end->bytes == each->model, "the memory of a side");
    }
    return tally_;
  }

 private:
  struct side {
    loopback_end* end;
    endpoint itself;
    std::vector<std::byte> model{};
    std::deque<expected> sends{};
    std::deque<expected> arrivals{};
  };
  static constexpr std::uint64_t is_receive = std::uint64_t{1} << 63U;
  static constexpr std::size_t header = Transport == transport::ud ? grh_size : 0;

  [[nodiscard]] static loopback_options<Transport> options(chance& random) {
    loopback_options<Transport> chosen;
    if (Extended) chosen.pair.send_operations = basic_operations(Transport);
    if constexpr (Transport != transport::ud)
      chosen.connect.path_mtu = mtu{static_cast<std::uint8_t>(1 + random.below(5))};
    return chosen;
  }

  template <class Request>
  void post(const queue_pair<Transport>& pair, const side& peer, const Request& request) {
    const auto posted = [&] {
      if constexpr (Transport == transport::ud)
        return request.to({way_, peer.itself.number, peer.itself.queue_key});
      else
        return request;
    }();
    if constexpr (Extended)
      pair.extended().post(posted).check();
    else
      pair.post(posted).check();
    ++tally_.steps;
  }

  /// Posts the receive for a message of this length, which the model then has received.
  void receive_at(side& peer, const queue_pair<Transport>& pair, std::size_t slot,
                  std::size_t length, const side& from, std::size_t source,
                  std::optional<immediate> data) {
    const std::size_t offset = receives + slot * 1024;
    const std::uint64_t id = is_receive | random_.below(1U << 30U);
    const std::size_t room = header + length + random_.below(32);
    pair.post(receive(peer.end->region.slice(offset, room)).id(id)).check();
    peer.arrivals.push_back({id, static_cast<std::uint32_t>(header + length), data});
    copy(peer, offset + header, from, source, length);
    if constexpr (header != 0) headers_.push_back({&peer, offset});
  }
  static void copy(side& to, std::size_t offset, const side& from, std::size_t source,
                   std::size_t length) {
    std::copy_n(from.model.begin() + static_cast<std::ptrdiff_t>(source), length,
                to.model.begin() + static_cast<std::ptrdiff_t>(offset));
  }

  void post_batch(side& from, side& peer, const queue_pair<Transport>& pair,
                  const queue_pair<Transport>& peer_pair) {
    const std::size_t count = 1 + random_.below(8);
    bool reads_before = false;
    for (std::size_t each = 0; each < count; ++each) {
      const std::size_t length = random_.below(900);
      const std::size_t source = sources + random_.below(part - 900);
      const std::size_t target = targets + random_.below(part - 900);
      const std::uint64_t id = random_.below(1U << 30U);
      const bool is_signaled = each + 1 == count || random_.one_in(2);
      const auto buffer = from.end->region.slice(source, length);
      const auto far = [&](std::size_t offset, std::size_t size) {
        return peer.end->remote().slice(offset, size);
      };
      const auto finish = [&](auto request) {
        request = request.id(id);
        if (is_signaled) {
          request = request.signaled();
          from.sends.push_back({id, 0, {}});
        }
        // A peer may answer a read after it has executed a later request.
        if constexpr (Transport == transport::rc)
          if (reads_before || random_.one_in(4)) return post(pair, peer, request.fenced());
        post(pair, peer, request);
      };
      const immediate data{random_.below(1U << 31U)};
      const std::uint32_t kinds = Transport == transport::rc   ? 7
                                  : Transport == transport::uc ? 4
                                                               : 2;
      switch (random_.below(kinds)) {
        case 0:
          receive_at(peer, peer_pair, each, length, from, source, std::nullopt);
          finish(send(buffer));
          break;
        case 1:
          receive_at(peer, peer_pair, each, length, from, source, data);
          finish(send_with_immediate(data, buffer));
          break;
        case 2:
          if constexpr (Transport != transport::ud) {
            copy(peer, target, from, source, length);
            finish(write(far(target, length), buffer));
          }
          break;
        case 3:
          if constexpr (Transport != transport::ud) {
            const std::uint64_t received = is_receive | random_.below(1U << 30U);
            peer_pair.post(receive().id(received)).check();
            peer.arrivals.push_back({received, static_cast<std::uint32_t>(length), data});
            copy(peer, target, from, source, length);
            finish(write_with_immediate(far(target, length), data, buffer));
          }
          break;
        case 4:
          if constexpr (Transport == transport::rc) {
            const std::size_t result = results + each * 1024;
            copy(from, result, peer, target, length);
            finish(read(far(target, length), from.end->region.slice(result, length)));
            reads_before = true;
          }
          break;
        default:
          if constexpr (Transport == transport::rc) {
            const std::size_t result = results + each * 1024;
            const std::size_t counter = targets + 8 * random_.below(part / 8);
            std::uint64_t old = 0;
            std::memcpy(&old, &peer.model[counter], 8);
            copy(from, result, peer, counter, 8);
            const remote_buffer<std::uint64_t, access_right::remote_atomic> number{
                adopt, peer.end->region.device_address() + counter, 8, peer.end->region.rkey()};
            const auto into = from.end->region.slice(result, 8);
            if (random_.one_in(2)) {
              const std::uint64_t added = random_.seed();
              const std::uint64_t sum = old + added;
              std::memcpy(&peer.model[counter], &sum, 8);
              finish(fetch_and_add(number, added, into));
            } else {
              const std::uint64_t wanted = random_.one_in(2) ? old : old + 1;
              const std::uint64_t other = random_.seed();
              if (wanted == old) std::memcpy(&peer.model[counter], &other, 8);
              finish(compare_and_swap(number, {.expected = wanted, .desired = other}, into));
            }
            reads_before = true;
          }
      }
    }
  }

  /// Takes all that must come, in order for each of the two kinds.
  void take_completions(side& one) {
    while (!one.sends.empty() || !one.arrivals.empty()) {
      const completion done = next_success(one.end->queue);
      const bool has_arrived = (done.id() & is_receive) != 0;
      std::deque<expected>& due = has_arrived ? one.arrivals : one.sends;
      require(!due.empty() && due.front().id == done.id(), "the order of completions");
      if (has_arrived) {
        const auto received = done.success().receive();
        require(received.length() == due.front().length, "the length of a message");
        require(received.immediate() == due.front().data, "immediate data");
      }
      due.pop_front();
    }
    std::array<completion, 1> more;
    require(one.end->queue.poll(more).empty(), "no more completions");
    // The header of a datagram is none of the sender's bytes.
    for (const auto& [side_of_header, offset] : headers_)
      std::copy_n(side_of_header->end->bytes.begin() + static_cast<std::ptrdiff_t>(offset), header,
                  side_of_header->model.begin() + static_cast<std::ptrdiff_t>(offset));
    headers_.clear();
  }

  chance random_;
  tally tally_;
  loopback<Transport> link_;
  address_handle way_{link_.domain, link_.to_far};
  side near_{&link_.near_end, link_.near_endpoint};
  side far_{&link_.far_end, link_.far_endpoint};
  std::vector<std::pair<side*, std::size_t>> headers_;
};

/// Plays rounds and checks them. After the first, no more files and objects of the kernel may
/// be left.
template <class Play>
void check_rounds(const Play& play, std::uint32_t seed, int rounds) {
  const auto guarded = [&](std::uint32_t each) {
    try {
      return play(each);
    } catch (const std::exception& why) {
      std::cout << why.what() << std::endl;
      return tally{.failed_rounds = 1};
    }
  };
  CHECK(guarded(seed).is_right());
  const cm_test::held before;
  const tally all = random_rounds::play_rounds(guarded, seed, rounds);
  CHECK(all.failed_rounds == 0);
  CHECK(cm_test::rdma_objects_settled_to(before.objects) == before.objects);
  CHECK(cm_test::open_files() == before.files);
  std::cout << all.rounds << " rounds, " << all.steps << " steps, " << all.refused << " refused"
            << std::endl;
}

}  // namespace random_walks

}  // namespace

TEST_CASE("Objects created, changed and closed at random fail and succeed as their model does",
          "[ibv_dealloc_pd][ibv_destroy_cq][ibv_destroy_comp_channel][ibv_modify_qp]") {
  using namespace random_walks;
  check_rounds([](std::uint32_t seed) { return control_walk{seed}.walk(120); }, 1, 2);
}

TEST_CASE("Threads that create, change and close objects of their own at random do not interfere",
          "[ibv_open_device][ibv_close_device]") {
  using namespace random_walks;
  check_rounds(
      [](std::uint32_t seed) {
        constexpr int threads = 3;
        std::array<tally, threads> each;
        in_threads(threads, [&](int number) {
          each[static_cast<std::size_t>(number)] =
              control_walk{seed + 1'000'000U * static_cast<std::uint32_t>(number)}.walk(40);
        });
        tally all;
        for (const tally& one : each) all += one;
        return all;
      },
      1001, 2);
}

TEST_CASE("Random operations both ways leave the bytes and completions that their model has",
          "[optional][ibv_post_send][ibv_post_recv]") {
  using namespace random_walks;
  if (!random_rounds::has_time())
    return tell_skip(
        "random operations of the classic calls",
        "about one round in 150 waits for a completion in vain, and the cause is not known");
  check_rounds(
      [](std::uint32_t seed) {
        tally all = traffic_walk<transport::rc, false>{seed}.walk(16);
        all += traffic_walk<transport::uc, false>{seed}.walk(8);
        all += traffic_walk<transport::ud, false>{seed}.walk(8);
        return all;
      },
      2001, 2);
}

TEST_CASE("Random operations of extended senders leave the bytes that their model has",
          "[ibv_wr_start][ibv_wr_complete]") {
  using namespace random_walks;
  check_rounds(
      [](std::uint32_t seed) {
        tally all = traffic_walk<transport::rc, true>{seed}.walk(16);
        all += traffic_walk<transport::ud, true>{seed}.walk(8);
        return all;
      },
      3001, 2);
}
