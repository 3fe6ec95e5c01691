// SPDX-License-Identifier: MIT
// Every public member of the lower floors compiles and links, for each error policy, through owners
// and references alike. Nothing of it is run: that is the work of the other tests.
#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <adverb/completion/either_completion_queue.hpp>
#include <adverb/completion/extended_completion_queue.hpp>
#include <adverb/core/durations.hpp>
#include <adverb/device/context.hpp>
#include <adverb/memory/advice.hpp>
#include <adverb/memory/imported.hpp>
#include <adverb/memory/memory_region.hpp>
#include <adverb/memory/memory_window.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/memory/provider_buffer.hpp>
#include <adverb/queue/completion_counter.hpp>
#include <adverb/queue/queue_pair.hpp>
#include <adverb/queue/tag_matching_queue.hpp>
#include <adverb/queue/xrc_shared_receive_queue.hpp>
#include <support/catch.hpp>

namespace {

using namespace adverb;

/// Uses values, so that nothing is discarded.
template <class... Value>
void use(const Value&...) {}

template <class Owner>
void call_handle(Owner& owner) {
  Owner moved = std::move(owner);
  owner = std::move(moved);
  use(owner.native_handle(), static_cast<bool>(owner));
  owner = Owner{};
  std::error_code code;
  failure why;
  owner.close();
  owner.close(code);
  owner.close(why);
  use(owner.release());
}

template <class Owner, class Reference>
void call_owner(Owner& owner) {
  const Reference reference = owner;
  const Reference from_native = owner.native_handle();
  use(reference.native_handle(), static_cast<bool>(from_native), Reference{});
  use(Owner{adopt, owner.native_handle()});
  call_handle(owner);
}

void call_event(async_event& event) {
  use(event.type(), event.subject(), event.severity(), event.native(), to_text(event));
  use(event.queue_pair(), event.completion_queue(), event.srq());
  use(event.work_queue(), event.port(), hint_for(event.type()));
  use(event.queue_pair() == reference<ibv_qp>{});
  async_event moved = std::move(event);
  event = std::move(moved);
  event.acknowledge();
  use(event.release());
}

template <class Context, class... Policy>
void call_context(const Context& context, Policy&... policy) {
  use(context.device(), context.async_file_descriptor(), context.completion_vectors());
  use(context.query_device(policy...), context.query_port(port_number{1}, policy...));
  use(context.gid(port_number{1}, gid_index{0}, policy...));
  use(context.gid_entry(port_number{1}, gid_index{0}, policy...), context.gid_table(policy...));
  use(context.gid_table(std::span<gid_entry>{}, policy...));
  use(context.pkey(port_number{1}, pkey_index{0}, policy...));
  use(context.find_pkey(port_number{1}, pkey{0xffff}, policy...), context.device_time(policy...));
  use(context.port_megabits(port_number{1}, policy...), context.command_file_descriptor());
  use(context.has_async_event());
  if (auto event = context.next_async_event(policy...)) call_event(*event);
  context.set_async_non_blocking(true, policy...);
}

template <class... Policy>
void call_devices(Policy&... policy) {
  device_list devices{policy...};
  device_list moved = std::move(devices);
  devices = std::move(moved);
  use(devices.begin(), devices.end(), devices.size(), devices.empty(), devices.find("rxe0"));
  const device_ref device = devices[0];
  use(device.name(), device.character_device(), device.transport_type(), device.native_handle());
  use(static_cast<bool>(device), device == device_ref{device.native_handle()});
  use(device.node_type(), device.index(), device.node_guid(), fork_support());
  initialize_fork_support(policy...);
  use(context::import(0, policy...));
  use(context{device, policy...}, open_device("rxe0", policy...));
}

void call_attributes(const device_attributes& device, const port_attributes& port) {
  use(device.firmware_version(), device.node_guid(), device.system_image_guid());
  use(device.vendor_id(), device.vendor_part_id(), device.hardware_version());
  use(device.physical_ports(), device.capabilities(), device.max_memory_region_size());
  use(device.page_sizes(), device.max_memory_regions(), device.max_memory_windows());
  use(device.max_protection_domains(), device.max_queue_pairs(), device.max_work_requests());
  use(device.max_sge(), device.max_sge_of_read(), device.max_destination_read_atomic());
  use(device.max_initiator_read_atomic(), device.max_responder_resources(), device.atomicity());
  use(device.max_completion_queues(), device.max_completion_queue_entries());
  use(device.max_shared_receive_queues(), device.max_shared_receive_queue_requests());
  use(device.max_shared_receive_queue_sge(), device.max_address_handles());
  use(device.max_multicast_groups(), device.max_queue_pairs_per_multicast_group());
  use(device.max_multicast_attachments(), device.max_pkeys());
  use(device.local_acknowledge_delay_code(), device.native(), device.pci_atomics());
  use(device.max_raw_ipv6_queue_pairs(), device.max_raw_ethertype_queue_pairs());
  use(device.on_demand_paging(), device.clock(), device.completion_timestamp_mask());
  use(device.segmentation_offload(), device.receive_side_scaling(), device.max_work_queues());
  use(device.packet_pacing(), device.raw_packets(), device.tag_matching());
  use(device.completion_moderation(), device.max_device_memory_size());
  use(device.max_ee_contexts(), device.max_ee_destination_read_atomic());
  use(device.max_ee_initiator_read_atomic(), device.max_reliable_datagram_domains());
  use(device.max_fast_memory_regions(), device.max_maps_per_fast_memory_region());
  use(device_attributes{}, device_attributes{device.native()});

  use(port.state(), port.link_layer(), port.is_ethernet(), port.active_mtu(), port.max_mtu());
  use(port.lid(), port.lid_mask_control(), port.subnet_manager_lid());
  use(port.subnet_manager_service_level(), port.gid_table_length(), port.pkey_table_length());
  use(port.max_message_size(), port.bad_pkey_counter(), port.queue_key_violation_counter());
  use(port.virtual_lanes(), port.active_width(), port.active_speed(), port.link_megabits());
  use(port.capabilities(), port.needs_global_route(), port.physical_state());
  use(port.subnet_timeout_code(), port.initialization_type_reply());
  use(port.native(), port_attributes{}, port_attributes{port.native()});
}

void call_addresses(const gid& address, const gid_entry& entry) {
  use(address.bytes(), address.native(), address.is_empty(), address.is_link_local());
  use(address.is_ipv4_mapped(), address.same_subnet(address), gid{address.bytes()});
  use(gid{address.native()}, address == gid{}, to_text(address));
  use(entry.gid(), entry.index(), entry.port(), entry.type(), entry.network_interface());
  use(entry.native(), gid_entry{}, gid_entry{entry.native()}, to_text(entry));
}

template <class... Policy>
void call_memory(const protection_domain_ref& domain, Policy&... policy) {
  std::vector<std::uint64_t> numbers(8);
  memory_region region{domain, numbers, access_right::local_write, policy...};
  use(memory_region{domain, numbers}, domain.context());
  use(memory_region::with_device_address(domain, numbers, 0, access_right::local_write, policy...));
  use(memory_region{adopt, region.native_handle(), access_right::local_write});
  use(memory_region{adopt, region.native_handle(), access_right::local_write, 0x1000});
  use(region.lkey(), region.rkey(), region.size(), region.device_address(), region.rights());
  use(region.slice(0, 8, policy...), region.const_slice(0, 8, policy...));
  use(region.buffer(policy...), region.const_buffer(policy...), region.unchecked_slice(0, 8));
  const buffer_blocks<mutable_buffer> blocks = region.blocks(8, policy...);
  use(blocks.size(), blocks.block_size(), blocks[0], buffer_blocks<mutable_buffer>{});
  use(buffer_blocks<mutable_buffer>{adopt, 0, lkey{}, 8, 1});
  buffer_list<2> list;
  list.push_back(const_buffer{});
  buffer_list<2> copy = list;
  copy = list;
  use(copy.size(), copy.empty(), copy.capacity(), copy.data(), copy.begin(), copy.end());
  copy.clear();

  const auto remote = region.remote<std::uint64_t>(policy...);
  use(region.remote_readable(policy...), region.remote_writable(policy...));
  use(remote.address(), remote.size(), remote.size_bytes(), remote.empty(), remote.key());
  use(remote.slice(0, 1, policy...), remote.at(0, policy...), remote.template as<std::byte>());
  use(decltype(remote)::decode(remote.encode(), policy...), remote == remote);
  call_handle(region);

  const mutable_buffer target;
  const const_buffer source = target;
  use(target.slice(0, 0, policy...), target.unchecked_slice(0, 0));
  use(source.slice(0, 0, policy...), source.unchecked_slice(0, 0));
  use(target.address(), target.size(), target.key(), target.native());
  use(source.address(), source.size(), source.key(), source.native());
}

template <class Window, class... Policy>
void call_window(const Window& window, const memory_region_ref& region, Policy&... policy) {
  use(window.type, window.context(), window.protection_domain(), window.key());
  window.restore_key(window.key());
  if constexpr (Window::type == window_type::two) {
    const auto binding = window.prepare(region, 0, 8, policy...);
    use(binding.remote(), binding.key(), binding.previous_key(), static_cast<bool>(binding));
    use(binding.type, binding.native_window(), binding.native(), decltype(binding){});
  }
}

template <window_type Type, class... Policy>
void call_windows(const protection_domain_ref& domain, Policy&... policy) {
  std::vector<std::uint64_t> numbers(8);
  const memory_region region{domain, numbers};
  memory_window<Type> window{domain, policy...};
  const memory_window_ref<Type> reference = window;
  call_window(window, region, policy...);
  call_window(reference, region, policy...);
  use(memory_window_ref<Type>{}, memory_window_ref<Type>{adopt, nullptr, policy...});
  use(memory_window<Type>{adopt, nullptr, policy...});
  call_handle(window);
}

struct default_allocator {
  provider_allocation allocate(std::size_t, std::size_t, std::uint64_t) noexcept {
    return provider_allocation::use_default();
  }
  void deallocate(void*, std::uint64_t) noexcept {}
};
static_assert(provider_allocator<default_allocator>);

template <class... Policy>
void call_domains(const context_ref& opened, const protection_domain_ref& domain,
                  Policy&... policy) {
  thread_domain thread{opened, policy...};
  use(thread.context(), domain.handle());
  default_allocator allocator;
  const provider_allocator_ref to_allocator{allocator};
  use(static_cast<bool>(to_allocator), provider_allocation{nullptr}.native());
  use(provider_allocation::failed());
  parent_domain parent{domain, {.thread_domain = thread, .allocator = to_allocator}, policy...};
  imported_protection_domain imported{opened, domain.handle(), policy...};
  call_owner<parent_domain, protection_domain_ref>(parent);
  call_owner<imported_protection_domain, protection_domain_ref>(imported);
  call_owner<thread_domain, thread_domain_ref>(thread);
}

template <class Memory, class... Policy>
void call_device_memory(const Memory& memory, Policy&... policy) {
  std::array<int, 4> numbers{};
  use(memory.context(), memory.size(), memory.handle(policy...), memory.export_dmabuf(policy...));
  memory.store(0, numbers, policy...);
  memory.load(0, numbers, policy...);
}

template <class... Policy>
void call_kinds_of_memory(const protection_domain_ref& domain, Policy&... policy) {
  const access_rights rights = access_right::local_write;
  device_memory memory{domain.context(), 64, {.alignment = 8}, policy...};
  imported_device_memory imported_memory{domain.context(), device_memory_handle{1}, 64, policy...};
  use(device_memory{domain.context(), 64, policy...});
  call_device_memory(memory, policy...);
  call_device_memory(imported_memory, policy...);
  call_device_memory(device_memory_ref{memory}, policy...);
  use(device_memory{adopt, memory.native_handle(), 64});
  use(imported_device_memory{adopt, memory.native_handle(), 64});
  use(device_memory_ref{adopt, memory.native_handle(), 64}, device_memory_ref{});

  provider_buffer buffer{domain, 64, policy...};
  use(buffer.protection_domain(), buffer.bytes(), buffer.export_dmabuf(policy...));
  use(provider_buffer_ref{buffer}.export_dmabuf(policy...), provider_buffer_ref{});
  use(provider_buffer_ref{adopt, buffer.native_handle(), domain, buffer.bytes()});
  use(provider_buffer{adopt, buffer.native_handle(), domain, buffer.bytes()});

  dma_handle hints{domain.context(), {.processor = 1}, policy...};
  use(hints.context(), dma_handle_ref{hints}.context(), dma_handle{domain.context(), policy...});
  use(dma_handle{adopt, hints.native_handle()}, dma_handle_ref{});

  std::vector<std::uint64_t> numbers(8);
  memory_region region = memory_region::of_device_memory(domain, memory, rights, policy...);
  region = memory_region::with_dma_handle(domain, numbers, hints, rights, policy...);
  region = memory_region::with_dma_handle(
      domain, dmabuf_range{.file_descriptor = 3, .offset = 0, .length = 64}, hints, rights,
      policy...);
  region = memory_region::of_provider_buffer(buffer, rights, policy...);
  region = memory_region::of_device_memory(domain, memory, 0, 64, rights, policy...);
  region = memory_region::of_dmabuf(domain, {.file_descriptor = 3, .offset = 0, .length = 64},
                                    rights, policy...);
  region = memory_region::of_whole_address_space(domain, rights, policy...);
  region = memory_region::null(domain, policy...);
  region.reregister({.domain = domain, .rights = rights}, policy...);
  region.reregister(numbers, {}, policy...);
  region.reregister(numbers, policy...);
  use(region.handle(), region.buffer_of(std::span{numbers}, policy...));
  use(region.const_buffer_of(std::span{numbers}, policy...));
  const std::array buffers{region.slice(0, 8)};
  prefetch(domain, buffers, {}, policy...);
  prefetch_for_writing(domain, buffers, {.flush = true}, policy...);
  prefetch_without_faulting(domain, buffers, {}, policy...);

  imported_memory_region imported{domain, region.handle(), rights, 0, policy...};
  use(imported.slice(0, 8, policy...), memory_region_ref{imported});
  use(imported_memory_region{adopt, imported.native_handle(), rights, 0});
  call_handle(imported);
  call_handle(imported_memory);
  call_handle(memory);
}

template <class Counter, class... Policy>
void call_counter(const Counter& counter, Policy&... policy) {
  use(counter.context(), counter.value(policy...), counter.errors(policy...));
  counter.set(1, policy...);
  counter.set_errors(1, policy...);
  counter.add(1, policy...);
  counter.add_errors(1, policy...);
}

template <class... Policy>
void call_counters(const context_ref& context, Policy&... policy) {
  use(query_completion_counters(context, policy...), completion_counter{context, policy...});
  completion_counter counter{context, counted_completions::bytes, policy...};
  call_counter(counter, policy...);
  call_counter(completion_counter_ref{counter}, policy...);
  const queue_pair_ref<transport::rc, qp_state::init> pair{adopt, nullptr, policy...};
  counter.attach(pair, counted_operation::send | counted_operation::receive, policy...);
  call_owner<completion_counter, completion_counter_ref>(counter);
}

template <class Channel, class... Policy>
void call_channel(const Channel& channel, Policy&... policy) {
  use(channel.context(), channel.file_descriptor(), channel.next_event(policy...));
  channel.set_non_blocking(true, policy...);
}

template <class Queue, class... Policy>
void call_any_queue(const Queue& queue, Policy&... policy) {
  use(queue.context(), queue.capacity(), queue.channel(), queue.user_context());
  queue.request_notification(false, policy...);
  queue.resize(32, policy...);
  queue.moderate(16, std::chrono::microseconds{10}, policy...);
}

/// The calls of code that takes either engine.
template <completion_source Queue, class... Policy>
void call_either_queue(const Queue& queue, Policy&... policy) {
  const auto consume = [](const auto& done) { use(done.id()); };
  const auto stop = [] { return true; };
  const std::chrono::seconds second{1};
  use(Queue::fields, queue.poll(up_to<4>, consume, policy...));
  use(queue.wait(up_to<4>, consume, policy...));
  use(queue.wait(up_to<4>, consume, second, policy...));
  use(queue.busy_poll(up_to<4>, consume, second, policy...));
  queue.arm_and_poll(up_to<4>, consume, policy...);
  use(queue.poll_until(up_to<4>, consume, stop, policy...));
  use(queue.wait_until(up_to<4>, consume, stop, second, policy...));
}

template <class Queue, class... Policy>
void call_queue(const Queue& queue, Policy&... policy) {
  std::array<completion, 4> batch;
  call_any_queue(queue, policy...);
  call_either_queue(queue, policy...);
  const auto consume = [](const completion& done) { use(done.id()); };
  const auto stop = [] { return true; };
  use(queue.poll_until(batch, consume, stop, policy...));
  use(queue.wait_until(batch, consume, stop, std::chrono::seconds{1}, policy...));
  use(queue.poll(batch, policy...), queue.wait(batch, policy...));
  use(queue.wait(batch, std::chrono::seconds{1}, policy...));
  use(queue.busy_poll(batch, std::chrono::seconds{1}, policy...));
  use(queue.next(policy...), queue.next(std::chrono::seconds{1}, policy...));
  queue.arm_and_poll(batch, consume, policy...);
}

template <class Queue, class... Policy>
void call_shared_receive_queue(const Queue& queue, Policy&... policy) {
  use(queue.context(), queue.protection_domain(), queue.user_context());
  queue.post(receive()).check(policy...);
  const shared_receive_queue_attributes found = queue.query(policy...);
  use(found.max_wr(), found.max_sge(), found.limit(), found.native());
  use(shared_receive_queue_attributes{}, shared_receive_queue_attributes{found.native()});
  queue.resize(8, policy...);
  queue.set_limit(2, policy...);
}

template <class... Policy>
void call_shared_receive_queues(const protection_domain_ref& domain,
                                const completion_queue_ref& queue, Policy&... policy) {
  shared_receive_queue shared{domain, {}, policy...};
  call_shared_receive_queue(shared, policy...);
  call_shared_receive_queue(shared_receive_queue_ref{shared}, policy...);

  xrc_domain xrc{domain.context(), policy...};
  use(xrc.context(), xrc_domain{xrc.context(), 0, xrc_domain_opening::existing, policy...});
  xrc_shared_receive_queue far{domain, xrc, queue, {}, policy...};
  call_shared_receive_queue(far, policy...);
  call_shared_receive_queue(xrc_shared_receive_queue_ref{far}, policy...);
  use(far.number(policy...), xrc_shared_receive_queue_ref{far}.number(policy...));

  tag_matching_queue tags{domain, queue, {}, policy...};
  call_shared_receive_queue(tags, policy...);
  tag_handle handle{};
  tags.post_operations(add_tag(1).mask(1).id(2).handle_to(handle).signaled(3),
                       delete_tag(handle).handled_unexpected(4), synchronize_tags(5))
      .check(policy...);
  tag_matching_queue_ref{tags}.post_operations(add_tag(1)).check(policy...);

  call_owner<shared_receive_queue, shared_receive_queue_ref>(shared);
  call_owner<xrc_shared_receive_queue, xrc_shared_receive_queue_ref>(far);
  call_owner<tag_matching_queue, tag_matching_queue_ref>(tags);
  call_owner<xrc_domain, xrc_domain_ref>(xrc);
}

template <class Completion, class... Policy>
void call_either_completion(const Completion& done, Policy&... policy) {
  use(done.id(), done.template pointer<int>(), done.status(), done.queue_pair());
  use(done.vendor_error());
  done.check(policy...);
  const auto success = done.success();
  use(static_cast<bool>(success), success.opcode(), success.length());
  use(success.tag_synchronization_requested());
  const auto message = success.receive();
  use(static_cast<bool>(message), message.length(), message.immediate());
  use(message.invalidated_key(), message.announces_write(), message.source_queue_pair());
  use(message.has_grh(), message.source_lid(), message.service_level(), message.path_bits());
  use(message.ip_checksum_ok());
  const auto tagged = success.receive_tagged();
  use(static_cast<bool>(tagged), tagged.tag_matched(), tagged.tag_data_valid());
}

template <class... Policy>
void call_completion(const completion& done, Policy&... policy) {
  call_either_completion(done, policy...);
  use(done.native(), completion{done.native()}, done.success().receive().pkey_index());
  use(to_text(done.status()), class_of(done.status()), hint_for(done.status()));
  use(make_error_code(done.status()), completion_category());
}

constexpr completion_fields every_field =
    standard_completion_fields | completion_field::timestamp | completion_field::vlan |
    completion_field::flow_tag | completion_field::tag_matching | completion_field::wall_clock;

template <class Queue, class... Policy>
void call_extended_queue(const Queue& queue, Policy&... policy) {
  call_any_queue(queue, policy...);
  call_either_queue(queue, policy...);
  const completion_queue_ref any = queue;
  use(any, Queue::fields);
  const auto consume = [](const extended_completion<every_field>& done) { use(done); };
  use(queue.wait(1, consume, policy...));
  use(queue.wait(1, consume, std::chrono::seconds{1}, policy...));
  use(queue.busy_poll(1, consume, std::chrono::seconds{1}, policy...));
  queue.arm_and_poll(1, consume, policy...);
  for (const auto& done : queue.poll(1, policy...)) call_either_completion(done, policy...);
  for (const extended_completion<every_field>& done : queue.poll(policy...)) {
    const auto success = done.success();
    use(success.timestamp(), success.wall_clock());
    const auto message = success.receive();
    use(message.vlan(), message.flow_tag(), success.receive_tagged().tag());
  }
}

void call_values() {
  using namespace std::chrono_literals;
  const acknowledge_timeout timeout = 67ms;
  use(timeout.code(), timeout.is_endless(), timeout.as<std::chrono::microseconds>());
  use(acknowledge_timeout::endless(), acknowledge_timeout::from_code(14), to_text(timeout));
  const rnr_timer timer = 640us;
  use(timer.code(), timer.as<std::chrono::microseconds>(), to_text(timer));
  use(rnr_timer::from_code(12));

  access_rights rights = access_right::local_write;
  rights |= access_right::remote_read;
  rights &= access_right::remote_read;
  rights -= access_right::remote_read;
  use(rights.bits(), rights.empty(), rights.contains(rights), rights.intersects(rights));
  use(to_text(rights), to_string(rights), access_rights::from_bits(1));

  use(psn{1}.value(), psn{1} + 1);
  use(bytes_of(mtu::bytes_256), name_of(object_kind::context));

  std::array<char, 8> characters{};
  text_writer writer{characters};
  use(writer.put("a").decimal(1).hexadecimal(2, 2).put(rkey{3}).size());
  const static_string<8> written{[](text_writer& out) { out.put("a"); }};
  use(written.view(), std::string_view{written});
}

template <class... Policy>
void call_everything_with(Policy&... policy) {
  call_devices(policy...);
  context opened = open_device(policy...);
  use(open_device("rxe0", policy...));
  call_context(opened, policy...);
  call_context(context_ref{opened}, policy...);
  call_attributes(opened.query_device(), opened.query_port(port_number{1}));
  call_addresses(gid{}, gid_entry{});

  protection_domain domain{opened, policy...};
  use(domain.context());
  call_memory(domain, policy...);
  call_windows<window_type::one>(domain, policy...);
  call_windows<window_type::two>(domain, policy...);
  call_domains(opened, domain, policy...);
  call_kinds_of_memory(domain, policy...);

  call_counters(opened, policy...);
  completion_channel channel{opened, policy...};
  call_channel(channel, policy...);
  call_channel(completion_channel_ref{channel}, policy...);

  completion_queue queue{
      opened, 16, {.channel = channel, .vector = 0, .user_context = nullptr}, policy...};
  use(completion_queue{opened, 16, policy...});
  call_queue(queue, policy...);
  call_queue(completion_queue_ref{queue}, policy...);
  call_completion(completion{ibv_wc{}}, policy...);
  call_shared_receive_queues(domain, queue, policy...);

  extended_completion_queue<every_field> extended{opened, 16, {.single_threaded = true}, policy...};
  use(extended_completion_queue<>{opened, 16, policy...});
  call_extended_queue(extended, policy...);
  call_extended_queue(extended_completion_queue_ref<every_field>{extended}, policy...);

  call_owner<extended_completion_queue<every_field>, extended_completion_queue_ref<>>(extended);
  call_owner<completion_queue, completion_queue_ref>(queue);
  either_completion_queue<every_field> either{opened, 16, {.vector = 1}, policy...};
  either = either_completion_queue<every_field>{opened, 16, policy...};
  either.visit([&](const auto& any) { call_either_queue(any, policy...); });
  use(static_cast<bool>(either), either.is_extended(), either.native_handle());
  use(completion_queue_ref{either});
  either.close(policy...);
  call_owner<completion_channel, completion_channel_ref>(channel);
  call_owner<protection_domain, protection_domain_ref>(domain);
  call_owner<context, context_ref>(opened);
}

void call_everything() {
  std::error_code code;
  failure why;
  call_everything_with();
  call_everything_with(code);
  call_everything_with(why);
  call_values();

  use(why.code(), why.verb(), why.object(), why.explanation(), why.what(), static_cast<bool>(why));
  const failure described{code, "verb", [](failure_description& description) {
                            use(description.code());
                            description.detail("detail")
                                .object([](text_writer& out) { out.put("object"); })
                                .explain("why")
                                .explain([](text_writer& out) { out.put("why"); });
                            description.finish();
                          }};
  const error thrown{described};
  use(thrown.failure(), thrown.code(), thrown.what());
  use(set_failure_hook(&print_failure));
}

}  // namespace

TEST_CASE("every public member compiles and links") {
  volatile bool run = false;
  if (run) call_everything();
  SUCCEED();
}
