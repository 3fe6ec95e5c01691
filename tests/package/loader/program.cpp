// SPDX-License-Identifier: MIT
// program CALL…: makes the calls and prints the failure of each. The status is 1 if one failed.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <adverb/adverb.hpp>
#include <adverb/async/event_loop.hpp>
#include <adverb/cm.hpp>

namespace {

/// The results of C functions of each kind.
void print_results() {
  errno = 0;
  (void)ibv_node_type_str(IBV_NODE_RNIC);
  int count = 77;
  std::printf("%s; ", std::strerror(errno));
  ibv_device** const devices = ibv_get_device_list(&count);
  std::printf("%s, %s, %d; ", devices == nullptr ? "null" : "a list", std::strerror(errno),
              devices == nullptr ? count : 0);
  std::printf("%s; ", std::strerror(ibv_fork_init()));
  rdma_cm_id* id = nullptr;
  errno = 0;
  const int result = rdma_create_id(nullptr, &id, nullptr, RDMA_PS_TCP);
  std::printf("%d, %s; ", result, std::strerror(errno));
  std::printf("%s, %s; ", ibv_wc_status_str(IBV_WC_SUCCESS),
              rdma_event_str(RDMA_CM_EVENT_ESTABLISHED));
  std::printf("%d, %d\n", ibv_rate_to_mult(IBV_RATE_10_GBPS),
              mult_to_ibv_rate(4) == IBV_RATE_10_GBPS);
}

/// The first calls of two functions, in several threads at once: one that every library has, and
/// one that is missing in an old one.
void call_in_threads() {
  std::vector<std::thread> threads;
  for (int count = 0; count < 8; ++count)
    threads.emplace_back([] {
      (void)ibv_rate_to_mult(IBV_RATE_10_GBPS);
      (void)ibv_import_device(-1);
    });
  for (std::thread& each : threads) each.join();
}

void call(std::string_view name, adverb::failure& why) {
  if (name == "devices") {
    const adverb::device_list devices{why};
  } else if (name == "channel") {
    const auto channel = adverb::cm::event_channel::create(why);
  } else if (name == "loop") {
    // It serves channels over TCP on a machine without RDMA.
    const adverb::async::event_loop loop{{}, why};
  } else if (name == "import") {
    const auto context = adverb::context::import(::open("/dev/null", O_RDWR), why);
  } else if (name == "gid") {
    // An inline function, which calls an exported one of another name.
    ibv_gid_entry entry{};
    const int result = ibv_query_gid_ex(nullptr, 1, 0, &entry, 0);
    const std::error_code code{result, std::generic_category()};
    why = adverb::failure{code, "ibv_query_gid_ex", [](adverb::failure_description&) {}};
  } else if (name == "results") {
    print_results();
  } else if (name == "threads") {
    call_in_threads();
  }
}

}  // namespace

int main(int count, char** arguments) {
  int status = 0;
  for (int index = 1; index < count; ++index) {
    adverb::failure why;
    call(arguments[index], why);
    if (!why) continue;
    std::printf("%s\n", why.what());
    status = 1;
  }
  return status;
}
