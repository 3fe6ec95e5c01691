// SPDX-License-Identifier: MIT
// Receives one message from a client, answers it, and ends: the other side of cm_client, and of
// rdma-core's rdma_client.
#include "common/cm_server.hpp"

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>

#include "common/cm_completion.hpp"
#include "common/cm_greeting.hpp"
#include "common/cm_options.hpp"
#include "common/command_line.hpp"

namespace {

void serve(examples::cm_request request) {
  const examples::greeting greeting{request.context(), "hello, client"};
  auto ready = request.create_queue_pair({}, greeting.domain());
  greeting.post_receive(ready.queue_pair());
  auto connection = ready.accept();
  greeting.wait_received(connection);
  greeting.send(connection);
  // The side that sends last disconnects. rdma_client does it as soon as it has the answer.
  connection.disconnect();
}

}  // namespace

int main(int argc, char** argv) {
  examples::command_line arguments{"Receives one message from a client and answers it.",
                                   "cm_server"};
  examples::cm_options options;
  options.add_to(arguments);
  arguments.add_footer("The client may be cm_client or rdma_client.");
  return examples::run(arguments, argc, argv,
                       [&] { serve(examples::listen_at(options.listening()).next_request()); });
}
