// SPDX-License-Identifier: MIT
// Sends one message to a server, gets the answer, and ends: the other side of cm_server, and of
// rdma-core's rdma_server.
#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>

#include "common/cm_completion.hpp"
#include "common/cm_greeting.hpp"
#include "common/cm_options.hpp"
#include "common/run.hpp"
#include "common/when_the_server_listens.hpp"

namespace {

void greet(const examples::cm_options& options) {
  auto route = adverb::cm::resolve(options.server, options.port, {.from = options.from()});
  examples::greeting greeting{route.context(), "hello, server"};
  auto ready = route.create_queue_pair({}, greeting.domain());
  greeting.post_receive(ready.queue_pair());
  auto connection = ready.connect();
  greeting.send(connection);
  greeting.wait_received(connection);
  connection.disconnect();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Sends one message to a server, and gets the answer.", "cm_client"};
  examples::cm_options options;
  options.add_server_to(app, "The host of the server");
  app.get_option("HOST")->required();
  options.add_to(app);
  app.footer("The server may be cm_server or rdma_server.");
  return examples::run(app, argc, argv,
                       [&] { examples::when_the_server_listens([&] { greet(options); }); });
}
