// SPDX-License-Identifier: MIT
// Sends one message to a server, receives the answer, and ends: the other side of cm_server, and of
// rdma-core's rdma_server.
#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>

#include "common/cm_completion.hpp"
#include "common/cm_greeting.hpp"
#include "common/cm_options.hpp"
#include "common/command_line.hpp"
#include "common/patience.hpp"
#include "common/when_the_server_listens.hpp"

namespace {

void greet(const examples::cm_options& options) {
  auto route = adverb::cm::resolve(options.server, options.port, {.from = options.from()});
  const examples::greeting greeting{route.context(), "hello, server"};
  auto ready = route.create_queue_pair({}, greeting.domain());
  greeting.post_receive(ready.queue_pair());
  auto connection = ready.connect();
  greeting.send(connection);
  greeting.wait_received(connection);
  // The server disconnects once its message is acknowledged, which Soft-RoCE does after this side
  // has the message: a client that disconnects first may take the acknowledgement with it.
  connection.wait_disconnected(examples::patience);
  connection.disconnect();
}

}  // namespace

int main(int argc, char** argv) {
  examples::command_line arguments{"Sends one message to a server and receives the answer.",
                                   "cm_client"};
  examples::cm_options options;
  options.add_server_to(arguments, "The host of the server").required();
  options.add_to(arguments);
  arguments.add_footer("The server may be cm_server or rdma_server.");
  return examples::run(arguments, argc, argv,
                       [&] { examples::when_the_server_listens([&] { greet(options); }); });
}
