// SPDX-License-Identifier: MIT
// Why calls and steps of an identifier fail, in words: on a machine whose addresses are known.
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <unistd.h>

#include <adverb/cm/detail/session.hpp>
#include <support/catch.hpp>

#include "cm_bench.hpp"
#include "local_addresses.hpp"

namespace {

namespace cm = adverb::cm;
namespace detail = adverb::detail;

cm::socket_address at(const char* address, std::uint16_t port = 0) {
  return *cm::socket_address::parse(address, port);
}

constexpr const char* far_away = "10.7.0.7";

/// An ordinary interface, and two that an RDMA device serves. No machine has the scopes.
struct fixture : cm_bench {
  local_addresses machine_has{{
      {"lo", at("127.0.0.1"), IFF_UP | IFF_LOOPBACK},
      {"down0", {}},
      {"eth0", at("10.9.0.1")},
      {"rxe0", at("10.0.0.1")},
      {"rxe1", at("10.2.0.1")},
      {"eth0", at("fe80::9%9900009")},
      {"rxe0", at("fe80::3%9900003")},
  }};
  rdma_cm_id id{};

  ~fixture() {
    CHECK(machine_has.not_freed() == 0);
    CHECK(manager.live_objects() == 0);
  }

  void is_at(const cm::socket_address& local, const cm::socket_address& remote = {}) {
    id.route = {};
    if (!local.is_empty()) std::memcpy(&id.route.addr.src_storage, local.native(), local.length());
    if (!remote.is_empty())
      std::memcpy(&id.route.addr.dst_storage, remote.native(), remote.length());
  }

  [[nodiscard]] std::string why(std::string_view verb, int error, const cm::socket_address& to = {},
                                const cm::socket_address& from = {}) {
    const adverb::static_string<512> words{[&](adverb::text_writer& writer) {
      detail::explain_call(writer,
                           {verb, std::error_code{error, std::generic_category()}, &id, to, from});
    }};
    return std::string{words.view()};
  }
  /// The same where no device serves the first address that is looked at, that of eth0.
  [[nodiscard]] std::string why_without_first(std::string_view verb, int error,
                                              const cm::socket_address& to = {},
                                              const cm::socket_address& from = {}) {
    machine.fail<called::rdma_bind_addr>(ENODEV);
    return why(verb, error, to, from);
  }

  const std::string rdma_devices = "the RDMA devices here have 10.0.0.1 (fake0), 10.2.0.1 (fake0)";
};

}  // namespace

TEST_CASE_METHOD(fixture, "interface_of returns the interface of an address") {
  const auto interface_of = [](const cm::socket_address& wanted) {
    return std::string{detail::interface_of(wanted).view()};
  };
  CHECK(interface_of(at("10.9.0.1", 7471)) == "eth0");
  CHECK(interface_of(at("10.2.0.1")) == "rxe1");
  CHECK(interface_of(at("10.9.0.2")).empty());
  CHECK(interface_of(at("fe80::3%9900003")) == "rxe0");
  CHECK(interface_of(at("fe80::3")) == "rxe0");
  CHECK(interface_of(at("fe80::3%9900009")).empty());
  CHECK(interface_of(at("fe80::9%9900009", 1)) == "eth0");
  // An address that is neither IPv4 nor IPv6 belongs to no interface.
  CHECK(interface_of({adverb::gid{}, cm::service_id{1}}).empty());
  CHECK(interface_of({}).empty());
}

TEST_CASE("interface_of returns the first interface of two with the same address") {
  const local_addresses machine_has{{{"eth0", at("10.9.0.1")}, {"eth1", at("10.9.0.1")}}};
  CHECK(detail::interface_of(at("10.9.0.1")).view() == "eth0");
}

TEST_CASE_METHOD(fixture, "the explanation lists the RDMA addresses of one family") {
  const auto listed = [&](cm::address_family family) {
    const adverb::static_string<512> words{
        [&](adverb::text_writer& writer) { detail::put_rdma_addresses(writer, family); }};
    return std::string{words.view()};
  };
  machine.fail<called::rdma_bind_addr>(ENODEV);
  CHECK(listed(cm::address_family::ipv4) == rdma_devices);
  // Not that of the loopback interface, which is no use anywhere.
  CHECK(machine.count<called::rdma_bind_addr>() == 3);
  CHECK(listed(cm::address_family::ipv6) ==
        "the RDMA devices here have [fe80::9%9900009] (fake0), [fe80::3%9900003] (fake0)");
  CHECK(listed(cm::address_family::infiniband) == "no RDMA device here has an InfiniBand address");
  machine.fail<called::rdma_create_id>(EMFILE);
  CHECK(listed(cm::address_family::ipv4) == rdma_devices);
}

TEST_CASE_METHOD(fixture, "local_addresses returns the addresses of RDMA devices",
                 "[rdma_bind_addr]") {
  machine.fail<called::rdma_bind_addr>(ENODEV);
  std::string found;
  for (const cm::local_address& each : cm::local_addresses())
    found += adverb::to_string(each.address) + " " + std::string{each.device.view()} + "\n";
  CHECK(found ==
        "10.0.0.1 fake0\n10.2.0.1 fake0\n[fe80::9%9900009] fake0\n"
        "[fe80::3%9900003] fake0\n");
}

TEST_CASE("an explanation lists only a few addresses") {
  cm_bench bench;
  std::vector<local_addresses::entry> many;
  for (std::uint8_t number = 0; number < 100; ++number)
    many.push_back({"rxe0", {adverb::ipv4_address{10, 0, 1, number}, 0}});
  const auto listed = [] {
    const adverb::static_string<512> words{[](adverb::text_writer& writer) {
      detail::put_rdma_addresses(writer, cm::address_family::ipv4);
    }};
    return std::string{words.view()};
  };
  const local_addresses machine_has{many};
  const std::string found = listed();
  CHECK(found.find("10.0.1.7 (fake0)") != std::string::npos);
  CHECK(found.find("10.0.1.8 (fake0)") == std::string::npos);
  CHECK(bench.machine.count<called::rdma_bind_addr>() == 8);

  // Nor are thousands looked at where no device serves any.
  bench.machine.forget_calls();
  bench.machine.before<called::rdma_bind_addr>(
      [&] { bench.machine.fail<called::rdma_bind_addr>(ENODEV); });
  CHECK(listed() == "no RDMA device here has an IPv4 address");
  CHECK(bench.machine.count<called::rdma_bind_addr>() == 64);
  CHECK(bench.manager.live_objects() == 0);
}

TEST_CASE_METHOD(fixture, "a failed bind explains its cause", "[rdma_bind_addr]") {
  const auto bind = [&](int error, const cm::socket_address& to) {
    return why("rdma_bind_addr", error, to);
  };
  CHECK(bind(EINVAL, {}) == "no address is given");
  CHECK(bind(EACCES, at("10.0.0.1", 80)) == "ports below 1024 are for privileged programs");
  CHECK(bind(EINVAL, at("fe80::3", 80)) ==
        "a link-local address needs its interface: fe80::3%eth0, say");
  CHECK(bind(EADDRINUSE, at("10.0.0.1", 7471)) ==
        "port 7471 is in use: another identifier or, over iWARP, a socket has it");
  CHECK(bind(EADDRNOTAVAIL, at("10.0.0.1", 7471)) ==
        "port 7471 is in use: another identifier or, over iWARP, a socket has it");
  CHECK(bind(EADDRINUSE, at("fe80::3%9900003", 7471)) ==
        "port 7471 is in use: another identifier or, over iWARP, a socket has it");
  CHECK(bind(EADDRINUSE, cm::socket_address::any(7471)) ==
        "port 7471 is in use: another identifier or, over iWARP, a socket has it");
  CHECK(bind(EIO, at("10.0.0.1", 7471)).empty());
  CHECK(why_without_first("rdma_bind_addr", ENODEV, at("10.9.0.1", 7471)) ==
        "no RDMA device serves 10.9.0.1 (eth0); " + rdma_devices);
  CHECK(why_without_first("rdma_bind_addr", EADDRNOTAVAIL, at(far_away, 7471)) ==
        "10.7.0.7 is not an address of this machine; " + rdma_devices);
  is_at(at("10.0.0.1", 5));
  CHECK(bind(EINVAL, at("10.0.0.1", 7471)) == "it has the address 10.0.0.1:5 already");
}

TEST_CASE_METHOD(fixture, "a failed listen explains its cause", "[rdma_listen]") {
  CHECK(why("rdma_listen", EADDRINUSE).empty());
  is_at(at("10.0.0.1", 7471));
  CHECK(why("rdma_listen", EINVAL) == "it already listens");
  CHECK(why("rdma_listen", EADDRINUSE) ==
        "port 7471 is in use: another identifier or, over iWARP, a socket has it");
  is_at(at("10.0.0.1", 7471), at(far_away, 1));
  CHECK(why("rdma_listen", EINVAL) == "it was created to connect to 10.7.0.7:1");
}

TEST_CASE_METHOD(fixture, "a failed address resolution explains its cause", "[rdma_resolve_addr]") {
  constexpr std::string_view verb = "rdma_resolve_addr";
  CHECK(why(verb, EINVAL) == "no address is given");
  const auto to = at(far_away, 7471);
  CHECK(why(verb, EINVAL, to, at("fe80::3%9900003")) ==
        "[fe80::3%9900003] is IPv6, and 10.7.0.7:7471 is IPv4");
  for (const int error : {ENETUNREACH, EHOSTUNREACH})
    CHECK(why_without_first(verb, error, to) ==
          "this machine has no route to 10.7.0.7; " + rdma_devices);
  CHECK(why(verb, EADDRNOTAVAIL, to, at("10.0.0.1", 7471)) ==
        "port 7471 is in use: another identifier or, over iWARP, a socket has it");
  CHECK(why(verb, EINVAL, at("fe80::77", 7471)) ==
        "a link-local address needs its interface: fe80::77%eth0, say");
  CHECK(why_without_first(verb, ENODEV, at("10.9.0.1", 7471)) ==
        "no RDMA device serves 10.9.0.1 (eth0); " + rdma_devices);
  CHECK(why_without_first(verb, ENODEV, to) ==
        "the route to 10.7.0.7 uses no RDMA device; " + rdma_devices);
  CHECK(why(verb, EIO, to).empty());

  is_at(at("fe80::3%9900003", 5));
  CHECK(why(verb, EINVAL, to) == "[fe80::3%9900003]:5 is IPv6, and 10.7.0.7:7471 is IPv4");
  is_at(at("10.0.0.1", 5), at("10.0.0.2", 6));
  CHECK(why(verb, EINVAL, to) == "the address 10.0.0.2:6 is already resolved or being resolved");
  CHECK(why(verb, EIO, to).empty());
}

TEST_CASE_METHOD(fixture, "a failed rdma_connect explains its cause", "[rdma_connect]") {
  CHECK(why("rdma_connect", ECONNREFUSED) ==
        "possible causes: nothing listens on that port, or a firewall rejects it");
  CHECK(why("rdma_connect", EINVAL) == "the address is not resolved yet");
  ibv_context context{};
  id.verbs = &context;
  CHECK(
      why("rdma_connect", EINVAL) ==
      "possible causes: the route is not resolved yet, a connection was already requested, or more "
      "reads and atomics in progress than the device allows");
  id.verbs = nullptr;
  CHECK(why("rdma_connect", EIO).empty());
  is_at(at("10.0.0.1"), at("fe80::77", 7471));
  CHECK(why("rdma_connect", EINVAL) ==
        "a link-local address needs its interface: fe80::77%eth0, say");
}

TEST_CASE_METHOD(fixture, "a refused step explains its cause") {
  is_at(at("10.9.0.1", 5), at(far_away, 7471));
  CHECK(why_without_first("rdma_resolve_route", ENODEV) ==
        "no RDMA device serves 10.9.0.1 (eth0); " + rdma_devices);
  CHECK(why("rdma_resolve_route", EINVAL) ==
        "possible causes: the address is still being resolved, or the route is resolved or being "
        "resolved");
  id.route.num_paths = 1;
  CHECK(why("rdma_resolve_route", EINVAL) == "the route is already resolved");
  id.route.num_paths = 0;
  for (const char* verb : {"rdma_create_qp", "rdma_create_qp_ex"}) {
    CHECK(why(verb, EINVAL).empty());
    ibv_qp pair{};
    id.qp = &pair;
    CHECK(why(verb, EINVAL) == "it already has a queue pair");
    id.qp = nullptr;
  }
  for (const char* verb : {"rdma_reject", "rdma_reject_ece"})
    CHECK(why(verb, EINVAL) == "no request awaits an answer");
  CHECK(why("rdma_accept", EINVAL) ==
        "possible causes: no request awaits an answer, or more reads and atomics in progress than "
        "the device allows");
  CHECK(why("rdma_disconnect", EINVAL) == "it is not connected");
  CHECK(why("rdma_establish", EINVAL) ==
        "possible causes: no peer has accepted, or the connection is already established");
  CHECK(why("rdma_establish", EIO).empty());
  CHECK(why("rdma_notify", EINVAL).empty());
}

TEST_CASE_METHOD(fixture, "a timeout explains which answer is missing") {
  is_at(at("10.0.0.1", 5), at(far_away, 7471));
  const auto silence = [&](std::string_view verb) {
    const adverb::static_string<512> words{[&](adverb::text_writer& writer) {
      detail::explain_silence(writer, verb, &id, std::chrono::seconds{3});
    }};
    return std::string{words.view()};
  };
  CHECK(
      silence("rdma_connect") ==
      "10.7.0.7:7471 did not answer within 3 s; possible causes: it is down, packets are lost, or "
      "its program does not respond");
  CHECK(silence("rdma_accept") == "10.7.0.7:7471 did not confirm the connection within 3 s");
  CHECK(silence("rdma_resolve_route") == "no event arrived within 3 s");
}

TEST_CASE_METHOD(fixture, "every event that ends a step has an errno and an explanation") {
  const auto channel = cm::event_channel::create();
  const auto own = cm::identifier::create(channel, cm::port_space::tcp);
  own.resolve_address(peer, {}, std::chrono::seconds{1});
  (void)channel.next_event();
  struct meaning {
    int error;
    std::string words;
  };
  const auto of = [&](rdma_cm_event_type type, int status) {
    manager.raise(own.native_handle(), {type, status});
    const cm::event event = *channel.next_event();
    const adverb::static_string<512> words{
        [&](adverb::text_writer& writer) { detail::explain_event(writer, event); }};
    return meaning{detail::errno_of(event), std::string{words.view()}};
  };
  const auto check = [&](rdma_cm_event_type type, int status, int error, std::string_view words) {
    CAPTURE(rdma_event_str(type), status);
    const meaning told = of(type, status);
    CHECK(told.error == error);
    CHECK(told.words == words);
  };
  machine.fail<called::rdma_bind_addr>(ENODEV);
  check(RDMA_CM_EVENT_ADDR_ERROR, -ENODEV, ENODEV,
        "the route to 10.0.0.2 uses no RDMA device; " + rdma_devices);
  check(RDMA_CM_EVENT_ADDR_ERROR, -ENETUNREACH, ENETUNREACH,
        "this machine has no route to 10.0.0.2");
  check(RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT, EHOSTUNREACH, "no neighbour answers for 10.0.0.2");
  const std::string no_path =
      "the path was not found; possible causes: the subnet manager does not answer, or it has no "
      "path to the address";
  check(RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT, EHOSTUNREACH, no_path);
  check(RDMA_CM_EVENT_ROUTE_ERROR, -EINVAL, EINVAL, no_path);
  check(RDMA_CM_EVENT_CONNECT_ERROR, -1, EIO, "librdmacm could not bring the queue pair up");
  check(RDMA_CM_EVENT_MULTICAST_ERROR, -1, EIO,
        "librdmacm could not attach the queue pair to the group");
  check(RDMA_CM_EVENT_ROUTE_ERROR, -1, EIO,
        "librdmacm could not query the outcome from the kernel");
  check(RDMA_CM_EVENT_MULTICAST_ERROR, 0, ECONNABORTED,
        "possible causes: the join failed, or an earlier membership is lost");
  check(RDMA_CM_EVENT_REJECTED, 28, ECONNREFUSED,
        "the peer rejected the connection: possible causes: its program refused or ended, or "
        "listens on "
        "this port of other addresses only");
  check(RDMA_CM_EVENT_UNREACHABLE, 1, ECONNREFUSED,
        "the peer returned no queue pair: nothing listens on that port");
  const std::string no_answer =
      "the peer did not answer; possible causes: it is down, packets are lost, or its program does "
      "not respond";
  check(RDMA_CM_EVENT_UNREACHABLE, 0, EHOSTUNREACH, no_answer);
  check(RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, EHOSTUNREACH, no_answer);
  check(RDMA_CM_EVENT_DISCONNECTED, 0, ECONNRESET, "the peer disconnected meanwhile");
  check(RDMA_CM_EVENT_DISCONNECTED, -ETIMEDOUT, EHOSTUNREACH,
        "the peer did not answer the disconnect request");
  check(RDMA_CM_EVENT_DEVICE_REMOVAL, 0, ENODEV, "the device was removed");
  check(RDMA_CM_EVENT_ESTABLISHED, 0, ECONNABORTED, "the answer was: established");
  // The kernel has destroyed the identifier.
  machine.fail_by([](const fake::call& made) {
    return made.line().starts_with("rdma_init_qp_attr") ? ENXIO : 0;
  });
  check(RDMA_CM_EVENT_CONNECT_ERROR, -1, ENODEV, "the device was removed");
}
