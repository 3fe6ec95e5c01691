// SPDX-License-Identifier: MIT
// Device lists, and opening what is in them.
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <adverb/device/context.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

#include "fake.hpp"

namespace called = fake::called;

TEST_CASE("a device list returns devices by position and by name",
          "[ibv_get_device_list][ibv_get_device_name]") {
  fake::machine machine;
  machine.devices.push_back(fake::roce_device("fake1"));
  const adverb::device_list devices;
  CHECK(devices.size() == 2);
  CHECK_FALSE(devices.empty());

  std::vector<std::string> names;
  for (const adverb::device_ref device : devices) names.emplace_back(device.name());
  CHECK(names == std::vector<std::string>{"fake0", "fake1"});

  CHECK(devices[1].name() == "fake1");
  CHECK(devices.find("fake1") == devices[1]);
  CHECK_FALSE(devices.find("fake2"));
  CHECK(devices[1].character_device() == "uverbs1");
  CHECK(devices[1].transport_type() == adverb::transport_type::infiniband);
  CHECK(devices[1].native_handle() != nullptr);

  auto position = devices.begin();
  CHECK((*position++).name() == "fake0");
  CHECK((*position).name() == "fake1");
  CHECK(++position == devices.end());
}

TEST_CASE("a device list is freed once after a move", "[ibv_free_device_list]") {
  fake::machine machine;
  {
    adverb::device_list first;
    const adverb::device_list second = std::move(first);
    CHECK(first.empty());  // NOLINT(bugprone-use-after-move)
    CHECK(first.begin() == first.end());
    CHECK(second.size() == 1);
  }
  CHECK(machine.count<called::free_device_list>() == 1);
  CHECK(machine.live_objects() == 0);
}

TEST_CASE("assigning a device list frees the previous list at once") {
  fake::machine machine;
  adverb::device_list target;
  adverb::device_list source;
  target = std::move(source);
  CHECK(machine.count<called::free_device_list>() == 1);
  adverb::device_list& itself = target;
  target = std::move(itself);
  CHECK(target.size() == 1);
  CHECK(machine.count<called::free_device_list>() == 1);
}

TEST_CASE("a device list is empty on a machine without devices") {
  fake::machine machine;
  machine.devices.clear();
  const adverb::device_list devices;
  CHECK(devices.empty());
  CHECK(devices.begin() == devices.end());
}

TEST_CASE("a device list fails with a reason if the kernel lacks RDMA") {
  fake::machine machine;
  const adverb::failure why =
      reported([&] { machine.fail<called::get_device_list>(ENOSYS); },
               [](auto&&... policy) { const adverb::device_list devices{policy...}; });
  CHECK(std::string{why.what()} ==
        "ibv_get_device_list: ENOSYS (Function not implemented); "
        "the kernel has no RDMA support: load the driver of the device and ib_uverbs");
  CHECK(machine.live_objects() == 0);

  machine.fail<called::get_device_list>(EPERM);
  std::error_code code;
  CHECK(adverb::device_list{code}.empty());
}

TEST_CASE("a context opens a device by its reference and closes it on destruction",
          "[ibv_open_device][ibv_close_device]") {
  fake::machine machine;
  {
    const adverb::device_list devices;
    const adverb::context context{devices[0]};
    CHECK(context.device().name() == "fake0");
    CHECK(context.completion_vectors() == 4);
    CHECK(context.async_file_descriptor() == context.native_handle()->async_fd);
  }
  CHECK(machine.count<called::close_device>() == 1);
  CHECK(machine.live_objects() == 0);
}

TEST_CASE("a failed open names the device") {
  fake::machine machine;
  const adverb::device_list devices;
  const adverb::failure why =
      reported([&] { machine.fail<called::open_device>(EACCES); },
               [&](auto&&... policy) { const adverb::context context{devices[0], policy...}; });
  CHECK(std::string{why.what()} == "ibv_open_device on fake0: EACCES (Permission denied)");
}

TEST_CASE("an empty device reference is reported and not passed to C") {
  fake::machine machine;
  const adverb::failure why = reported(
      [&](auto&&... policy) { const adverb::context context{adverb::device_ref{}, policy...}; });
  CHECK(std::string{why.what()} ==
        "ibv_open_device: ENODEV (No such device); "
        "the device is empty: it was not found");
  CHECK(machine.count<called::open_device>() == 0);
}

TEST_CASE("open_device without a name reports a failure by every policy") {
  fake::machine machine;
  std::error_code code;
  CHECK(adverb::open_device(code).device().name() == "fake0");
  CHECK_FALSE(code);
  const adverb::failure why = reported([&] { machine.fail<called::open_device>(EACCES); },
                                       [](auto&&... policy) {
                                         const adverb::context none =
                                             adverb::open_device(policy...);
                                         CHECK_FALSE(none);
                                       });
  CHECK(why.verb() == "ibv_open_device");
  CHECK(why.object() == "fake0");
}

TEST_CASE("open_device opens the named device, or the first one without a name") {
  fake::machine machine;
  machine.devices.push_back(fake::roce_device("fake1"));
  CHECK(adverb::open_device("fake1").device().name() == "fake1");
  CHECK(adverb::open_device().device().name() == "fake0");
  CHECK(machine.live_objects() == 0);
}

TEST_CASE("open_device with an unknown name fails and lists the devices") {
  fake::machine machine;
  machine.devices.push_back(fake::roce_device("fake1"));
  const adverb::failure why =
      reported([&](auto&&... policy) { (void)adverb::open_device("fake2", policy...); });
  CHECK(std::string{why.what()} ==
        "ibv_open_device on fake2: ENODEV (No such device); available: fake0, fake1");
  CHECK(machine.live_objects() == 0);
}

TEST_CASE("a name that contains a null character matches no device") {
  fake::machine machine;
  const adverb::failure why = reported([&](auto&&... policy) {
    (void)adverb::open_device(std::string_view{"fake0\0\0", 7}, policy...);
  });
  CHECK(std::string{why.what()} ==
        R"(ibv_open_device on fake0\0\0: ENODEV (No such device); available: fake0)");
  CHECK(why.object() == R"(fake0\0\0)");
}

TEST_CASE("open_device fails with a hint on a machine without devices") {
  fake::machine machine;
  machine.devices.clear();
  const adverb::failure why =
      reported([&](auto&&... policy) { (void)adverb::open_device("", policy...); });
  CHECK(why.code() == std::errc::no_such_device);
  // The explanation is about the devices of this machine.
  const std::string expected =
      ::access("/sys/class/infiniband_verbs", F_OK) == 0
          ? ": libibverbs does not list it"
          : "/sys/class/infiniband_verbs lists no RDMA device: load a driver and ib_uverbs, or "
            "create a software device with \"rdma link add rxe0 type rxe netdev IF\"";
  CHECK(why.explanation().find(expected) != std::string_view::npos);
}

TEST_CASE("open_device without a name opens the next device if the first one fails") {
  fake::machine machine;
  machine.devices.push_back(fake::roce_device("fake1"));
  machine.fail<called::open_device>(EACCES);
  std::error_code code = std::make_error_code(std::errc::io_error);
  const adverb::context opened = adverb::open_device(code);
  CHECK(opened.device().name() == "fake1");
  CHECK_FALSE(code);
}

TEST_CASE("open_device without a name reports the outcome for each device if all fail") {
  fake::machine machine;
  machine.devices.push_back(fake::roce_device("fake1"));
  bool is_first = false;
  machine.before<called::open_device>([&] {
    is_first = !is_first;
    machine.fail<called::open_device>(is_first ? EACCES : ENOMEM);
  });
  const adverb::failure why = reported([](auto&&... policy) {
    const adverb::context none = adverb::open_device(policy...);
    CHECK_FALSE(none);
  });
  CHECK(why.code() == std::errc::permission_denied);
  CHECK(why.explanation().starts_with("no device can be opened: fake0 (EACCES), fake1 (ENOMEM)"));
}

TEST_CASE("open_device reports the failure of the device list") {
  fake::machine machine;
  const adverb::failure why =
      reported([&] { machine.fail<called::get_device_list>(ENOMEM); },
               [](auto&&... policy) { (void)adverb::open_device("fake0", policy...); });
  CHECK(why.verb() == "ibv_get_device_list");
}
