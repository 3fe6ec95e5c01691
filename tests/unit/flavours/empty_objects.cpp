// SPDX-License-Identifier: MIT
// Every call on an object that is empty, at level FAST: it succeeds, fails, or ends the program
// with a sentence, and never reads a null pointer.
#define ADVERB_HARDENING ADVERB_HARDENING_FAST
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <adverb/cm.hpp>
#include <adverb/messages.hpp>
#include <adverb/pool.hpp>
#include <adverb/remote.hpp>
#include <support/catch.hpp>
#include <support/ended_program.hpp>

using namespace adverb;
using namespace std::chrono_literals;

namespace {

/// Checks that a call returns, throws, or ends the program with a sentence.
template <class Call>
void check_call(const char* words, const Call& call) {
  const ended_program found{[&] {
    ::alarm(20);
    try {
      call();
    } catch (const std::exception&) {
    }
  }};
  INFO(words << ": " << found.words);
  if (WIFEXITED(found.status)) {
    CHECK(WEXITSTATUS(found.status) == 0);
  } else {
    CHECK(WTERMSIG(found.status) == SIGABRT);
    CHECK(found.words.find(": EINVAL (Invalid argument); ") != std::string::npos);
  }
}

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): it prints the call.
#define TRY(...) check_call(#__VA_ARGS__, [&] { static_cast<void>(__VA_ARGS__); })

std::array<std::uint64_t, 8> numbers{};
std::array<completion, 4> batch;
const auto consume = [](const auto&) {};
const auto stop = [] { return true; };

}  // namespace

TEST_CASE("Calls on empty devices fail or end the program with a sentence") {
  context c;
  TRY(c.device());
  TRY(c.query_device());
  TRY(c.query_port(port_number{1}));
  TRY(c.gid(port_number{1}, gid_index{0}));
  TRY(c.gid_entry(port_number{1}, gid_index{0}));
  TRY(c.gid_table());
  TRY(c.pkey(port_number{1}, pkey_index{0}));
  TRY(c.find_pkey(port_number{1}, pkey{0xffff}));
  TRY(c.device_time());
  TRY(c.port_megabits(port_number{1}));
  TRY(c.command_file_descriptor());
  TRY(c.async_file_descriptor());
  TRY(c.completion_vectors());
  TRY(c.has_async_event());
  TRY(c.next_async_event());
  TRY(c.set_async_non_blocking(true));
  TRY(c.close());
  TRY(c.release());
  TRY(context{device_ref{}});
  TRY(device_ref{}.name());
  TRY(device_ref{}.character_device());
  TRY(device_ref{}.transport_type());
  TRY(device_ref{}.node_type());
  TRY(device_ref{}.index());
  TRY(device_ref{}.node_guid());
  TRY(protection_domain{c});
  TRY(completion_channel{c});
  TRY(completion_queue{c, 16});
  TRY(extended_completion_queue<standard_completion_fields>{c, 16});
  TRY(thread_domain{c});
  TRY(device_memory(c, 64));
  TRY(completion_counter{c});
  TRY(dma_handle{c});
  TRY(xrc_domain{c});
  TRY(imported_protection_domain(c, protection_domain_handle{1}));
  TRY(query_completion_counters(c));
}

TEST_CASE("Calls on empty domains and memory fail or end the program with a sentence") {
  protection_domain d;
  memory_region r;
  device_memory m;
  provider_buffer p;
  dma_handle h;
  TRY(d.context());
  TRY(d.handle());
  TRY(d.close());
  TRY(memory_region{d, numbers});
  TRY(memory_region::null(d));
  TRY(memory_region::of_whole_address_space(d, access_right::local_write));
  TRY(memory_region::of_device_memory(d, m, access_right::local_write));
  TRY(memory_region::with_dma_handle(d, numbers, h, access_right::local_write));
  TRY(memory_region::of_provider_buffer(p, access_right::local_write));
  TRY(memory_region::with_device_address(d, numbers, 0, access_right::local_write));
  TRY(memory_region::of_dmabuf(d, dmabuf_range{.file_descriptor = 3, .offset = 0, .length = 64},
                               access_right::local_write));
  TRY(r.lkey());
  TRY(r.rkey());
  TRY(r.size());
  TRY(r.device_address());
  TRY(r.rights());
  TRY(r.slice(0, 8));
  TRY(r.const_slice(0, 8));
  TRY(r.buffer());
  TRY(r.const_buffer());
  TRY(r.unchecked_slice(0, 8));
  TRY(r.blocks(8));
  TRY(r.remote<std::uint64_t>());
  TRY(r.remote_readable());
  TRY(r.remote_writable());
  TRY(r.reregister(numbers));
  TRY(r.reregister({.rights = access_right::local_write}));
  TRY(r.handle());
  TRY(r.buffer_of(std::span{numbers}));
  TRY(r.const_buffer_of(std::span{numbers}));
  TRY(r.close());
  TRY(r.protection_domain());
  TRY(r.context());
  TRY(m.context());
  TRY(m.handle());
  TRY(m.export_dmabuf());
  TRY(m.store(0, numbers));
  TRY(m.load(0, numbers));
  TRY(p.protection_domain());
  TRY(p.bytes());
  TRY(p.export_dmabuf());
  TRY(h.context());
  TRY(provider_buffer(d, 64));
  TRY(parent_domain(d, {}));
  TRY(memory_window<window_type::one>{d});
  TRY(memory_window<window_type::two>{d});
  memory_window<window_type::one> one;
  memory_window<window_type::two> two;
  TRY(one.context());
  TRY(one.protection_domain());
  TRY(one.key());
  TRY(one.restore_key(rkey{}));
  TRY(two.context());
  TRY(two.protection_domain());
  TRY(two.key());
  TRY(two.restore_key(rkey{}));
  TRY(two.prepare(r, 0, 8));
  TRY(prefetch(d, std::array<mutable_buffer, 1>{}));
  TRY(imported_memory_region(d, memory_region_handle{1}, access_right::local_write, 0));
  thread_domain t;
  TRY(t.context());
  xrc_domain x;
  TRY(x.context());
  TRY(buffer_blocks<mutable_buffer>{}[0]);
  completion_counter n;
  TRY(n.context());
  TRY(n.value());
  TRY(n.errors());
  TRY(n.set(1));
  TRY(n.add(1));
  TRY(n.attach(queue_pair_ref<transport::rc, qp_state::init>{}, counted_operation::send));
  counters cs;
  TRY(cs.read(std::span<std::uint64_t>{numbers}));
}

TEST_CASE("Calls on empty queues fail or end the program with a sentence") {
  completion_channel ch;
  TRY(ch.context());
  TRY(ch.file_descriptor());
  TRY(ch.next_event());
  TRY(ch.set_non_blocking(true));
  completion_queue q;
  extended_completion_queue<standard_completion_fields> e;
  TRY(q.context());
  TRY(q.capacity());
  TRY(q.channel());
  TRY(q.user_context());
  TRY(q.request_notification());
  TRY(q.resize(32));
  TRY(q.moderate(16, 10us));
  TRY(q.poll(batch));
  TRY(q.poll(up_to<4>, consume));
  TRY(q.wait(batch));
  TRY(q.wait(batch, 1s));
  TRY(q.busy_poll(batch, 1s));
  TRY(q.next());
  TRY(q.next(1s));
  TRY(q.arm_and_poll(batch, consume));
  TRY(q.poll_until(batch, consume, stop));
  TRY(q.wait_until(batch, consume, stop, 1s));
  TRY(e.context());
  TRY(e.capacity());
  TRY(e.channel());
  TRY(e.request_notification());
  TRY(e.resize(32));
  TRY(e.moderate(16, 10us));
  TRY(e.poll(up_to<4>, consume));
  TRY(e.wait(up_to<4>, consume));
  TRY(e.wait(up_to<4>, consume, 1s));
  TRY(e.busy_poll(up_to<4>, consume, 1s));
  TRY(e.arm_and_poll(up_to<4>, consume));
  TRY(e.poll_until(up_to<4>, consume, stop));
  TRY(e.wait_until(up_to<4>, consume, stop, 1s));
  protection_domain d;
  shared_receive_queue s;
  TRY(s.context());
  TRY(s.protection_domain());
  TRY(s.user_context());
  TRY(s.post(receive()).check());
  TRY(s.query());
  TRY(s.resize(8));
  TRY(s.set_limit(2));
  TRY(shared_receive_queue(d, {}));
  xrc_domain xd;
  TRY(xrc_shared_receive_queue(d, xd, q, {}));
  TRY(tag_matching_queue(d, q, {}));
  xrc_shared_receive_queue xs;
  TRY(xs.number());
  tag_matching_queue tm;
  TRY(tm.post_operations(add_tag(1)).check());
  TRY(queue_pair<transport::rc>::create(d, {.cq = q}));
  queue_pair<transport::rc> rc;
  queue_pair<transport::ud> ud;
  TRY(rc.number());
  TRY(rc.context());
  TRY(rc.protection_domain());
  TRY(rc.query());
  TRY(rc.send_cq());
  TRY(rc.recv_cq());
  TRY(rc.post(send(const_buffer{})));
  TRY(rc.post(receive(mutable_buffer{})));
  TRY(rc.srq());
  TRY(rc.user_context());
  TRY(ud.number());
  TRY(ud.post(receive(mutable_buffer{})));
  queue_pair<transport::rc, qp_state::reset> reset;
  TRY(reset.init().port(port_number{1}).apply());
  address_handle ah;
  TRY(ah.close());
  work_queue w;
  TRY(w.number());
  send_window<queue_pair_ref<transport::rc>> sw;
  TRY(sw.post(send(const_buffer{})).check());
  TRY(sw.completed(batch[0]));
}

TEST_CASE("Calls on empty objects of librdmacm fail or end the program with a sentence") {
  cm::event_channel ch;
  TRY(ch.next_event());
  TRY(ch.file_descriptor());
  TRY(ch.set_non_blocking(true));
  TRY(cm::identifier::create(ch, cm::port_space::tcp));
  cm::identifier id;
  const cm::socket_address to = cm::socket_address::any(1);
  TRY(id.context());
  TRY(id.protection_domain());
  TRY(id.queue_pair<transport::rc>());
  TRY(id.send_cq());
  TRY(id.recv_cq());
  TRY(id.local_address());
  TRY(id.peer_address());
  TRY(id.bind(to));
  TRY(id.resolve_address(to, {}, 1s));
  TRY(id.found_addresses());
  TRY(id.resolve_route(1s));
  TRY(id.create_queue_pair<transport::rc>({}, {}));
  TRY(id.destroy_queue_pair());
  TRY(id.create_srq({}));
  TRY(id.destroy_srq());
  TRY(id.settings_for(qp_state::init));
  TRY(id.connect({}));
  TRY(id.establish());
  TRY(id.listen(1));
  TRY(id.accept({}));
  TRY(id.reject());
  TRY(id.reject_ece());
  TRY(id.join_multicast(to));
  TRY(id.leave_multicast(to));
  TRY(id.raise_event(1));
  TRY(id.notify(async_event_type::communication_established));
  TRY(id.disconnect());
  TRY(id.set_type_of_service(1));
  TRY(id.set_path(cm::path_record{}));
  TRY(id.path());
  TRY(id.remote_ece());
  TRY(id.migrate(ch));
  TRY(id.channel());
  TRY(id.user_context());
  cm::connection<> c;
  TRY(c.queue_pair());
  TRY(c.protection_domain());
  TRY(c.send_cq());
  TRY(c.recv_cq());
  TRY(c.local_address());
  TRY(c.peer_address());
  TRY(c.private_data());
  TRY(c.parameters());
  TRY(c.identifier());
  TRY(c.has_ended());
  TRY(c.file_descriptor());
  TRY(c.next_event());
  TRY(c.disconnect());
  TRY(c.start_disconnect());
  TRY(c.wait_disconnected(1s));
  TRY(c.drain(consume));
  TRY(c.start_drain());
  TRY(c.close());
  TRY(c.wait(completion_queue_ref{}, batch));
  TRY(c.migrate(ch));
  cm::connector<transport::rc> start;
  TRY(start.identifier());
  TRY(start.resolve_address(to));
  TRY(start.start_resolve_address(to));
  TRY(start.finish());
  cm::connector<transport::rc, cm::step::address_resolved> near;
  TRY(near.context());
  TRY(near.protection_domain());
  TRY(near.resolve_route());
  cm::connector<transport::rc, cm::step::ready> ready;
  TRY(ready.queue_pair());
  TRY(ready.connect());
  TRY(ready.start_connect());
  TRY(ready.finish());
  cm::connector<transport::rc, cm::step::ready, cm::pair_owner::program> own;
  TRY(own.queue_pair());
  TRY(own.offer_ece({}));
  TRY(own.connect());
  TRY(own.start_connect());
  TRY(own.finish());
  TRY(own.take_queue_pair());
  cm::datagram_endpoint de;
  TRY(de.queue_pair());
  TRY(de.context());
  TRY(de.port());
  TRY(de.protection_domain());
  TRY(de.send_cq());
  TRY(de.recv_cq());
  TRY(de.local_address());
  TRY(de.resolve_peer(to));
  TRY(de.join(to));
  TRY(de.close());
  cm::listener<transport::rc> l;
  TRY(l.identifier());
  TRY(l.local_address());
  TRY(l.port());
  TRY(l.set_user_context(nullptr));
  TRY(l.next_request(1s));
  TRY(l.try_next_request());
  TRY(l.accept());
  TRY(l.file_descriptor());
  cm::connection_request<transport::rc> rq;
  TRY(rq.identifier());
  TRY(rq.protection_domain());
  TRY(rq.private_data());
  TRY(rq.parameters());
  TRY(rq.create_queue_pair({}));
  TRY(rq.reject());
  cm::connection_request<transport::rc, cm::step::ready> rr;
  TRY(rr.queue_pair());
  TRY(rr.accept());
  TRY(rr.start_accept());
  TRY(rr.finish());
  cm::connection_request<transport::rc, cm::step::ready, cm::pair_owner::program> ro;
  TRY(ro.queue_pair());
  TRY(ro.accept());
  TRY(ro.start_accept());
  TRY(ro.finish());
  TRY(ro.take_queue_pair());
}

TEST_CASE("Calls on empty asynchronous objects fail or end the program with a sentence") {
  async::connection c;
  TRY(c.send(const_buffer{}));
  TRY(c.next());
  TRY(c.disconnect());
  TRY(c.try_send(const_buffer{}));
  TRY(c.expires_after(1s));
  TRY(c.cancel());
  TRY(c.cancel_waits());
  TRY(c.queue_pair());
  TRY(c.established());
  TRY(c.memory(4));
  TRY(c.post(send(const_buffer{})));
  TRY(c.protection_domain());
  async::message m;
  TRY(m.fields());
  TRY(m.buffer());
  TRY(m.bytes());
  TRY(m.text());
  TRY(m.as<int>());
  async::datagram g;
  TRY(g.bytes());
  TRY(g.buffer());
  TRY(g.header());
  async::datagram_endpoint de;
  TRY(de.next());
  TRY(de.cancel());
  TRY(de.cancel_waits());
  TRY(de.expires_after(1s));
  TRY(de.queue_pair());
  TRY(de.memory(4));
  TRY(de.resolve(cm::socket_address::any(1)));
  async::loop_memory lm;
  TRY(lm.bytes());
  TRY(lm.buffer());
  TRY(lm.slice(0, 1));
  messages::channel ch;
  TRY(ch.send(1));
  TRY(ch.next());
  TRY(ch.close());
  TRY(ch.try_send(1));
  TRY(ch.cancel());
  TRY(ch.unconfirmed());
  TRY(ch.longest_eager());
  TRY(ch.peer_address());
  TRY(ch.statistics());
  TRY(ch.protection_domain());
  TRY(ch.memory(4));
  TRY(messages::caller{ch});
  messages::incoming in;
  TRY(in.size());
  TRY(in.lane());
  TRY(in.tag());
  TRY(in.is_request());
  TRY(in.reply(1));
  TRY(in.is_offer());
  TRY(in.receive_into(mutable_buffer{}));
  TRY(in.bytes());
  TRY(in.text());
  TRY(in.as<int>());
  buffer_lease lease;
  TRY(lease.bytes());
  TRY(lease.buffer());
  TRY(lease.in_flight());
  cached_region cr;
  TRY(cr.region());
  TRY(cr.buffer());
  TRY(cr.const_buffer());
  remote_stream rs;
  TRY(rs.read(std::span<std::byte>{}));
  TRY(rs.write(std::span<const std::byte>{}));
  TRY(rs.close());
  remote_ring<int>::writer rw;
  TRY(rw.claim());
  TRY(rw.publish());
  TRY(rw.room());
  TRY(rw.close());
  TRY(rw.drain());
  remote_ring<int>::reader rd;
  TRY(rd.next());
  TRY(rd.description());
}
