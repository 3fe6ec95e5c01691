// SPDX-License-Identifier: MIT
// Several threads that create and destroy objects at once.
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include <support/told_failures.hpp>

#include "in_threads.hpp"
#include "support.hpp"

using namespace adverb;

namespace {

namespace object_threads {

constexpr int threads = 4;
constexpr std::size_t objects = 5;

/// The parents that all objects share. Each destroys itself at the end: if a count of its children
/// is wrong, it calls the failure hook.
struct parents {
  told_failures told;
  context device = open_device();
  protection_domain domain{device};
  completion_channel channel{device};
  completion_queue queue{device, 64};
  std::vector<std::byte> bytes = std::vector<std::byte>(8192);

  template <transport Transport>
  [[nodiscard]] auto fresh() const {
    return queue_pair<Transport>::create(domain, {.cq = queue});
  }

  /// Closes all, children first.
  void close() {
    failure why;
    queue.close(why);
    CHECK(!why);
    channel.close(why);
    CHECK(!why);
    domain.close(why);
    CHECK(!why);
    device.close(why);
    CHECK(!why);
    CHECK(told.messages().empty());
  }
};

/// A number that no other living object of its kind has.
template <class Object>
[[nodiscard]] std::uint64_t identity_of(const Object& object) {
  const auto* const native = object.native_handle();
  if constexpr (requires { native->cmd_fd; })
    return static_cast<std::uint64_t>(native->cmd_fd);
  else if constexpr (requires { native->fd; })
    return static_cast<std::uint64_t>(native->fd);
  else
    return native->handle;
}

/// Threads create objects that live at once, and each thread destroys those of another one.
template <class Make>
void check_lives(const char* kind, const Make& make) {
  INFO(kind);
  parents shared;
  using object = decltype(make(std::as_const(shared)));
  {
    std::array<std::vector<object>, threads> made;
    in_threads(threads, [&](int number) {
      auto& mine = made[static_cast<std::size_t>(number)];
      for (std::size_t each = 0; each < objects; ++each) mine.push_back(make(shared));
    });
    std::set<std::uint64_t> identities;
    for (const auto& each : made)
      for (const object& one : each) identities.insert(identity_of(one));
    CHECK(identities.size() == objects * threads);
    in_threads(threads,
               [&](int number) { made[static_cast<std::size_t>(number + 1) % threads].clear(); });
  }
  shared.close();
}

/// Each thread creates an object and destroys it, again and again.
template <class Make>
void check_turns(const char* kind, const Make& make) {
  INFO(kind);
  parents shared;
  in_threads(threads, [&](int) {
    for (std::size_t each = 0; each < objects; ++each) {
      auto object = make(std::as_const(shared));
      object.close();
    }
  });
  shared.close();
}

/// Calls `check` for each kind of object.
template <class Check>
void for_each_kind(const Check& check) {
  check("context", [](const parents&) { return open_device(); });
  check("protection domain",
        [](const parents& shared) { return protection_domain{shared.device}; });
  check("memory region", [](const parents& shared) {
    return memory_region{shared.domain, const_cast<std::vector<std::byte>&>(shared.bytes),
                         every_right};
  });
  check("completion channel",
        [](const parents& shared) { return completion_channel{shared.device}; });
  check("completion queue", [](const parents& shared) {
    return completion_queue{shared.device, 16, {.channel = shared.channel}};
  });
  check("extended completion queue", [](const parents& shared) {
    return extended_completion_queue<>{shared.device, 16, {.channel = shared.channel}};
  });
  check("RC queue pair", [](const parents& shared) { return shared.fresh<transport::rc>(); });
  check("UC queue pair", [](const parents& shared) { return shared.fresh<transport::uc>(); });
  check("UD queue pair", [](const parents& shared) { return shared.fresh<transport::ud>(); });
  check("extended queue pair", [](const parents& shared) {
    return queue_pair<transport::rc>::create(
        shared.domain, {.cq = shared.queue, .send_operations = basic_operations(transport::rc)});
  });
  check("shared receive queue",
        [](const parents& shared) { return shared_receive_queue{shared.domain, {.max_wr = 16}}; });
  check("address handle", [](const parents& shared) {
    const gid_entry local = choose_gid(shared.device, first_port).value();
    return address_handle{
        shared.domain,
        {.port = first_port,
         .route = global_route{.destination = local.gid(), .source = local.index()}}};
  });
  check("memory window of type 1",
        [](const parents& shared) { return memory_window<window_type::one>{shared.domain}; });
  check("memory window of type 2",
        [](const parents& shared) { return memory_window<window_type::two>{shared.domain}; });
}

/// Attaches the pair to each of `objects` multicast groups.
template <class Pair>
[[nodiscard]] std::vector<multicast_attachment> attach_to_all(const Pair& pair) {
  std::vector<multicast_attachment> attached;
  for (std::uint8_t last = 1; last <= objects; ++last) {
    const gid group{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, last}};
    attached.emplace_back(pair, group);
  }
  return attached;
}

}  // namespace object_threads

}  // namespace

TEST_CASE("Objects of each kind created by several threads are distinct and destroyed by others",
          "[ibv_open_device][ibv_alloc_pd][ibv_create_qp][ibv_create_cq]") {
  object_threads::for_each_kind(
      [](const char* kind, const auto& make) { object_threads::check_lives(kind, make); });
}

TEST_CASE("Several threads create and destroy children of one parent repeatedly",
          "[ibv_open_device][ibv_dealloc_pd][ibv_destroy_qp][ibv_destroy_cq]") {
  object_threads::for_each_kind(
      [](const char* kind, const auto& make) { object_threads::check_turns(kind, make); });
}

TEST_CASE("Several threads attach their pairs to the same multicast groups and detach them",
          "[ibv_attach_mcast][ibv_detach_mcast]") {
  using namespace object_threads;
  parents shared;
  {
    auto fresh_keeper = shared.fresh<transport::ud>();
    const auto keeper = initialised(fresh_keeper);
    std::vector<multicast_attachment> kept;
    if (holds(device_facts::attaches_to_a_lost_group, shared.device)) kept = attach_to_all(keeper);
    in_threads(threads, [&](int) {
      auto fresh = shared.fresh<transport::ud>();
      const auto pair = initialised(fresh);
      for (int turn = 0; turn < 3; ++turn) {
        auto attached = attach_to_all(pair);
        for (multicast_attachment& each : attached) each.close();
      }
    });
  }
  shared.close();
}

TEST_CASE("Several threads create and destroy whole connections in contexts of their own",
          "[ibv_open_device][ibv_close_device]") {
  const told_failures told;
  in_threads(object_threads::threads, [&](int number) {
    for (int turn = 0; turn < 2; ++turn) {
      loopback<transport::rc> link;
      link.near_end.fill(0, 64, static_cast<unsigned>(number + turn));
      link.near_pair
          .post(write(link.far_end.remote().slice(0, 64), link.near_end.region.slice(0, 64))
                    .signaled())
          .check();
      next_success(link.near_end.queue);
      if (!link.far_end.holds(0, 64, static_cast<unsigned>(number + turn)))
        throw std::runtime_error{"other bytes"};
    }
  });
  CHECK(told.messages().empty());
}
