// SPDX-License-Identifier: MIT
// Opens the loop of an io_context in a coroutine of Asio, which needs no RDMA device.
#include <cstdio>
#include <exception>

#include <asio.hpp>

#include <adverb/asio.hpp>

namespace {

asio::awaitable<void> open_loop(asio::io_context& context) {
  static_cast<void>(adverb::async::loop_of(context));
  co_return;
}

}  // namespace

int main() {
  asio::io_context context;
  asio::co_spawn(context, open_loop(context), [](const std::exception_ptr& why) {
    std::printf("Asio %d: %s\n", ASIO_VERSION, why ? "there is no librdmacm" : "the loop is open");
  });
  context.run();
}
