// SPDX-License-Identifier: MIT
// Further queries of a device and the library: indices, keys, clocks, import, neighbours, fork.
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>

#include <endian.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <adverb/device/context.hpp>
#include <adverb/request/address.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

#include "test_bench.hpp"

namespace {

namespace called = fake::called;
using adverb::port_number;

/// A descriptor that stands for that of a device: of a character device, at least.
class null_device {
 public:
  null_device() = default;
  null_device(const null_device&) = delete;
  null_device& operator=(const null_device&) = delete;
  ~null_device() { ::close(descriptor_); }

  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_ = ::open("/dev/null", O_RDWR | O_CLOEXEC);
};

bool is_open(int descriptor) { return ::fcntl(descriptor, F_GETFD) != -1; }

ino_t file_of(int descriptor) {
  struct stat status{};
  REQUIRE(::fstat(descriptor, &status) == 0);
  return status.st_ino;
}

/// A function with the name of later versions' `ibv_query_port_speed`, found by its argument.
namespace later {
struct context {
  int answer;
};
int ibv_query_port_speed(context* asked, std::uint32_t port, std::uint64_t* speed) {
  *speed = 100 * port;
  return asked->answer;
}
}  // namespace later

template <class Context>
constexpr bool has_port_speed =
    requires(Context* context, std::uint64_t* speed) { ibv_query_port_speed(context, 1U, speed); };

}  // namespace

TEST_CASE("an unopened device returns its index and node GUID",
          "[ibv_get_device_index][ibv_get_device_guid][ibv_get_device_name]") {
  fake::machine machine;
  machine.devices[0].index = 5;
  machine.devices.push_back(fake::roce_device("fake1"));
  machine.devices[1].index = -1;
  const adverb::device_list devices;
  CHECK(devices[0].index() == 5U);
  CHECK(devices[1].index() == std::nullopt);
  CHECK(devices[0].node_guid() == adverb::guid{be64toh(0x0100'0000'0000'0002)});
  CHECK_THAT((machine.lines<called::get_device_index, called::get_device_guid>()), is_log(R"(
    ibv_get_device_index fake0
    ibv_get_device_index fake1
    ibv_get_device_guid fake0)"));
  CHECK(devices[0].node_type() == adverb::node_type::channel_adapter);
  CHECK(devices[0].name() == "fake0");
}

TEST_CASE("find_pkey returns the index of a partition key", "[ibv_get_pkey_index]") {
  fake::machine machine;
  machine.devices[0].ports[0].pkeys = {0xffff, 0x8123};
  const adverb::context context = adverb::open_device();
  CHECK(context.find_pkey(port_number{1}, adverb::pkey{0x8123}) == adverb::pkey_index{1});
  CHECK_THAT(machine.lines<called::get_pkey_index>(),
             is_log("ibv_get_pkey_index port_num=1 pkey=0x8123"));
}

TEST_CASE("find_pkey returns none without an error if the key is not in the table") {
  fake::machine machine;
  const adverb::context context = adverb::open_device();
  std::error_code code = std::make_error_code(std::errc::io_error);
  // The membership bit counts.
  CHECK_FALSE(context.find_pkey(port_number{1}, adverb::pkey{0x7fff}, code));
  CHECK_FALSE(code);
}

TEST_CASE("find_pkey fails if the port does not exist") {
  fake::machine machine;
  const adverb::context context = adverb::open_device();
  const adverb::failure why = reported([&](auto&&... policy) {
    (void)context.find_pkey(port_number{3}, adverb::pkey{0xffff}, policy...);
  });
  CHECK(std::string{why.what()} ==
        "ibv_query_port on fake0:3: EINVAL (Invalid argument); "
        "the device has one port, number 1");
}

TEST_CASE("device_time returns the clock of the device in ticks", "[ibv_query_rt_values_ex]") {
  fake::machine machine;
  machine.devices[0].clock = 123'456'789;
  machine.devices[0].extended.hca_core_clock = 156'250;
  const adverb::context context = adverb::open_device();
  CHECK(context.device_time() == adverb::device_ticks{123'456'789});
  CHECK_THAT(machine.lines<called::query_rt_values>(),
             is_log("ibv_query_rt_values_ex comp_mask=RAW_CLOCK"));
  const auto clock = context.query_device().clock();
  REQUIRE(clock);
  CHECK(clock->kilohertz() == 156'250);
}

TEST_CASE("device_time fails with a reason on a device without a clock") {
  fake::machine machine;
  const adverb::context context = adverb::open_device();
  const auto read = [&](auto&&... policy) {
    const bool none = context.device_time(policy...) == adverb::device_ticks{0};
    CHECK(none);
  };
  const std::string message =
      "ibv_query_rt_values_ex on fake0: EOPNOTSUPP (Operation not supported); "
      "fake0 has no readable clock";
  CHECK(std::string{reported(read).what()} == message);
  CHECK(std::string{
            reported([&] { machine.fail<called::query_rt_values>(EOPNOTSUPP); }, read).what()} ==
        message);
}

TEST_CASE("query_device returns the extended attributes", "[ibv_query_device_ex]") {
  fake::machine machine;
  machine.devices[0].extended.max_dm_size = 4096;
  machine.devices[0].extended.phys_port_cnt_ex = 7;
  machine.devices[0].extended.tso_caps = {9000, 1U << IBV_QPT_UD};
  const adverb::context context = adverb::open_device();
  const adverb::device_attributes device = context.query_device();
  CHECK(device.max_device_memory_size() == 4096);
  CHECK(device.physical_ports() == 7);
  CHECK(device.segmentation_offload().max_message_size == 9000);
  CHECK(device.segmentation_offload().transports.contains(adverb::transport::ud));
  CHECK(device.max_queue_pairs() == 1024);
}

TEST_CASE("import passes a copy of the descriptor", "[ibv_import_device]") {
  fake::machine machine;
  const null_device given;
  int copy = -1;
  {
    const adverb::context imported = adverb::context::import(given.get());
    copy = imported.command_file_descriptor();
    CHECK(copy != given.get());
    CHECK(file_of(copy) == file_of(given.get()));
    CHECK((::fcntl(copy, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK(machine.calls<called::import_device>().at(0).command_file_descriptor == copy);
    CHECK(imported.query_device().physical_ports() == 1);
  }
  CHECK_FALSE(is_open(copy));
  CHECK(is_open(given.get()));
  CHECK(machine.live_objects() == 0);
}

TEST_CASE("a refused import closes the copy of the descriptor") {
  fake::machine machine;
  const null_device given;
  const auto import = [&](auto&&... policy) {
    (void)adverb::context::import(given.get(), policy...);
  };
  const adverb::failure unsupported =
      reported([&] { machine.fail<called::import_device>(EOPNOTSUPP); }, import);
  CHECK(std::string{unsupported.what()} ==
        "ibv_import_device: EOPNOTSUPP (Operation not supported); "
        "the device has no import of devices");
  for (const called::import_device& call : machine.calls<called::import_device>())
    CHECK_FALSE(is_open(call.command_file_descriptor));

  const adverb::failure unknown =
      reported([&] { machine.fail<called::import_device>(ENODEV); }, import);
  CHECK(unknown.explanation() == "the descriptor does not refer to a device of this machine");
  for (const called::import_device& call : machine.calls<called::import_device>())
    CHECK_FALSE(is_open(call.command_file_descriptor));
  CHECK(is_open(given.get()));
}

TEST_CASE("import leaves the copy of the descriptor open if the provider fails") {
  fake::machine machine;
  const null_device given;
  machine.fail<called::import_device>(EIO);
  std::error_code code;
  CHECK_FALSE(adverb::context::import(given.get(), code));
  CHECK(code == std::errc::io_error);
  const int copy = machine.calls<called::import_device>().at(0).command_file_descriptor;
  CHECK(is_open(copy));
  ::close(copy);
}

TEST_CASE("import refuses a descriptor of something other than a device") {
  fake::machine machine;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const adverb::failure pipe =
      reported([&](auto&&... policy) { (void)adverb::context::import(ends[0], policy...); });
  CHECK(std::string{pipe.what()} ==
        "ibv_import_device: EINVAL (Invalid argument); the descriptor does not refer to a device");
  ::close(ends[0]);
  ::close(ends[1]);
  const adverb::failure none =
      reported([&](auto&&... policy) { (void)adverb::context::import(-1, policy...); });
  CHECK(none.code() == std::errc::bad_file_descriptor);
  CHECK(none.explanation() == "the descriptor does not refer to a device");
  CHECK(machine.count<called::import_device>() == 0);
}

TEST_CASE("port_megabits returns the speed if rdma-core supports it", "[ibv_query_port_speed]") {
  fake::machine machine;
  const adverb::context context = adverb::open_device();
  if constexpr (!has_port_speed<ibv_context>) {
    const adverb::failure why =
        reported([&](auto&&... policy) { (void)context.port_megabits(port_number{1}, policy...); });
    CHECK(std::string{why.what()} ==
          "ibv_query_port_speed on fake0:1: EOPNOTSUPP (Operation not supported); "
          "adverb was compiled with headers of rdma-core that lack ibv_query_port_speed");
  }
  later::context asked{0};
  const auto nothing = [](adverb::failure_description&) {};
  std::error_code code;
  CHECK(adverb::detail::port_megabits(&asked, 3, nothing, code) == 30'000);
  CHECK(!code);
  asked.answer = EINVAL;
  CHECK(adverb::detail::port_megabits(&asked, 3, nothing, code) == 0);
  CHECK(code == std::errc::invalid_argument);
}

TEST_CASE_METHOD(test_bench, "resolve_ethernet returns a MAC address and a VLAN",
                 "[ibv_resolve_eth_l2_from_gid]") {
  machine.resolved_mac = {0x52, 0x54, 0, 0x12, 0x34, 0x56};
  const adverb::gid peer_gid{fake::ipv4_gid(10, 0, 0, 2)};
  const adverb::address way{
      .route = adverb::global_route{.destination = peer_gid, .source = adverb::gid_index{2}}};
  adverb::ethernet_destination found = resolve_ethernet(context, way);
  CHECK(to_string(found) == "52:54:00:12:34:56");
  CHECK_FALSE(found.vlan);
  CHECK_THAT(machine.lines<called::resolve_eth_l2_from_gid>(), is_log(R"(
    ibv_resolve_eth_l2_from_gid ctx0
      attr={port_num=1 grh={dgid=::ffff:10.0.0.2 sgid_index=2 hop_limit=64}})"));

  machine.resolved_vlan = 7;
  found = resolve_ethernet(context, way);
  CHECK(found.vlan == 7U);
  CHECK(to_string(found) == "52:54:00:12:34:56 vlan 7");
}

TEST_CASE_METHOD(test_bench, "a failed resolve_ethernet names the source and destination") {
  const adverb::gid peer_gid{fake::ipv4_gid(10, 0, 0, 2)};
  adverb::address way{
      .route = adverb::global_route{.destination = peer_gid, .source = adverb::gid_index{2}}};
  const auto resolve = [&](auto&&... policy) { (void)resolve_ethernet(context, way, policy...); };
  const adverb::failure why =
      reported([&] { machine.fail<called::resolve_eth_l2_from_gid>(EHOSTUNREACH); }, resolve);
  CHECK(std::string{why.what()} ==
        "ibv_resolve_eth_l2_from_gid on fake0:1: EHOSTUNREACH (No route to host); "
        "no neighbour was found on the route to ::ffff:10.0.0.2 from GID 2");
  CHECK(reported([&] { machine.fail<called::resolve_eth_l2_from_gid>(EINVAL); }, resolve)
            .explanation() ==
        "possible causes: no network interface has the address of GID 2, or another one leads to "
        "::ffff:10.0.0.2");
  CHECK(reported([&] { machine.fail<called::resolve_eth_l2_from_gid>(EIO); }, resolve)
            .explanation()
            .empty());
  way.route->source = adverb::gid_index{7};
  CHECK(
      std::string{reported([&] { machine.fail<called::resolve_eth_l2_from_gid>(EINVAL); }, resolve)
                      .explanation()}
          .starts_with("sgid index 7 is empty; usable: "));
  way.route.reset();
  CHECK(reported([&] { machine.fail<called::resolve_eth_l2_from_gid>(EINVAL); }, resolve)
            .explanation() == "the address has no global route (GRH), whose GIDs are needed");
  CHECK(reported([&](auto&&... policy) {
          (void)resolve_ethernet({}, way, policy...);
        }).explanation() == "the context is empty: moved from, closed, or never created");
}

TEST_CASE("the UDP port of a flow label matches the C library", "[ibv_flow_label_to_udp_sport]") {
  for (const std::uint32_t label : {0U, 1U, 0x3fffU, 0x4000U, 0xfffffU, 0x12345U}) {
    CAPTURE(label);
    const adverb::global_route route{.flow_label = label};
    CHECK(route.udp_source_port() == ibv_flow_label_to_udp_sport(label));
    CHECK(route.udp_source_port() >= 0xc000);
  }
}

TEST_CASE("fork support can be enabled and queried", "[ibv_fork_init][ibv_is_fork_initialized]") {
  fake::machine machine;
  using adverb::fork_support_status;
  CHECK(adverb::fork_support() == fork_support_status::disabled);
  adverb::initialize_fork_support();
  CHECK(machine.count<called::fork_init>() == 1);
  CHECK(adverb::fork_support() == fork_support_status::enabled);
  machine.fork_support = IBV_FORK_UNNEEDED;
  CHECK(to_string(adverb::fork_support()) == "unneeded");
  CHECK(to_string(fork_support_status::disabled) == "disabled");
  CHECK(to_string(static_cast<fork_support_status>(3)) == "unknown (3)");
}

TEST_CASE("enabling fork support too late fails with a reason") {
  fake::machine machine;
  const adverb::failure why =
      reported([&] { machine.fail<called::fork_init>(EINVAL); },
               [](auto&&... policy) { adverb::initialize_fork_support(policy...); });
  CHECK(std::string{why.what()} ==
        "ibv_fork_init: EINVAL (Invalid argument); the process already registered memory");
}

TEST_CASE_METHOD(test_bench, "a port that needs a global route gets one, even on InfiniBand") {
  make_infiniband(port());
  port().attributes.flags = IBV_QPF_GRH_REQUIRED;
  adverb::endpoint near = peer;
  near.gid = adverb::gid{global_gid(2)};
  near.lid = adverb::lid{0x22};
  auto pair = waiting<adverb::transport::rc>();
  const auto connected = pair.rtr().remote(near).apply();
  CHECK(field(modification(), "ah_attr") ==
        "{port_num=1 dlid=0x22 grh={dgid=2001:db8:0:1::2 sgid_index=0 hop_limit=64}}");
}
