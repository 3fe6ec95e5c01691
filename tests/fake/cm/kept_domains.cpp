// SPDX-License-Identifier: MIT
// librdmacm's domain of a device is kept by one more identifier, and programs do not notice.
#include <cerrno>

#include <support/catch.hpp>

#include "cm_bench.hpp"
#include "fake/state.hpp"

namespace {

namespace cm = adverb::cm;
constexpr auto rc = adverb::transport::rc;

struct fixture : identifier_bench {
  fixture() {
    adverb::detail::default_domains::release_all();
    id.bind(here);
    machine.forget_calls();
  }

  /// The number of identifiers that were made to keep a domain: they have no channel of the
  /// program.
  [[nodiscard]] std::size_t keepers_made() const {
    std::size_t count = 0;
    for (const auto& call : machine.calls<called::rdma_create_id>())
      count += call.channel == nullptr;
    return count;
  }
  [[nodiscard]] std::size_t keepers() const {
    return keepers_made() - machine.count<called::rdma_destroy_id>();
  }
};

}  // namespace

TEST_CASE_METHOD(fixture, "context creates another identifier that keeps the context open",
                 "[rdma_create_id][rdma_bind_addr]") {
  CHECK(id.context().native_handle() == manager.context());
  CHECK(keepers() == 1);
  (void)id.context();
  (void)id.protection_domain();
  CHECK(keepers_made() == 1);
}

TEST_CASE_METHOD(fixture, "protection_domain creates another identifier that keeps the domain",
                 "[rdma_create_id][rdma_bind_addr]") {
  errno = 7;
  CHECK(id.protection_domain().native_handle() == manager.domain());
  CHECK(errno == 7);
  REQUIRE(keepers() == 1);
  CHECK_THAT(log(), is_log(R"(
    rdma_create_id null ps=TCP
    rdma_bind_addr id1 addr=10.0.0.1:0)"));

  // Once for each device.
  (void)id.protection_domain();
  const cm::identifier other = cm::identifier::create(channel, cm::port_space::tcp);
  other.bind(here.with_port(1));
  (void)other.protection_domain();
  CHECK(keepers_made() == 1);

  // It outlives the others.
  id.close();
  CHECK(keepers() == 0);
  CHECK(machine.count<called::rdma_destroy_id>() == 1);
  const cm::identifier next = cm::identifier::create(channel, cm::port_space::tcp);
  next.bind(here);
  (void)next.protection_domain();
  CHECK(keepers_made() == 1);
}

TEST_CASE_METHOD(fixture, "a domain in which librdmacm creates an object is kept",
                 "[rdma_create_qp][rdma_create_srq][rdma_create_srq_ex]") {
  SECTION("a queue pair") {
    id.create_queue_pair<rc>({}, {});
    CHECK(keepers() == 1);
  }
  SECTION("a queue pair with operations") {
    id.create_queue_pair<rc>({.send_operations = adverb::send_operation::send}, {});
    CHECK(keepers() == 1);
  }
  SECTION("a shared receive queue") {
    id.create_srq({.max_wr = 4});
    CHECK(keepers() == 1);
  }
  SECTION("a shared receive queue of XRC") {
    const adverb::completion_queue queue{id.context(), 8};
    id.create_xrc_srq({.max_wr = 4}, queue);
    id.destroy_srq();
    CHECK(keepers() == 1);
  }
}

TEST_CASE_METHOD(fixture, "an identifier does not keep a domain of the program") {
  const adverb::protection_domain own{adverb::context_ref{manager.context()}};
  id.create_srq({.max_wr = 4}, own);
  id.create_queue_pair<rc>({}, own);
  CHECK(keepers_made() == 0);
  id.destroy_queue_pair();
  id.destroy_srq();
}

TEST_CASE_METHOD(fixture, "a listener on every address has no device and keeps no domain") {
  const cm::identifier everywhere = cm::identifier::create(channel, cm::port_space::tcp);
  everywhere.bind(cm::socket_address::any_ipv4(7472));
  CHECK_FALSE(everywhere.protection_domain());
  CHECK(keepers_made() == 0);
}

TEST_CASE_METHOD(fixture, "protection_domain returns the domain even if it cannot be kept") {
  const std::size_t before = manager.live_objects();
  const auto handed_out = [&] {
    errno = 7;
    CHECK(id.protection_domain().native_handle() == manager.domain());
    CHECK(errno == 7);
  };
  SECTION("no more identifiers") {
    machine.fail<called::rdma_create_id>(EMFILE);
    handed_out();
    CHECK(machine.count<called::rdma_bind_addr>() == 0);
  }
  SECTION("the address is gone") {
    machine.fail<called::rdma_bind_addr>(EADDRNOTAVAIL);
    handed_out();
    CHECK(machine.count<called::rdma_destroy_id>() == 1);
  }
  SECTION("the address is on another device by now") {
    ibv_context other{};
    ibv_context*& bound_to = manager.internals().context;
    ibv_context* const device = std::exchange(bound_to, &other);
    handed_out();
    bound_to = device;
    CHECK(machine.count<called::rdma_destroy_id>() == 1);
  }
  CHECK(manager.live_objects() == before);

  // The next time it is tried again.
  handed_out();
  CHECK(manager.live_objects() > before);
}
