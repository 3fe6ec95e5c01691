// SPDX-License-Identifier: MIT
// Shared by the tests of connections: the address of the device, the two sides of a connection, and
// waiting for a completion.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <future>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <adverb/cm.hpp>
#include <support/skip.hpp>

#include "../support.hpp"

namespace cm_test {

using rc_listener = adverb::cm::listener<adverb::transport::rc>;
using rc_connection = adverb::cm::connection<adverb::transport::rc>;

/// A variable of the environment that the virtual machine sets; empty where it is not set.
[[nodiscard]] inline std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// An IPv4 address of the environment, with a port.
[[nodiscard]] inline adverb::cm::socket_address address_in(const char* name, std::uint16_t port) {
  const auto address = adverb::cm::socket_address::parse(environment(name), port);
  if (!address) throw std::runtime_error{std::string{name} + " names no address"};
  return *address;
}

/// The IPv4 address of the device that the tests run on, with a port.
[[nodiscard]] inline adverb::cm::socket_address device_address(std::uint16_t port = 0) {
  return address_in("SOFTRDMA_ADDRESS", port);
}

[[nodiscard]] inline bool on_iwarp() { return environment("SOFTRDMA_KIND") == "iwarp"; }
[[nodiscard]] inline bool on_two_hosts() { return environment("SOFTRDMA_HOSTS") == "2"; }

/// Returns the error of a rejection by the program on the other side. iWARP has no reasons, only an
/// errno; that of soft-iWARP (Linux 6.1) is this one.
[[nodiscard]] inline std::errc rejected_by_program() {
  return on_iwarp() ? std::errc::connection_reset : std::errc::connection_refused;
}

/// Waits until the other host has come here too.
inline void meet(const std::string& name) {
  if (std::system(("softrdma-barrier " + name).c_str()) != 0)
    throw std::runtime_error{"the other host ended early"};
}

/// Every address of this machine.
[[nodiscard]] inline adverb::cm::socket_address every_address(std::uint16_t port = 0) {
  return adverb::cm::socket_address::any(port);
}

/// The address of the device on the other side of `two_sides`, with a port.
[[nodiscard]] inline adverb::cm::socket_address other_side(std::uint16_t port = 0) {
  return address_in(on_two_hosts() ? "SOFTRDMA_PEER_ADDRESS" : "SOFTRDMA_ADDRESS", port);
}

/// Returns the number of meetings of the two hosts. Each time has a port of its own: late requests
/// of one case are none of the next.
[[nodiscard]] inline int next_round() {
  static int round = 0;
  return std::stoi("0" + std::string{environment("ADVERB_CASE_NUMBER")}) * 20 + ++round;
}

/// Makes the kernel resolve the other host. If it has not yet, resolving its address may take the
/// whole time that is given for it, while the other side waits (see "Who asks" in the guide).
inline void find_neighbour() {
  auto start = adverb::cm::connector<adverb::transport::rc>::create();
  adverb::failure ignored;
  (void)start.resolve_address(other_side(), {.timeout = std::chrono::seconds{2}}, ignored);
}

/// Writes why the side of `serve` failed, where it did: the other may have failed for that.
inline void tell_failure(std::future<void>& served) {
  try {
    served.get();
  } catch (const std::exception& why) {
    std::cerr << "the side that serves failed: " << why.what() << std::endl;
  } catch (...) {
    // Catch2 has reported it.
  }
}

/// Runs two sides: `serve` is given what `make` makes of an address to listen on, and `connect` the
/// address of the `port()` of that. In one process, or, when the program runs on two hosts, the
/// first on one and the second on the other. The server lives until both sides are done. Nothing on
/// the side of `serve` may be asserted: it throws.
template <class Make, class Serve, class Connect>
void two_sides_of(const Make& make, const Serve& serve, const Connect& connect) {
  if (!on_two_hosts()) {
    auto server = make(every_address());
    auto served = std::async(std::launch::async, [&] { serve(server); });
    try {
      connect(other_side(server.port()));
    } catch (...) {
      tell_failure(served);
      throw;
    }
    served.get();
    SUCCEED("both sides are done");
    return;
  }
  const int round = next_round();
  const std::string name = std::to_string(round);
  const auto port = static_cast<std::uint16_t>(7470 + round);
  // A side that fails meets the other all the same, which would wait for it in the next round.
  const auto run = [&](const auto& side) {
    meet("listening-" + name);
    std::exception_ptr failed;
    try {
      side();
    } catch (...) {
      failed = std::current_exception();
    }
    meet("done-" + name);
    if (failed) std::rethrow_exception(failed);
    SUCCEED("this side is done");
  };
  if (environment("SOFTRDMA_HOST") == "1") {
    auto server = make(every_address(port));
    run([&] { serve(server); });
  } else {
    find_neighbour();
    run([&] { connect(other_side(port)); });
  }
}

/// Runs the two sides of a connection, or of datagrams: `serve` is given a listener.
template <adverb::transport Transport = adverb::transport::rc, class Serve, class Connect>
void two_sides(const Serve& serve, const Connect& connect) {
  two_sides_of(
      [](const adverb::cm::socket_address& address) {
        return adverb::cm::listener<Transport>::create(address);
      },
      serve, connect);
}

/// A request whose pair is made.
using ready_request =
    adverb::cm::connection_request<adverb::transport::rc, adverb::cm::step::ready>;
using ready_connector = adverb::cm::connector<adverb::transport::rc, adverb::cm::step::ready>;

/// Takes the next request as far as it goes without an answer.
[[nodiscard]] inline ready_request next_ready(const rc_listener& listener,
                                              const adverb::queue_pair_options& options = {
                                                  .max_send_wr = 8, .max_recv_wr = 8}) {
  auto request = listener.next_request(std::chrono::seconds{10});
  return request.create_queue_pair(options);
}

/// Goes as far as one does without a peer.
[[nodiscard]] inline ready_connector ready_for(const adverb::cm::socket_address& address,
                                               const adverb::queue_pair_options& options = {
                                                   .max_send_wr = 8, .max_recv_wr = 8}) {
  auto start = adverb::cm::connector<adverb::transport::rc>::create();
  auto near = start.resolve_address(address);
  auto far = near.resolve_route();
  return far.create_queue_pair(options);
}

/// Meanwhile takes the next request, and accepts it.
[[nodiscard]] inline std::future<rc_connection> accept_meanwhile(const rc_listener& listener) {
  return std::async(std::launch::async, [&] { return next_ready(listener).accept(); });
}

/// Fails the side of `serve`.
inline void expect(bool holds, std::string_view what) {
  if (!holds) throw std::runtime_error{"not so: " + std::string{what}};
}

/// Ends the program as skipped where the device has no datagrams, as on iWARP.
inline void need_datagrams() {
  if (adverb::open_device().device().transport_type() == adverb::transport_type::iwarp)
    skip("datagrams", "iWARP has only connections");
}

}  // namespace cm_test
