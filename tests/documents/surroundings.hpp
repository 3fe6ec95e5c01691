// SPDX-License-Identifier: MIT
// The surroundings of the fragments in the documents: a fragment is the body of a member function
// of a struct that derives from one of these. It may use the members, and declare their names anew.
// Members without an initialiser exist for the compiler alone: such surroundings do not run.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <poll.h>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <adverb/async/block_waits.hpp>
#include <adverb/cm.hpp>
#include <adverb/core/stop_event.hpp>
#include <adverb/messages.hpp>
#include <adverb/pool.hpp>
#include <adverb/remote.hpp>

#include "../support/senders.hpp"

/// A function of the reader's program, with any arguments.
struct any_function {
  void operator()(const auto&... /*unused*/) const {}
};

struct functions_of_the_program {
  static constexpr any_function handle{}, log{}, note{}, use{}, give_back{}, leave{}, post_more{},
      post_receives{};
  static constexpr any_function try_to_connect{}, tell_peer{}, send_descriptor{}, send_bytes{};
  static constexpr any_function wait_until_closed{}, wait_until_readable{};
  bool more() const;
  bool full() const;
  adverb::completion next_completion() const;
};

struct a_program_with_a_device : functions_of_the_program {
  adverb::context device = adverb::open_device();
  adverb::protection_domain domain{device};
  adverb::completion_channel channel{device};
  adverb::completion_queue queue{device, 64, {.channel = channel}};
  adverb::completion_queue_ref cq = queue;
  std::vector<std::byte> memory = std::vector<std::byte>(16384);
  std::span<std::byte> pages{memory};
  adverb::memory_region region{
      domain, memory,
      adverb::access_right::local_write | adverb::access_right::remote_read |
          adverb::access_right::remote_write | adverb::access_right::remote_atomic |
          adverb::access_right::window_bind};
  adverb::mutable_buffer buffer = region.slice(0, 64);
  adverb::mutable_buffer first = region.slice(64, 64), second = region.slice(128, 64);
  adverb::mutable_buffer other = region.slice(192, 64), unexpected = region.slice(256, 64);
  adverb::mutable_buffer frame = region.slice(320, 64), entry = region.slice(0, 64);
  std::array<adverb::completion, 16> batch{};
  int a = 0, b = 0, message = 0, next = 0, fd = -1;
  std::size_t size = 4096;
  std::array<std::uint64_t, 2> values{};
};

/// Two pairs of one program that are connected with each other, from `pair` to `peer`.
struct a_connected_pair : a_program_with_a_device {
  using pair_type = adverb::queue_pair<adverb::transport::rc>;
  using in_init = adverb::queue_pair<adverb::transport::rc, adverb::qp_state::init>;

  a_connected_pair() {
    in_init waiting = ready_to_connect(), other_end = ready_to_connect();
    const adverb::endpoint here = waiting.endpoint();
    pair = waiting.connect(other_end.endpoint());
    peer = other_end.connect(here);
  }
  in_init ready_to_connect() {
    return pair_type::create(domain, {.send_cq = queue,
                                      .recv_cq = queue,
                                      .max_send_wr = 8,
                                      .max_recv_wr = 8,
                                      .max_inline_data = 64})
        .init()
        .port(adverb::port_number{1})
        .allow(adverb::access_right::remote_read | adverb::access_right::remote_write |
               adverb::access_right::remote_atomic)
        .apply();
  }

  pair_type pair, peer;
  adverb::remote_buffer<std::byte, adverb::access_right::remote_write> remote =
      region.remote<std::byte, adverb::access_right::remote_write>();
  adverb::mutable_buffer header = region.slice(0, 16), body = region.slice(16, 48);
  adverb::mutable_buffer notice = region.slice(64, 8);
  adverb::queue_pair_ref<adverb::transport::rc> pair_1 = pair;
  std::array<adverb::mutable_buffer, 32> blocks{};
  std::uint64_t count = 0, n = 0;
  std::vector<std::uint64_t> numbers = std::vector<std::uint64_t>(64);

  struct piece {
    std::size_t offset, size;
  };
  std::span<const piece> message;
  struct message_header {
    std::uint32_t length = 0;
  };
  std::string text, rest;
  int signal_descriptor = -1;
  std::atomic<bool> stopped = false;

  adverb::remote_buffer<std::byte, adverb::access_right::remote_write> slot(std::uint64_t index);
};

struct two_completion_queues : a_program_with_a_device {
  adverb::completion_queue classic{device, 1024};
  adverb::extended_completion_queue<> extended{device, 1024};
};

struct a_program_with_a_loop : a_program_with_a_device {
  adverb::async::event_loop loop;
  adverb::port_number port;
  adverb::endpoint theirs;
  adverb::cm::socket_address own_address;
};

namespace ex = protocol;
struct a_program_with_a_client : a_program_with_a_loop {
  adverb::async::connection client;
  static adverb::async::task<> serve(adverb::async::connection /*of*/) { co_return; }
  static adverb::async::task<int> request(const adverb::async::connection& /*of*/, int number) {
    co_return number;
  }
  static adverb::async::task<> reply(const adverb::async::connection& of, int answer);
  static int compute();
  struct receiver_type {
    void set_value() noexcept;
    void set_error(std::error_code code) noexcept;
    void set_stopped() noexcept;
  } receiver;
};

struct a_program_with_connections_of_a_ring : a_program_with_a_loop {
  struct record {
    std::uint64_t number;
  };
  using description_bytes = std::array<std::byte, adverb::ring_description::encoded_size>;
  adverb::async::connection client, server;
  static adverb::async::task<> send_description(const adverb::async::connection& /*to*/,
                                                description_bytes /*bytes*/) {
    co_return;
  }
  static adverb::async::task<description_bytes> receive_description(
      const adverb::async::connection& /*from*/) {
    co_return description_bytes{};
  }
};

struct a_program_with_a_channel : a_program_with_a_loop {
  adverb::messages::channel channel;
  adverb::async::loop_memory memory;
};

struct two_processes : a_program_with_a_device {
  struct socket_type {
    void write(std::span<const std::byte> bytes) const;
    template <std::size_t Size>
    std::span<const std::byte, Size> read() const;
    void barrier() const;
  };
  socket_type socket;
  a_connected_pair::pair_type pair;
  adverb::queue_pair<adverb::transport::rc, adverb::qp_state::reset> fresh;
  template <class Socket>
  static int receive_descriptor(const Socket& from);
  template <class T>
  static T receive_bytes(const socket_type& from);
};

struct a_rank_of_a_job : a_program_with_a_device {
  std::uint32_t rank;
  std::uint32_t ranks;
  adverb::cm::socket_address own_address;
  std::vector<adverb::queue_pair<adverb::transport::rc, adverb::qp_state::init>> waiting;
  std::vector<adverb::queue_pair<adverb::transport::rc>> pairs;
  std::vector<adverb::cm::connection<>> connections;
  template <class Value>
  static std::vector<Value> exchange(const std::vector<Value>& mine);
  template <class Value>
  static std::vector<Value> gather(const Value& mine);
  static void barrier();
};

struct a_larger_registration : a_connected_pair {
  std::span<std::byte> larger;
  adverb::protection_domain other;
  adverb::access_rights rights;
  adverb::memory_region all;
};

/// The side that is granted a memory window.
struct the_peer_of_a_window : a_connected_pair {
  std::span<const std::byte, 24> message;
};

struct a_bound_window : a_connected_pair {
  adverb::memory_window<adverb::window_type::two> window{domain};
  adverb::window_binding<adverb::window_type::two, std::byte, adverb::access_right::remote_write>
      grant = window.prepare<std::byte, adverb::access_right::remote_write>(region, 0, 4096);
};

struct an_extended_pair : a_connected_pair {
  adverb::either_completion_queue<> queue;
  adverb::remote_buffer<std::uint64_t, adverb::access_right::remote_write> word;
  adverb::extended_sender<adverb::transport::rc> sender = pair.extended();
  struct job {
    adverb::remote_buffer<std::byte, adverb::access_right::remote_write> remote;
    adverb::mutable_buffer buffer;
  };
  std::vector<job> jobs;
  static bool stop();
};

/// Its sender takes every request: rdma-core 44 declares no flush.
struct a_pair_of_a_later_version : a_connected_pair {
  struct any_sender {
    adverb::post_result post(const auto&... requests) const;
  };
  any_sender sender;
  adverb::remote_buffer<std::byte,
                        adverb::access_right::remote_write | adverb::access_right::flush_persistent>
      log;
};

struct a_datagram_pair : a_program_with_a_device {
  adverb::queue_pair<adverb::transport::ud, adverb::qp_state::init> waiting;
  adverb::queue_pair<adverb::transport::ud> pair;
  adverb::endpoint theirs;
  adverb::port_number port;
  adverb::global_route_header& header;
  adverb::completion& done;
  adverb::received_message message;
  adverb::mutable_buffer text;
  adverb::queue_key key;
  adverb::gid group;
};

struct a_shared_receive_queue : a_program_with_a_device {
  adverb::shared_receive_queue shared{domain, {.max_wr = 64}};
};

struct an_XRC_domain : a_program_with_a_device {
  int file;
  adverb::qp_number number;
  adverb::shared_receive_queue_number shared_number;
  adverb::queue_pair<adverb::transport::xrc_recv, adverb::qp_state::init> waiting;
  adverb::queue_pair<adverb::transport::xrc_send> initiator;
};

struct several_work_queues : a_program_with_a_device {
  std::vector<adverb::completion_queue> completions;
  adverb::toeplitz_key key;
};

struct a_raw_packet_pair : a_program_with_a_device {
  adverb::queue_pair<adverb::transport::raw_packet> pair;
  adverb::port_number port;
  adverb::mac_address mac;
  adverb::ipv4_address peer;
  std::array<std::byte, 16> key;
  std::array<std::byte, 4> salt;
  std::uint32_t spi;
  bool only_udp;
};

struct a_function_of_the_library {
  template <class Traits, class Object>
  static auto on_object(const Object& object) {
    return adverb::detail::on_object<Traits>(object);
  }
  static auto check_returned(const auto&... arguments) {
    return adverb::detail::check_returned(arguments...);
  }
  using queue_pair_traits = adverb::detail::queue_pair_traits;
  adverb::on_failure policy;
  ibv_qp* pair;
  std::uint32_t flags;
};

struct a_C_program : a_program_with_a_device {
  ibv_pd* c_domain = ibv_alloc_pd(device.native_handle());
  ibv_pd* c_other_domain = ibv_alloc_pd(device.native_handle());
  ~a_C_program() { ibv_dealloc_pd(c_domain); }
};

// Over librdmacm

template <adverb::transport Transport>
struct an_address : a_program_with_a_device {
  const char* host;
  std::uint16_t port;
  adverb::cm::socket_address address;
  adverb::cm::listener<Transport> listener;
  adverb::queue_pair_options options;
  adverb::failure why;
  adverb::cm::private_data hello, reply;
  int my_greeting;
  std::array<std::byte, 64> incoming, outgoing;
  std::size_t size;
  int signal_descriptor;
};

struct a_client : an_address<adverb::transport::rc> {
  adverb::cm::connector<adverb::transport::rc, adverb::cm::step::ready> ready;
  adverb::cm::connection<adverb::transport::rc> connection;
};

struct a_server : an_address<adverb::transport::rc> {
  adverb::cm::connection_request<adverb::transport::rc> request;
  adverb::cm::connection_request<adverb::transport::rc, adverb::cm::step::ready> ready;
  adverb::cm::connection<adverb::transport::rc> connection;
};

struct a_datagram_program : an_address<adverb::transport::ud> {
  adverb::cm::connector<adverb::transport::ud> start;
  adverb::cm::datagram_endpoint here;
  adverb::mutable_buffer text, news;
};

/// Runs a fragment in surroundings of its own. The last place that is printed is that of a failure.
template <class Fragment>
void run(const char* place) {
  std::fprintf(stderr, "%s\n", place);
  Fragment fragment;
  fragment.run();
}

// For the tables of requests: the names of the functions that make them, and which pairs take them.
namespace requests {

using enum adverb::send_operation;
constexpr adverb::send_operation send_segmented = tcp_segmentation, flush_region = flush;
/// Not an operation of the send queue.
constexpr adverb::send_operation receive{std::uint64_t{1} << 63};

}  // namespace requests

constexpr std::uint64_t bit(adverb::send_operation request) {
  return static_cast<std::uint64_t>(request);
}
constexpr std::uint64_t every_request =
    bit(requests::receive) | ((std::uint64_t{1} << adverb::detail::operation_rows.size()) - 1);

template <adverb::transport Transport>
constexpr bool carries(adverb::send_operation request) {
  if (request == requests::receive)
    return adverb::can_post<adverb::queue_pair<Transport>,
                            decltype(receive(std::declval<adverb::mutable_buffer>()))>;
  return adverb::detail::operations_carried_by(Transport).contains(request);
}
