// SPDX-License-Identifier: MIT
// Sends files to another host, where they arrive whole or not at all:
//
//     file_transfer receive --directory incoming
//     file_transfer send movie.mkv thesis.pdf --to there
//
// Shows how to make connections step by step with private data, to reject one with a reason, and to
// end one; how credits keep a slow receiver from being overrun; and how a program sleeps until a
// message, a disconnection or Ctrl-C arrives. file_transfer/messages.hpp describes the messages.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <adverb/cm.hpp>

#include "common/command_line.hpp"
#include "file_transfer/interruption.hpp"
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

void send_files(const transfer_options& options) {
  std::vector<source_file> files;
  for (const std::string& path : options.files) files.emplace_back(path);
  const auto count = static_cast<std::uint32_t>(files.size());
  const interruption interruption;
  try {
    sender sender{options.host, options.port, interruption};
    for (std::uint32_t index = 0; index < count; ++index)
      sender.send(std::move(files[index]), index + 1, count);
  } catch (const adverb::error&) {
    interruption.check();  // Ctrl-C may be the reason for the failure.
    throw;
  }
}

[[nodiscard]] cm::socket_address address_to_listen_on(const transfer_options& options) {
  if (options.address.empty()) return cm::socket_address::any(options.port);
  const auto address = cm::socket_address::parse(options.address, options.port);
  if (!address) throw examples::wrong_argument{"--address takes a numeric address"};
  return *address;
}

void receive_files(const transfer_options& options) {
  const target_folder folder{options.folder, options.overwrite};
  const auto listener = cm::listener<transport::rc>::create(address_to_listen_on(options));
  const interruption interruption;
  std::printf("receiving into %s, at port %u\n", options.folder.c_str(), listener.port());
  do {
    try {
      receiver{next_sender(listener, interruption), folder, interruption}.receive_all();
    } catch (const interrupted&) {
      throw;
    } catch (const std::exception& failure) {
      interruption.check();
      if (options.once) throw;
      std::fprintf(stderr, "file_transfer: %s\n", failure.what());
    }
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
    if (send.is_given())
      send_files(options);
    else
      receive_files(options);
  });
}
