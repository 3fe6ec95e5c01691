// SPDX-License-Identifier: MIT
// Sends files to another host, where they arrive whole or not at all:
//
//     file_transfer receive --directory incoming
//     file_transfer send movie.mkv thesis.pdf --to there
//
// Shows a protocol over a channel: how a slow disk slows down the sender, and how each side reports
// the reason of its failure, also after Ctrl-C. file_transfer/messages.hpp describes the messages.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>

#include "common/command_line.hpp"
#include "file_transfer/conversation.hpp"
#include "file_transfer/receiver.hpp"
#include "file_transfer/sender.hpp"

namespace {

namespace cm = adverb::cm;
using namespace file_transfer;

struct transfer_options {
  std::uint16_t port = 7472;
  // Options of the sender.
  std::vector<std::string> files{};
  std::string host{};
  // Options of the receiver.
  std::string folder = ".";
  std::string address{};
  bool once = false;
  bool overwrite = false;
};

async::task<> send_files(async::event_loop& loop, const transfer_options& options,
                         std::vector<source_file> files, open_conversation& open) {
  messages::channel channel =
      co_await messages::connect(loop, options.host, options.port, channel_options);
  const auto receiver = open = std::make_shared<conversation>(std::move(channel), "the receiver");
  sender work{*receiver};
  co_await receiver->run(work.send_all(files));
}

[[nodiscard]] cm::socket_address address_to_listen_on(const transfer_options& options) {
  if (options.address.empty()) return cm::socket_address::any(options.port);
  const auto address = cm::socket_address::parse(options.address, options.port);
  if (!address) throw examples::wrong_argument{"--address takes a numeric address"};
  return *address;
}

async::task<> receive_files(async::event_loop& loop, const transfer_options& options,
                            const target_folder& folder, open_conversation& open) {
  messages::listener listener{loop, address_to_listen_on(options), channel_options};
  std::printf("receiving into %s, at port %u\n", options.folder.c_str(), listener.port());
  do {
    try {
      co_await receive_from(co_await listener.next(), folder, open);
    } catch (const std::exception& failure) {
      if (options.once) throw;
      std::fprintf(stderr, "file_transfer: %s\n", failure.what());
    }
    open.reset();
  } while (!options.once);
}

}  // namespace

int main(int argc, char** argv) {
  examples::command_line arguments{
      "Sends files to another host, where they arrive completely or not at all.", "file_transfer"};
  transfer_options options;
  const auto add_port = [&](examples::command_line& role) {
    role.add_number("-p,--port", options.port, 1, 65535, "Port of the receiver");
  };
  examples::command_line receive = arguments.add_command("receive", "Receives files");
  receive.add_text("-d,--directory", options.folder, "Folder for the files")
      .type_name("FOLDER")
      .default_text(options.folder);
  receive.add_text("-a,--address", options.address, "Local address to listen on (default: any)");
  add_port(receive);
  receive.add_flag("--once", options.once, "End after one sender, with its success or failure");
  receive.add_flag("--force", options.overwrite, "Overwrite existing files");
  examples::command_line send = arguments.add_command("send", "Sends files");
  send.add_texts("FILE", options.files, "Files to send").required().type_name("");
  send.add_text("-t,--to", options.host, "Host where a receiver runs").required().type_name("HOST");
  add_port(send);
  return examples::run(arguments, argc, argv, [&] {
    async::event_loop loop;
    open_conversation open;
    if (send.is_given()) {
      std::vector<source_file> files;
      for (const std::string& path : options.files) files.emplace_back(path);
      run_until_interrupted(loop, open, send_files(loop, options, std::move(files), open));
    } else {
      const target_folder folder{options.folder, options.overwrite};
      run_until_interrupted(loop, open, receive_files(loop, options, folder, open));
    }
  });
}
