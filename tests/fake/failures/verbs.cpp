// SPDX-License-Identifier: MIT
// Each C call of libibverbs on the way of each class fails, with each errno of its function.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <adverb/adverb.hpp>
#include <adverb/pool.hpp>
#include <support/catch.hpp>

#include "campaign.hpp"
#include "completed.hpp"
#include "test_bench.hpp"

using namespace adverb;
using namespace campaign;

namespace {

constexpr port_number first_port{1};
constexpr access_rights every_right = access_right::local_write | access_right::remote_write |
                                      access_right::remote_read | access_right::remote_atomic;

/// A device, a domain and a completion queue.
struct base {
  context device = open_device("fake0");
  protection_domain domain{device};
  completion_queue queue{device, 16};

  template <transport Transport>
  [[nodiscard]] auto fresh(queue_pair_options options = {}) const {
    options.send_cq = queue;
    options.recv_cq = queue;
    return queue_pair<Transport>::create(domain, options);
  }
  template <transport Transport>
  [[nodiscard]] auto ready(const queue_pair_options& options = {}) const {
    auto pair = fresh<Transport>(options);
    auto waiting = [&] {
      if constexpr (Transport == transport::ud)
        return pair.init().port(first_port).queue_key(queue_key{1}).apply();
      else
        return pair.init().port(first_port).apply();
    }();
    auto receiving = [&] {
      if constexpr (Transport == transport::ud || Transport == transport::raw_packet)
        return waiting.rtr().apply();
      else
        return waiting.rtr().remote(test_bench::peer).apply();
    }();
    return receiving.rts().apply();
  }
};

/// Memory and a region of it.
struct registered : base {
  std::array<std::byte, 256> bytes{};
  memory_region region{domain, bytes, every_right | access_right::window_bind};
  remote_buffer<> remote{adopt, 0x7000, 64, rkey{0x99}};
};

void query(place& here) {
  here.machine.devices[0].clock = 7;
  const context device = open_device("fake0");
  (void)device.query_device();
  (void)device.query_port(first_port);
  (void)device.gid(first_port, gid_index{0});
  (void)device.gid_entry(first_port, gid_index{0});
  (void)device.gid_table();
  (void)device.pkey(first_port, pkey_index{0});
  (void)device.find_pkey(first_port, pkey{0xffff});
  (void)device.device_time();
  (void)resolve_ethernet(
      device, {.route = global_route{.destination = test_bench::peer.gid, .source = gid_index{2}}});
  here.arrived();
}

void list(place& here) {
  const device_list devices;
  const context device{*devices.begin()};
  here.arrived();
}

void take_async_event(place& here) {
  const base objects;
  ibv_async_event native{};
  native.event_type = IBV_EVENT_CQ_ERR;
  native.element.cq = objects.queue.native_handle();
  here.machine.raise(objects.device.native_handle(), native);
  const auto event = objects.device.next_async_event();
  here.arrived();
}

void register_memory(place& here) {
  static std::array<std::byte, 64> memory;
  const context device = open_device("fake0");
  const protection_domain domain{device};
  memory_region region{domain, memory, access_right::local_write};
  const auto shifted =
      memory_region::with_device_address(domain, memory, 0, access_right::local_write);
  const thread_domain thread{device};
  const parent_domain parent{domain, {.thread_domain = thread}};
  const device_memory on_device{device, 64};
  const auto of_device =
      memory_region::of_device_memory(domain, on_device, access_right::local_write);
  const auto of_dmabuf = memory_region::of_dmabuf(
      domain, {.file_descriptor = 7, .offset = 0, .length = 64}, access_right::local_write);
  const auto null = memory_region::null(domain);
  const auto whole = memory_region::of_whole_address_space(domain, access_right::local_write);
  const imported_protection_domain imported{device, domain.handle()};
  const imported_memory_region imported_region{imported, region.handle(), access_right::local_write,
                                               0};
  const imported_device_memory imported_memory{device, on_device.handle(), 64};
  region.reregister({.rights = every_right});
  prefetch(domain, std::array{region.buffer()});
  std::array<std::uint32_t, 2> words{};
  on_device.store(8, words);
  on_device.load(8, words);
  here.arrived();
}

void bind_windows(place& here) {
  registered objects;
  const memory_window<window_type::one> first{objects.domain};
  const memory_window<window_type::two> second{objects.domain};
  const auto pair = objects.ready<transport::rc>({.max_send_wr = 4});
  const auto bound = pair.bind(first, objects.region, 0, 8);
  pair.unbind(bound);
  const auto binding = second.prepare(objects.region, 0, 8);
  pair.post(bind_window(binding)).check();
  pair.post(local_invalidate(binding)).check();
  here.arrived();
}

void complete(place& here) {
  const context device = open_device("fake0");
  here.machine.devices[0].extended.cq_mod_caps = {16, 16};
  const completion_channel channel{device};
  const completion_queue queue{device, 16, {.channel = channel}};
  const completion_queue single_threaded{device, 16, {.single_threaded = true}};
  queue.resize(32);
  queue.moderate(1, std::chrono::microseconds{1});
  here.machine.announce(queue.native_handle());
  (void)channel.next_event();
  std::array<completion, 4> found;
  (void)queue.poll(found);
  here.machine.complete(queue.native_handle(), completed(1));
  (void)queue.next();
  here.machine.before<called::get_cq_event>(
      [&] { here.machine.complete(queue.native_handle(), completed(2)); });
  here.machine.announce(queue.native_handle());
  (void)queue.wait(found);
  here.arrived();
}

void complete_extended(place& here) {
  const context device = open_device("fake0");
  const completion_channel channel{device};
  const extended_completion_queue<> queue{device, 16, {.channel = channel}};
  for (std::uint64_t id = 1; id <= 3; ++id)
    here.machine.complete(queue.native_handle(), completed(id));
  for (const auto& each : queue.poll(2)) (void)each.id();
  (void)queue.poll(up_to<4>, [](const auto&) {});
  queue.request_notification();
  here.arrived();
}

template <transport Transport>
void bring_up(place& here) {
  const base objects;
  auto pair = objects.ready<Transport>();
  (void)pair.query();
  auto failed = pair.error();
  const auto again = failed.reset();
  here.arrived();
}

void bring_up_initiator(place& here) {
  const base objects;
  auto fresh = queue_pair<transport::xrc_send>::create(objects.domain, {.send_cq = objects.queue});
  auto waiting = fresh.init().port(first_port).apply();
  const queue_pair<transport::xrc_send> pair = waiting.connect(test_bench::peer);
  here.arrived();
}

void bring_up_target(place& here) {
  const base objects;
  const xrc_domain xrc{objects.device};
  const xrc_shared_receive_queue shared{objects.domain, xrc, objects.queue, {}};
  (void)shared.number();
  auto fresh = queue_pair<transport::xrc_recv>::create(xrc);
  auto waiting = fresh.init().port(first_port).apply();
  const queue_pair<transport::xrc_recv> pair = waiting.connect(test_bench::peer);
  const auto opened = queue_pair<transport::xrc_recv>::open(xrc, pair.number());
  here.arrived();
}

void change(place& here) {
  const base objects;
  auto fresh = objects.fresh<transport::rc>();
  (void)fresh.query_ece();
  fresh.set_ece({});
  auto waiting = fresh.init().port(first_port).apply();
  (void)waiting.endpoint();
  waiting.change().pkey_index(pkey_index{0}).apply();
  auto pair = waiting.connect(test_bench::peer);
  pair.change().allow(access_right::remote_read).apply();
  auto drained = pair.drain().apply();
  const auto again = drained.rts().apply();
  here.arrived();
}

void limit_rate(place& here) {
  const base objects;
  const auto pair = objects.ready<transport::ud>();
  pair.limit_rate({.kilobits_per_second = 1000});
  here.arrived();
}

void post(place& here) {
  const registered objects;
  const auto pair = objects.ready<transport::rc>({.max_send_wr = 8, .max_recv_wr = 8});
  pair.post(receive(objects.region.buffer())).check();
  pair.post(send(objects.region.buffer()), write(objects.remote, objects.region.slice(0, 8)))
      .check();
  send_window window{pair, {.size = 4}};
  window.post(send()).check();
  here.arrived();
}

void post_extended(place& here) {
  const registered objects;
  const auto pair = objects.ready<transport::rc>(
      {.max_send_wr = 8, .send_operations = basic_operations(transport::rc)});
  const auto sender = pair.extended();
  sender.post(send(objects.region.buffer())).check();
  here.arrived();
}

void send_datagrams(place& here) {
  const registered objects;
  const auto pair = objects.ready<transport::ud>({.max_send_wr = 4});
  const address way{.route =
                        global_route{.destination = test_bench::peer.gid, .source = gid_index{2}}};
  const address_handle handle{objects.domain, way};
  pair.post(send().to({handle, qp_number{2}, queue_key{1}})).check();
  const multicast_attachment first{pair, gid{fake::ipv4_gid(239, 1, 2, 3)}};
  const multicast_attachment second{pair, gid{fake::ipv4_gid(239, 1, 2, 4)}};
  here.arrived();
}

void share_receives(place& here) {
  const registered objects;
  const adverb::shared_receive_queue shared{objects.domain, {.max_wr = 16}};
  shared.resize(32);
  shared.set_limit(3);
  (void)shared.query();
  shared.post(receive(objects.region.buffer())).check();
  const auto pair = objects.ready<transport::rc>({.srq = shared});
  here.arrived();
}

void match_tags(place& here) {
  const registered objects;
  const tag_matching_queue tags{
      objects.domain, objects.queue, {.max_wr = 8, .max_tags = 4, .max_operations = 2}};
  tags.post_operations(add_tag(7)).check();
  here.arrived();
}

void spread_receives(place& here) {
  const base objects;
  auto fresh = work_queue<>::create(objects.domain, {.completion_queue = objects.queue});
  auto ready = fresh.ready();
  ready.post(receive()).check();
  const std::array<reference<ibv_wq>, 1> queues{ready};
  const indirection_table table{queues};
  const auto pair = create_receive_side_scaling_pair(
      objects.domain, table, receive_hash::over<ipv4_fields>(toeplitz_key{}));
  here.arrived();
}

void steer(place& here) {
  const base objects;
  const auto pair = objects.ready<transport::ud>();
  const counters traffic{objects.device};
  traffic.attach(counted::packets, 0);
  const flow_action decrypt{objects.device, esp_options{.key = {std::array<std::byte, 16>{}, {}}}};
  decrypt.modify({.extended_sequence_number = 2});
  const flow steered{pair, flow_rule{{}, action_handle{decrypt}, action_count{traffic}}};
  const std::array<flow_specification, 1> list{match_ethernet{}};
  const flow listed{pair, {}, list};
  std::array<std::uint64_t, 1> values{};
  traffic.read(values);
  here.arrived();
}

void pool(place& here) {
  const base objects;
  registered_resource slabs{objects.domain};
  buffer_pool blocks{slabs, {.block_size = 4096, .blocks = 4}};
  const buffer_lease block = blocks.try_take();
  registration_cache cache{objects.domain};
  static std::array<std::byte, 64> memory;
  const auto known = cache.region(memory);
  here.arrived();
}

struct named_path {
  const char* name;
  path follow;
  functions restoring = {};
};
/// `connect` takes the pair back to INIT if it fails.
constexpr std::string_view transitions[]{"ibv_modify_qp"};

constexpr named_path paths[]{
    {"queries of a device", &query},
    {"a list of devices", &list},
    {"an asynchronous event", &take_async_event},
    {"memory", &register_memory},
    {"memory windows", &bind_windows},
    {"completion queues", &complete},
    {"extended completion queues", &complete_extended},
    {"an RC pair", &bring_up<transport::rc>},
    {"a UC pair", &bring_up<transport::uc>},
    {"a UD pair", &bring_up<transport::ud>},
    {"a raw packet pair", &bring_up<transport::raw_packet>},
    {"an XRC initiator", &bring_up_initiator, transitions},
    {"an XRC target", &bring_up_target, transitions},
    {"changes of a pair", &change, transitions},
    {"the rate of a pair", &limit_rate},
    {"posts", &post},
    {"extended posts", &post_extended},
    {"datagrams", &send_datagrams},
    {"a shared receive queue", &share_receives},
    {"tag matching", &match_tags},
    {"receive-side scaling", &spread_receives},
    {"flows", &steer},
    {"pools", &pool},
};

}  // namespace

TEST_CASE("each call of libibverbs fails with its errno and leaves nothing") {
  for (const auto& [name, follow, restoring] : paths) {
    CAPTURE(name);
    fail_each_call(follow, restoring);
  }
}

TEST_CASE("each destroy of libibverbs that fails keeps its object and is reported") {
  for (const auto& [name, follow, restoring] : paths) {
    CAPTURE(name);
    fail_each_destroy(follow);
  }
}
