// SPDX-License-Identifier: MIT
// Bounces messages over extended reliable connections (XRC) between a server and several clients.
// Follows the protocol of rdma-core's ibv_xsrq_pingpong in both roles.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>

#include <adverb/adverb.hpp>

#include "common/command_line.hpp"
#include "common/completions.hpp"
#include "common/connection_options.hpp"
#include "common/file_descriptor.hpp"
#include "common/limits.hpp"
#include "common/mtu_option.hpp"
#include "common/pingpong_message.hpp"
#include "common/pingpong_report.hpp"
#include "common/tcp_connection.hpp"
#include "common/xrc_line.hpp"

namespace {

using adverb::qp_state;
using adverb::transport;
using initiator = adverb::queue_pair<transport::xrc_send>;
using target = adverb::queue_pair<transport::xrc_recv>;

struct xrc_pingpong_options : examples::connection_options {
  std::uint32_t size = 4096;
  std::uint32_t clients = 1;
  std::uint32_t tests = 5;
  adverb::service_level service_level{};
  bool sleep = false;
  adverb::mtu mtu = adverb::mtu::bytes_1024;
  std::string domain_file = "/tmp/xrc_domain";

  void add_to(examples::command_line& arguments) {
    connection_options::add_to(arguments);
    arguments.add_number("-s,--size", size, 1, examples::unlimited,
                         "Size of the messages, in bytes");
    arguments.add_number("-c,--clients", clients, 1, 1024,
                         "Number of clients, all on one host (for the server)");
    arguments.add_number("-n,--num_tests", tests, 1, examples::unlimited,
                         "Number of messages to each client, and back");
    arguments.add_number("-l,--sl", service_level, 0, 15, "Service level");
    arguments.add_flag("-e,--events", sleep,
                       "Sleep until there are completions, instead of polling");
    examples::add_mtu(arguments, mtu);
    arguments
        .add_text("--domain-file", domain_file,
                  "The file through which the processes of a host share their XRC domain")
        .type_name("FILE")
        .default_text(domain_file);
  }
};

[[nodiscard]] examples::file_descriptor open_domain_file(const std::string& name) {
  examples::file_descriptor file{::open(name.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0440)};
  if (!file) throw examples::network_error("cannot open " + name, errno);
  return file;
}

/// The objects that all connections of a process share.
struct node {
  explicit node(const xrc_pingpong_options& options)
      : device{adverb::open_device(options.device)},
        domain{device},
        file{open_domain_file(options.domain_file)},
        xrc{device, file.number(), adverb::xrc_domain_opening::existing_or_new},
        completions{device, std::size_t{3} * options.clients, options.sleep},
        shared{domain, xrc, completions.queue(), {.max_wr = options.clients}} {}

  adverb::context device;
  adverb::protection_domain domain;
  examples::file_descriptor file;
  adverb::xrc_domain xrc;
  examples::completions completions;
  adverb::xrc_shared_receive_queue shared;
};

/// One connection to a peer, and the progress of its exchange.
class seat {
 public:
  seat(node& ours, const xrc_pingpong_options& options) {
    auto fresh_target = target::create(ours.xrc);
    waiting_target_ = fresh_target.init().port(options.port).gid(options.gid).apply();
    auto fresh_initiator = initiator::create(
        ours.domain, {.send_cq = ours.completions.queue(), .max_send_wr = 2 * options.clients});
    // The protocol has one sequence number for both.
    waiting_initiator_ = fresh_initiator.init()
                             .port(options.port)
                             .gid(options.gid)
                             .psn(waiting_target_.announced().psn)
                             .apply();
  }

  /// Exchanges addresses with the peer: the client sends first.
  void meet(examples::tcp_connection connection, node& ours, const xrc_pingpong_options& options) {
    connection_ = std::move(connection);
    const examples::xrc_line line = examples::line_of({.target = waiting_target_.endpoint(),
                                                       .initiator = waiting_initiator_.endpoint(),
                                                       .queue = ours.shared.number()});
    if (options.is_client()) connection_->send(std::as_bytes(std::span{line}));
    examples::xrc_line answer{};
    connection_->receive(std::as_writable_bytes(std::span{answer}));
    if (!options.is_client()) connection_->send(std::as_bytes(std::span{line}));

    const examples::xrc_address theirs = examples::xrc_address_of(answer);
    queue_ = theirs.queue;
    const adverb::path_options path{.service_level = options.service_level};
    target_ = waiting_target_.connect(theirs.initiator, {.path = path, .path_mtu = options.mtu});
    initiator_ = waiting_initiator_.connect(theirs.target, {.path = path, .path_mtu = options.mtu});
  }

  [[nodiscard]] adverb::qp_number number() const noexcept { return target_.number(); }
  [[nodiscard]] const initiator& sender() const noexcept { return initiator_; }
  /// The peer's addresses.
  [[nodiscard]] adverb::shared_receive_queue_number queue() const noexcept { return queue_; }

  void say_end() const { connection_->send(std::as_bytes(std::span{end})); }
  void await_end() const {
    std::array<char, end.size()> answer{};
    connection_->receive(std::as_writable_bytes(std::span{answer}));
    if (answer != end)
      throw std::runtime_error{"the peer did not send \"END\"; is it an XRC ping-pong program?"};
  }

  std::uint32_t posted = 0;

 private:
  static constexpr std::array<char, 4> end{'E', 'N', 'D', '\0'};

  adverb::queue_pair<transport::xrc_recv, qp_state::init> waiting_target_{};
  adverb::queue_pair<transport::xrc_send, qp_state::init> waiting_initiator_{};
  target target_{};
  initiator initiator_{};
  adverb::shared_receive_queue_number queue_{};
  std::optional<examples::tcp_connection> connection_{};
};

void meet_all(std::vector<seat>& seats, node& ours, const xrc_pingpong_options& options) {
  if (options.is_client()) {
    seats.front().meet(examples::tcp_connection::to(options.server, options.tcp_port), ours,
                       options);
    return;
  }
  const examples::tcp_listener listener{options.tcp_port};
  for (seat& each : seats) each.meet(listener.accept(), ours, options);
}

/// Sends `options.tests` messages to each seat, and receives as many. The server sends first.
template <class Send, class Receive>
void rally(node& ours, std::vector<seat>& seats, const xrc_pingpong_options& options,
           const Send& send, const Receive& receive) {
  const std::size_t total = seats.size() * options.tests;
  const auto play = [&](std::size_t index) {
    seat& to = seats[index];
    if (to.posted == options.tests) return;
    // Over the connections in turn: all lead to the node where the peer's queue is.
    send(seats[(index + to.posted) % seats.size()].sender(), to.queue());
    ++to.posted;
  };
  if (!options.is_client())
    for (std::size_t index = 0; index < seats.size(); ++index) play(index);
  for (std::size_t received = 0, sent = 0; received < total || sent < total;) {
    const adverb::completion done = ours.completions.next();
    if (!done.success().receive()) {
      ++sent;
      continue;
    }
    ++received;
    receive();
    // A client's message may arrive over the connection of another client.
    const auto from = std::find_if(seats.begin(), seats.end(), [&](const seat& each) {
      return seats.size() == 1 || each.number() == done.queue_pair();
    });
    if (from == seats.end()) throw std::runtime_error{"a message came over an unknown connection"};
    play(static_cast<std::size_t>(from - seats.begin()));
  }
}

/// Returns when all sides have received their messages.
void part(const std::vector<seat>& seats, bool is_client) {
  if (is_client) seats.front().say_end();
  for (const seat& each : seats) each.await_end();
  if (is_client) return;
  for (const seat& each : seats) each.say_end();
}

void play(xrc_pingpong_options options) {
  if (options.is_client()) options.clients = 1;
  node ours{options};
  const adverb::port_attributes port = examples::active_port(ours.device, options.port);
  examples::check_limit("--size", options.size, port.max_message_size());

  const std::vector<std::byte> outgoing = examples::make_message(options.size);
  std::vector<std::byte> incoming(options.size);
  const adverb::memory_region from{ours.domain, outgoing};
  const adverb::memory_region into{ours.domain, incoming};
  const auto receive = adverb::receive(into.buffer());
  for (std::uint32_t count = 0; count < options.clients; ++count) ours.shared.post(receive).check();

  std::vector<seat> seats;
  for (std::uint32_t count = 0; count < options.clients; ++count) seats.emplace_back(ours, options);
  meet_all(seats, ours, options);

  const auto send = adverb::send(from.const_buffer()).signaled();
  const examples::pingpong_clock clock;
  rally(
      ours, seats, options,
      [&](const initiator& over, adverb::shared_receive_queue_number to) {
        over.post(send.to(to)).check();
      },
      [&] { ours.shared.post(receive).check(); });
  clock.report(options.size, options.clients * options.tests);
  part(seats, options.is_client());
}

}  // namespace

int main(int argc, char** argv) {
  examples::command_line arguments{"Bounces messages over extended reliable connections (XRC).",
                                   "xrc_pingpong"};
  xrc_pingpong_options options;
  options.add_to(arguments);
  arguments.add_footer(
      "The other side may be ibv_xsrq_pingpong, which needs -g on Ethernet links (RoCE). Its\n"
      "option for on-demand paging (-o) is not supported. Software devices have no XRC.");
  return examples::run(arguments, argc, argv, [&] { play(options); });
}
