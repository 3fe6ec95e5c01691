// SPDX-License-Identifier: MIT
// One line that connects: the addresses of a host that are tried, and the failure if none works.
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <support/catch.hpp>
#include <support/named_host.hpp>
#include <support/reported.hpp>

#include "cm_bench.hpp"
#include "interrupting.hpp"

namespace {

namespace cm = adverb::cm;
using namespace std::chrono_literals;
using adverb::transport;

constexpr int by_the_program = 28;
constexpr int no_one_listens = 8;

struct hosts : cm_bench {
  ~hosts() { CHECK(manager.live_objects() == 0); }

  /// The addresses that were resolved since the last time.
  [[nodiscard]] std::vector<std::string> tried() {
    std::vector<std::string> all;
    for (const std::string& each : machine.lines<called::rdma_resolve_addr>().lines)
      all.push_back(field(each, "dst_addr"));
    machine.forget_calls();
    return all;
  }
  void rejects(int reason, std::string words = {}) {
    manager.answer<called::rdma_connect>({{RDMA_CM_EVENT_REJECTED, reason, std::move(words)}});
  }
  void is_far_from_every_device() {
    manager.answer<called::rdma_resolve_addr>({{RDMA_CM_EVENT_ADDR_ERROR, -ENODEV}});
  }
  void is_near() { manager.answer<called::rdma_resolve_addr>({{RDMA_CM_EVENT_ADDR_RESOLVED}}); }
  void is_silent() { manager.answer<called::rdma_connect>({}); }
};

using texts = std::vector<std::string>;

}  // namespace

TEST_CASE_METHOD(hosts, "the addresses of a host are tried until one answers") {
  const named_host host{{"10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5"}};
  is_far_from_every_device();
  rejects(no_one_listens);
  int seen = 0;
  adverb::failure why;
  const auto connection = cm::connect(host.name, 7471, {}, [&](auto&) { ++seen; }, why);
  REQUIRE(connection);
  CHECK_FALSE(why);
  CHECK(tried() == texts{"10.0.0.2:7471", "10.0.0.3:7471", "10.0.0.4:7471"});
  CHECK(seen == 2);
  CHECK(connection.peer_address() == *cm::socket_address::parse("10.0.0.4", 7471));
}

TEST_CASE_METHOD(hosts, "the timeouts apply to each address separately") {
  const named_host host{{"10.0.0.2", "10.0.0.3", "10.0.0.4"}};
  manager.answer<called::rdma_resolve_addr>({{RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT}});
  is_silent();
  CHECK(cm::connect(host.name, 7471, {.resolve_timeout = 300ms, .connect_timeout = 20ms}));
  CHECK_THAT((machine.lines<called::rdma_resolve_addr, called::rdma_resolve_route>()), is_log(R"(
    rdma_resolve_addr id0 dst_addr=10.0.0.2:7471 timeout_ms=300
    rdma_resolve_addr id1 dst_addr=10.0.0.3:7471 timeout_ms=300
    rdma_resolve_route id1 timeout_ms=300
    rdma_resolve_addr id2 dst_addr=10.0.0.4:7471 timeout_ms=300
    rdma_resolve_route id2 timeout_ms=300)"));
}

TEST_CASE_METHOD(hosts, "connect passes each option to its step",
                 "[rdma_resolve_addr][rdma_create_qp][rdma_connect]") {
  const adverb::context device = adverb::open_device();
  const adverb::protection_domain own{device};
  CHECK_THAT(log_of([&] {
               CHECK(cm::connect("10.0.0.2", 7471,
                                 {.queue_pair = {.max_recv_wr = 6},
                                  .domain = own,
                                  .connection = {.private_data = cm::private_data::of("hello")},
                                  .from = here}));
             }),
             is_log(R"(
    rdma_create_event_channel
    rdma_create_id event_channel0 ps=TCP
    rdma_resolve_addr id0 src_addr=10.0.0.1:7471 dst_addr=10.0.0.2:7471 timeout_ms=2000
    rdma_get_cm_event event_channel0
    rdma_ack_cm_event id0 ADDR_RESOLVED
    rdma_resolve_route id0 timeout_ms=2000
    rdma_get_cm_event event_channel0
    rdma_ack_cm_event id0 ROUTE_RESOLVED
    rdma_create_qp id0 pd1 qp_type=RC cap={max_send_wr=1 max_recv_wr=6 max_send_sge=1
      max_recv_sge=1}
    rdma_connect id0 private_data="\x05\x00hello" responder_resources=255 initiator_depth=255
      flow_control=1 retry_count=6 rnr_retry_count=7
    rdma_get_cm_event event_channel0
    rdma_ack_cm_event id0 ESTABLISHED
    rdma_destroy_qp id0
    rdma_destroy_id id0
    rdma_destroy_event_channel event_channel0)"));
}

TEST_CASE_METHOD(hosts,
                 "connect tries a numeric address once, and an empty name means this machine") {
  is_silent();
  adverb::failure why;
  CHECK_FALSE(cm::connect("10.0.0.2", 7471, {.connect_timeout = 5ms}, why));
  CHECK(tried() == texts{"10.0.0.2:7471"});
  CHECK(cm::connect("", 7471, {.family = cm::address_family::ipv4}));
  CHECK(tried() == texts{"127.0.0.1:7471"});
}

TEST_CASE_METHOD(
    hosts, "connect ranks a failed queue pair above a missing route and below a silent peer") {
  const named_host host{{"10.0.0.2", "10.0.0.3", "10.0.0.4"}};
  const auto told = [&] {
    adverb::failure why;
    CHECK_FALSE(cm::connect(host.name, 7471, {.connect_timeout = 5ms}, why));
    CHECK(tried().size() == 3);
    return std::string{why.verb()};
  };
  is_far_from_every_device();
  is_near();
  machine.fail<called::rdma_create_qp>(ENOMEM);
  is_far_from_every_device();
  CHECK(told() == "rdma_create_qp");
  // And less than one of a peer that does not answer.
  machine.fail<called::rdma_create_qp>(ENOMEM);
  is_silent();
  is_near();
  is_near();
  is_far_from_every_device();
  CHECK(told() == "rdma_connect");
}

TEST_CASE_METHOD(hosts, "connect reports the failure of the attempt that got furthest") {
  const named_host host{{"10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5"}};
  is_far_from_every_device();
  is_near();
  is_silent();
  is_near();
  rejects(no_one_listens);
  is_far_from_every_device();
  adverb::failure why;
  CHECK_FALSE(cm::connect(host.name, 7471, {.connect_timeout = 5ms}, why));
  CHECK(std::string{why.what()}.find("-> 10.0.0.4:7471: ECONNREFUSED") != std::string::npos);
  CHECK(why.explanation() == "the peer rejected the connection: nothing listens on that port");
}

TEST_CASE_METHOD(hosts, "connect reports the first of equal failures") {
  const named_host host{{"10.0.0.2", "10.0.0.3"}};
  is_silent();
  is_silent();
  adverb::failure why;
  CHECK_FALSE(cm::connect(host.name, 7471, {.connect_timeout = 5ms}, why));
  CHECK(tried().size() == 2);
  CHECK(std::string{why.object()}.ends_with("-> 10.0.0.2:7471"));
}

TEST_CASE_METHOD(hosts, "a rejection with private data ends the search") {
  const named_host host{{"fe80::1", "10.0.0.2"}};
  is_silent();
  rejects(by_the_program, "not you");
  adverb::failure why;
  CHECK_FALSE(cm::connect(host.name, 7471, {.connect_timeout = 5ms}, why));
  CHECK(tried() == texts{"[fe80::1]:7471", "10.0.0.2:7471"});
  CHECK(why.explanation() == "the peer rejected the connection: the peer's program refused");

  rejects(by_the_program, "not you");
  CHECK_FALSE(cm::connect(host.name, 7471, {}, why));
  CHECK(tried() == texts{"[fe80::1]:7471"});
}

TEST_CASE_METHOD(hosts, "the explanation quotes printable private data of a rejection") {
  const named_host host{{"10.0.0.2"}};
  const auto explanation_of = [&](std::string_view words) {
    const cm::private_data sent = cm::private_data::of(words);
    rejects(by_the_program,
            std::string{reinterpret_cast<const char*>(sent.bytes().data()), sent.size()});
    adverb::failure why;
    CHECK_FALSE(cm::connect(host.name, 7471, {}, why));
    return std::string{why.explanation()};
  };
  const std::string rejected = "the peer rejected the connection: the peer's program refused";
  CHECK(explanation_of("the table is full") == rejected + ": \"the table is full\"");
  CHECK(explanation_of("\x1b[2J") == rejected);
  // Such characters have two bytes in UTF-8, and one in other encodings.
  CHECK(explanation_of("\xc2\x9b"
                       "2J") == rejected);
  CHECK(explanation_of("wait\x9b"
                       "2J") == rejected);
  CHECK(explanation_of("\xc3\x80 la carte") == rejected + ": \"\xc3\x80 la carte\"");
  CHECK(explanation_of("") ==
        "the peer rejected the connection: possible causes: its program refused or ended, or "
        "listens on "
        "this port of other addresses only");
}

TEST_CASE_METHOD(hosts, "a rejection without private data moves on to the other address family") {
  const named_host host{{"fe80::1", "fe80::2", "10.0.0.2", "10.0.0.3"}};
  rejects(by_the_program);
  CHECK(cm::connect(host.name, 7471));
  CHECK(tried() == texts{"[fe80::1]:7471", "10.0.0.2:7471"});

  rejects(by_the_program);
  rejects(-ECONNRESET, std::string(20, '\0'));
  adverb::failure why;
  CHECK_FALSE(cm::connect(host.name, 7471, {}, why));
  CHECK(tried() == texts{"[fe80::1]:7471", "10.0.0.2:7471"});
  CHECK(std::string{why.object()}.ends_with("-> [fe80::1]:7471"));
}

TEST_CASE_METHOD(hosts, "a signal handler or the program's function ends the search") {
  const named_host host{{"10.0.0.2", "10.0.0.3", "10.0.0.4"}};
  adverb::failure why;
  {
    const interrupting signals;
    rejects(no_one_listens);
    is_silent();
    CHECK_FALSE(cm::connect(host.name, 7471, {}, why));
  }
  CHECK(why.code() == std::errc::interrupted);
  CHECK(tried() == texts{"10.0.0.2:7471", "10.0.0.3:7471"});

  CHECK_FALSE(cm::connect(host.name, 7471, {}, [](auto&) { return false; }, why));
  CHECK(why.code() == std::errc::operation_canceled);
  CHECK(tried() == texts{"10.0.0.2:7471"});
}

TEST_CASE_METHOD(hosts, "the family or the source address selects the addresses to try") {
  const named_host host{{"fe80::1", "10.0.0.2"}};
  CHECK(cm::connect(host.name, 7471, {.family = cm::address_family::ipv4}));
  CHECK(tried() == texts{"10.0.0.2:7471"});
  CHECK(cm::connect(host.name, 7471, {.from = here}));
  CHECK(tried() == texts{"10.0.0.2:7471"});
  CHECK(cm::connect(host.name, 7471, {.family = cm::address_family::ipv6}));
  CHECK(tried() == texts{"[fe80::1]:7471"});
}

TEST_CASE_METHOD(hosts, "connect passes a native address to rdma_getaddrinfo") {
  (void)cm::connect("fe80::1", 7471, {.family = cm::address_family::infiniband});
  CHECK_THAT(machine.lines<called::rdma_getaddrinfo>(), is_log(R"(
    rdma_getaddrinfo node="fe80::1" service="7471" hints={ai_flags=FAMILY ai_family=IB})"));
  CHECK(tried() == texts{"[fe80::1]:7471"});
}

TEST_CASE_METHOD(hosts, "each policy reports a host that is not found") {
  const adverb::failure why = reported([&](auto&&... policy) {
    const auto none = cm::connect(named_host::name, 7471, {}, policy...);
    CHECK_FALSE(none);
  });
  CHECK(std::string{why.what()}.find("getaddrinfo on host-with-a-name:7471: ") == 0);
  CHECK(why.code() == cm::lookup_error::host_not_found);
  CHECK(why.explanation() == "no host is named host-with-a-name");

  adverb::failure because;
  CHECK_FALSE(cm::connect(std::string_view{"127.0.0.1\0", 10}, 7471, {}, because));
  CHECK(because.explanation() == R"(no host is named 127.0.0.1\0)");

  // A lack of system resources is reported as such.
  const named_host unknown{EMFILE};
  std::error_code code;
  CHECK_FALSE(cm::connect(named_host::name, 7471, {}, code));
  CHECK(code == std::errc::too_many_files_open);
}

TEST_CASE_METHOD(hosts, "connect explains that an address belongs to another family") {
  adverb::failure why;
  CHECK_FALSE(cm::connect("10.1.0.2", 7471, {.family = cm::address_family::ipv6}, why));
  CHECK(why.explanation() == "10.1.0.2 is not an IPv6 address, and no host has this name");
}

constexpr std::string_view no_server =
    "possible causes: no name server answers, or it cannot find out (SERVFAIL, REFUSED)";

TEST_CASE("a failed lookup explains which host or address family was not found") {
  const auto explained = [](cm::lookup_error error, const adverb::detail::lookup& wanted) {
    const adverb::failure why{error, "getaddrinfo", [&](adverb::failure_description& description) {
                                adverb::detail::explain_lookup(description, wanted);
                              }};
    return std::string{why.explanation()};
  };
  using enum cm::lookup_error;
  CHECK(explained(host_not_found, {.host = "10.1.0.999"}) ==
        "10.1.0.999 is not an IP address, and no host has this name");
  CHECK(explained(try_again, {.host = "10.1.0.999"}) ==
        "10.1.0.999 is not an IP address, and was looked up as a name; " + std::string{no_server});
  CHECK(explained(host_not_found, {.host = "10.1.0.999", .numeric_host = true}) ==
        "10.1.0.999 is not an IP address");
  CHECK(explained(host_not_found, {.host = "storage-1"}) == "no host is named storage-1");
  CHECK(explained(host_not_found, {.host = "storage-1", .family = cm::address_family::ipv6}) ==
        "possible causes: no host is named storage-1, or it has no IPv6 address");
  CHECK(explained(try_again, {.host = "storage-1"}) == no_server);
  CHECK(explained(try_again, {.host = ""}) == no_server);
}

TEST_CASE_METHOD(hosts, "a list of addresses keeps them when it is assigned to itself") {
  cm::address_list addresses{"10.0.0.2", 7471};
  cm::address_list& same = addresses;
  addresses = std::move(same);
  REQUIRE(machine.count<called::rdma_freeaddrinfo>() == 0);
  REQUIRE(addresses.begin() != addresses.end());
  CHECK((*addresses.begin()).destination() == *cm::socket_address::parse("10.0.0.2", 7471));
  addresses = cm::address_list{};
  CHECK(addresses.begin() == addresses.end());
  CHECK(machine.count<called::rdma_freeaddrinfo>() == 1);
}

TEST_CASE_METHOD(hosts, "resolve returns a route to the first reachable address of a host") {
  const named_host host{{"10.0.0.2", "10.0.0.3"}};
  is_far_from_every_device();
  adverb::failure why;
  auto way = cm::resolve(host.name, 7471, {}, why);
  CHECK_FALSE(why);
  REQUIRE(way);
  CHECK(way.identifier().peer_address() == *cm::socket_address::parse("10.0.0.3", 7471));
  CHECK(tried().size() == 2);

  is_far_from_every_device();
  is_far_from_every_device();
  CHECK_THROWS_AS(cm::resolve(host.name, 7471), adverb::error);
  is_far_from_every_device();
  is_far_from_every_device();
  adverb::failure nowhere;
  CHECK_FALSE(cm::resolve(host.name, 7471, {}, nowhere));
  CHECK(nowhere.code() == std::errc::no_such_device);
  CHECK(nowhere.explanation().find("the route to 10.0.0.2 uses no RDMA device") == 0);

  const interrupting signals;
  manager.answer<called::rdma_resolve_addr>({});
  (void)tried();
  CHECK_FALSE(cm::resolve(host.name, 7471, {.timeout = 10s}, why));
  CHECK(why.code() == std::errc::interrupted);
  CHECK(tried().size() == 1);
}

TEMPLATE_TEST_CASE_SIG("connect supports UC and XRC through endpoints of librdmacm", "",
                       ((transport Service), Service), transport::uc, transport::xrc_send) {
  cm_bench bench;
  CHECK(cm::connect<Service>("10.0.0.2", 7471, {.queue_pair = {.max_send_wr = 3}}));
  const std::string type = Service == transport::uc ? "UC" : "XRC_SEND";
  CHECK(bench.machine.line<called::rdma_create_ep>() ==
        "rdma_create_ep res={ai_family=INET ai_qp_type=" + type +
            " ai_port_space=IB ai_dst_addr=10.0.0.2:7471}");
  const std::string pair = bench.machine.line<called::rdma_create_qp>();
  CHECK(field(pair, "qp_type") == type);
  CHECK(pair.find("cap={max_send_wr=3 ") != std::string::npos);
  CHECK(cm::connect<Service>(bench.peer));
}
