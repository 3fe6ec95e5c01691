// SPDX-License-Identifier: MIT
// Copies data to another host. Each block is a long message, which RDMA writes into the memory of
// the receiver. Each side has two blocks, so that the disks and the network work at once.
//
//     bulk_copy --into movie.mkv        # the receiver of one copy; without --into it only checks
//     bulk_copy 10.1.0.1 movie.mkv      # the sender
//     bulk_copy 10.1.0.1 --generate 64  # sends 64 MiB of generated data
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <system_error>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>

#include "common/async_server.hpp"
#include "common/cm_options.hpp"
#include "common/command_line.hpp"
#include "common/copied_data.hpp"
#include "common/printable.hpp"

namespace {

using namespace examples;
namespace async = adverb::async;
namespace messages = adverb::messages;

constexpr std::size_t block_size = 1 << 20;
/// A disk may hold up the loop of a side.
constexpr messages::channel_options patient{.dead_after = std::chrono::seconds{30}};

/// Sends blocks until the end of the data, or until the receiver gives up. Several of these tasks
/// stay in order, because none waits between reading and sending.
async::task<> send_blocks(const messages::channel& receiver, copied_data& data) {
  const async::loop_memory memory = receiver.memory(block_size);
  for (std::error_code why; !why && data.left() > 0;) {
    const auto [offset, size] = data.next(block_size);
    data.read(offset, memory.bytes().first(size));
    co_await receiver.send(memory.slice(0, size)).report_to(why);
  }
}

async::task<> receive_blocks(const messages::channel& sender, copied_data& data) {
  const async::loop_memory memory = sender.memory(block_size);
  while (data.left() > 0) {
    const auto [offset, size] = data.next(block_size);
    messages::incoming block = co_await sender.next().within(patient.dead_after);
    if (block.size() != size) throw std::runtime_error{"the sender sent other data than announced"};
    co_await block.receive_into(memory.buffer());
    data.write(offset, memory.bytes().first(size));
  }
}

/// An empty answer means yes; another one is the reason why not.
async::task<> wait_for_yes(const messages::channel& receiver) {
  const messages::incoming answer = co_await receiver.next().within(patient.dead_after);
  if (!answer.text().empty())
    throw std::runtime_error{"the receiver refused: " + printable(answer.text())};
}

async::task<> send(async::event_loop& loop, const cm_options& to, copied_data data) {
  const auto receiver = co_await messages::connect(loop, to.server, to.port, patient);
  co_await receiver.send(data.left());
  co_await wait_for_yes(receiver);
  co_await async::when_all(send_blocks(receiver, data), send_blocks(receiver, data));
  std::error_code given_up;
  co_await receiver.send(data.checksum()).report_to(given_up);
  co_await wait_for_yes(receiver);
  data.finish("sent");
  co_await receiver.close();
}

async::task<> receive(async::event_loop& loop, std::uint16_t port, const std::string& path,
                      std::uint64_t limit) {
  messages::listener listener{loop, adverb::cm::socket_address::any(port), patient};
  std::printf("listening on port %d\n", listener.port());
  const auto sender = co_await listener.accept();
  std::string refusal;
  try {
    const auto size = (co_await sender.next().within(patient.dead_after)).as<std::uint64_t>();
    if (size > limit << 20) throw std::runtime_error{"the data are longer than --limit"};
    auto data = copied_data::into(path, size);
    co_await sender.send(refusal);
    co_await async::when_all(receive_blocks(sender, data), receive_blocks(sender, data));
    if ((co_await sender.next().within(patient.dead_after)).as<std::uint64_t>() != data.checksum())
      throw std::runtime_error{"the checksum is wrong"};
    data.finish("received");
  } catch (const std::exception& failure) {
    refusal = failure.what();
  }
  std::error_code is_gone;
  co_await sender.send(refusal).report_to(is_gone);
  co_await sender.close().report_to(is_gone);
  if (!refusal.empty()) throw std::runtime_error{refusal};
}

}  // namespace

int main(int argc, char** argv) {
  command_line arguments{"Copies data to another host.", "bulk_copy"};
  cm_options options;
  std::string from, into;
  std::uint64_t generated = 64, limit = 1 << 20;
  options.add_server_to(arguments, "Send to this host; without it, receive one copy");
  arguments.add_text("FILE", from, "File to send").type_name("");
  arguments.add_number("-g,--generate", generated, 0, limit,
                       "Size of the data without FILE, in MiB");
  arguments.add_text("-i,--into", into, "File to receive").type_name("FILE");
  arguments.add_number("-l,--limit", limit, 0, limit, "Longest data to receive, in MiB");
  options.add_port_to(arguments);
  return run(arguments, argc, argv, [&] {
    async::event_loop loop;
    run_to_end(loop, options.is_client()
                         ? send(loop, options, copied_data::of(from, generated << 20))
                         : receive(loop, options.port, into, limit));
  });
}
