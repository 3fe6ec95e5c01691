// SPDX-License-Identifier: MIT
// Objects of another protection domain than the queue pair's, in each place where one is used.
#include <string>

#include <support/reported.hpp>

#include "memory_windows.hpp"
#include "refusals.hpp"

using namespace adverb;

namespace {

enum class operation { write, write_with_immediate, read, compare_and_swap };

/// Two pairs of one domain, and memory of another.
struct two_domains : window_link<> {
  protection_domain other{context};
  std::vector<std::byte> bytes = std::vector<std::byte>(4096);
  unjudged_region foreign{other, bytes};

  using number = remote_buffer<std::uint64_t, access_right::remote_atomic>;

  [[nodiscard]] mutable_buffer here() const { return foreign.buffer(0, 8); }
  [[nodiscard]] number there() const {
    return claimed<access_right::remote_atomic, std::uint64_t>(
        far_end.region, (8 - far_end.region.device_address() % 8) % 8);
  }
};

/// Posts a request with a local buffer of another domain, which the requester or, after the peer
/// has answered, the arrival of the answer refuses.
template <class MakeRequest>
void check_buffer_is_refused(const MakeRequest& request_for, bool by_answer) {
  two_domains link;
  link.near_pair.post(request_for(link).id(1), send().id(2)).check();
  const completion refused = next_completion(link.near_end.queue);
  CHECK(refused.id() == 1);
  CHECK(refused.status() ==
        (by_answer ? completion_status::local_protection_error : refused_key_on(link.context)));
  const completion flushed = next_completion(link.near_end.queue);
  CHECK(flushed.id() == 2);
  CHECK(flushed.status() == completion_status::flushed);
  CHECK(link.near_pair.query().state() == qp_state::error);
  CHECK(link.bytes == std::vector<std::byte>(link.bytes.size()));
  if (!by_answer) CHECK(link.far_end.bytes == std::vector<std::byte>(link.far_end.bytes.size()));
  reconnect(link);
  check_traffic(link);
}

/// An RC pair whose receives come from a queue of another domain, and one that sends to it.
struct foreign_receives : loopback<transport::rc> {
  protection_domain other{context};
  shared_receive_queue shared{other, {.max_wr = 4, .max_sge = 1}};
  std::vector<std::byte> bytes = std::vector<std::byte>(64);
  unjudged_region of_queue{other, bytes};
  unjudged_region of_pair{domain, bytes};

 private:
  using waiting = queue_pair<transport::rc, qp_state::init>;

  [[nodiscard]] waiting make(reference<ibv_srq> queue) const {
    auto fresh = queue_pair<transport::rc>::create(
        domain, {.send_cq = far_end.queue, .recv_cq = far_end.queue, .srq = queue});
    return initialised(fresh);
  }
  waiting sending_ = make({});
  waiting receiving_ = make(shared);
  endpoint sending_end_ = sending_.endpoint();

 public:
  queue_pair<transport::rc> sender = sending_.connect(receiving_.endpoint(), unhurried());
  queue_pair<transport::rc> receiver = receiving_.connect(sending_end_, unhurried());

  /// Receives a message of eight bytes, and returns the status of the receive.
  [[nodiscard]] completion_status received_into(const mutable_buffer& buffer) const {
    shared.post(receive(buffer).id(1)).check();
    sender.post(send(far_end.region.slice(0, 8))).check();
    completion done = next_completion(far_end.queue);
    if (done.id() != 1) done = next_completion(far_end.queue);
    return done.status();
  }
};

}  // namespace

TEST_CASE("A write from a region of another protection domain fails") {
  check_buffer_is_refused(
      [](const two_domains& link) { return write(link.far_end.remote(), link.here()); }, false);
}

TEST_CASE("A write with immediate data from a region of another protection domain fails") {
  check_buffer_is_refused(
      [](const two_domains& link) {
        return write_with_immediate(link.far_end.remote(), immediate{1}, link.here());
      },
      false);
}

TEST_CASE("A send with immediate data from a region of another protection domain fails") {
  check_buffer_is_refused(
      [](const two_domains& link) { return send_with_immediate(immediate{1}, link.here()); },
      false);
}

TEST_CASE("A send with invalidate from a region of another domain fails and invalidates nothing") {
  window_link link;
  const protection_domain other{link.context};
  std::vector<std::byte> bytes(8);
  const unjudged_region foreign{other, bytes};
  const memory_window<window_type::two> granting{link.domain};
  const auto grant = granting.prepare(link.region, 0, 64);
  link.bind_to(grant);
  link.near_pair.post(send_with_invalidate(grant.key(), foreign.buffer(0, 8)).id(1)).check();
  CHECK(next_completion(link.near_end.queue).status() == refused_key_on(link.context));
  // The key is still bound.
  link.far_pair.post(local_invalidate(grant).signaled()).check();
  next_success(link.far_end.queue);
}

TEST_CASE("A read into a region of another protection domain fails") {
  check_buffer_is_refused(
      [](const two_domains& link) { return read(link.far_end.remote(), link.here()); }, true);
}

TEST_CASE("An atomic with a result in a region of another protection domain fails") {
  check_buffer_is_refused(
      [](const two_domains& link) { return fetch_and_add(link.there(), 1, link.here()); }, true);
  check_buffer_is_refused(
      [](const two_domains& link) {
        return compare_and_swap(link.there(), {.expected = 1, .desired = 1}, link.here());
      },
      true);
}

TEST_CASE("A receive into a region of another protection domain fails on both sides") {
  two_domains link;
  link.far_pair.post(receive(link.here()).id(5)).check();
  link.near_pair.post(send(link.near_end.region.slice(0, 8)).id(1)).check();
  const completion received = next_completion(link.far_end.queue);
  CHECK(received.id() == 5);
  CHECK(received.status() == refused_receive_on(link.context));
  CHECK(next_completion(link.near_end.queue).status() == completion_status::remote_operation_error);
  check_fails_soon(link.far_pair);
  reconnect(link);
  check_traffic(link);
}

TEST_CASE("A shared receive queue of another domain takes buffers of its own domain",
          "[optional]") {
  foreign_receives link;
  if (holds(device_facts::shared_receives_use_domain_of_pair, link.context)) {
    CHECK(link.received_into(link.of_queue.buffer(0, 8)) == refused_receive_on(link.context));
    return tell_skip("buffers of a shared receive queue",
                     "Soft-RoCE uses the domain of the queue pair");
  }
  CHECK(link.received_into(link.of_queue.buffer(0, 8)) == completion_status::success);
}

TEST_CASE("A shared receive queue of another domain refuses buffers of the domain of the pair",
          "[optional]") {
  foreign_receives link;
  if (holds(device_facts::shared_receives_use_domain_of_pair, link.context)) {
    CHECK(link.received_into(link.of_pair.buffer(0, 8)) == completion_status::success);
    return tell_skip("refused buffers of a shared receive queue",
                     "Soft-RoCE uses the domain of the queue pair");
  }
  CHECK(link.received_into(link.of_pair.buffer(0, 8)) != completion_status::success);
}

TEST_CASE(
    "An access with the key of a region of another protection domain fails for each operation") {
  for (const operation wanted : {operation::write, operation::write_with_immediate, operation::read,
                                 operation::compare_and_swap}) {
    CAPTURE(wanted);
    two_domains link;
    const memory_region region{link.other, link.bytes, every_right};
    const mutable_buffer here = link.near_end.region.slice(0, 8);
    const auto writable = claimed<access_right::remote_write>(region);
    const auto number = claimed<access_right::remote_atomic, std::uint64_t>(
        region, (8 - region.device_address() % 8) % 8);
    link.far_pair.post(receive().id(5)).check();
    switch (wanted) {
      case operation::write: link.near_pair.post(write(writable, here)).check(); break;
      case operation::write_with_immediate:
        link.near_pair.post(write_with_immediate(writable, immediate{1}, here)).check();
        break;
      case operation::read:
        link.near_pair.post(read(claimed<access_right::remote_read>(region), here)).check();
        break;
      case operation::compare_and_swap:
        link.near_pair.post(compare_and_swap(number, {.expected = 0, .desired = 1}, here)).check();
        break;
    }
    CHECK(next_completion(link.near_end.queue).status() == completion_status::remote_access_error);
    CHECK(!next_completion(link.far_end.queue).success());
    CHECK(link.bytes == std::vector<std::byte>(link.bytes.size()));
    check_fails_soon(link.far_pair);
    reconnect(link);
    check_traffic(link);
  }
}

TEST_CASE("A pair of another domain fails to bind a window of type 1 with an explanation") {
  window_link link;
  const protection_domain other{link.context};
  const more_pairs others{link.context, other, other};
  const memory_window<window_type::one> granting{link.domain};
  const failure why = reported([&](auto&&... policy) {
    (void)others.far_pair.bind(granting, link.region, 0, 64, {}, policy...);
  });
  CHECK(why.code() == std::errc::operation_not_permitted);
  CHECK(why.verb() == "ibv_bind_mw");
  CHECK(std::string{why.explanation()}.find("queue pair") != std::string::npos);
  // The window is as it was.
  const auto bound = link.far_pair.bind(granting, link.region, 0, 64);
  CHECK(link.write_to(bound.remote(), 64) == completion_status::success);
}

TEST_CASE("The device refuses to bind a window of type 2 to a region of another domain",
          "[optional]") {
  window_link link;
  const protection_domain other{link.context};
  std::vector<std::byte> bytes(64);
  const memory_region foreign{other, bytes, window_rights};
  const memory_window<window_type::two> granting{link.domain};
  const auto whole = granting.prepare(link.region, 0, 64);
  const ibv_mw_bind_info info{foreign.native_handle(), foreign.device_address(), 64,
                              whole.native().mw_access_flags};
  const window_binding<window_type::two, std::byte,
                       access_right::remote_read | access_right::remote_write>
      forged_binding{adopt, whole.native_window(), info, whole.key(), whole.previous_key()};
  link.far_pair.post(bind_window(forged_binding).signaled()).check();
  const completion_status status = next_completion(link.far_end.queue).status();
  if (holds(device_facts::window_takes_region_of_other_domain, link.context) ||
      holds(device_facts::window_takes_region_of_other_domain_again, link.context)) {
    CHECK(status == completion_status::success);
    CHECK(link.write_to(forged_binding.remote(), 64) == completion_status::success);
    return tell_skip("a window over another domain", "Soft-RoCE does not compare the domains");
  }
  CHECK(status == refused_bind_on(link.context));
}
