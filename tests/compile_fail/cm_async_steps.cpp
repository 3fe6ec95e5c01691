// SPDX-License-Identifier: MIT
// A step may be stored, so it refers to no list of buffers and to no temporary request. A message
// has a name. Requests are posted through their connection.
#include <cstddef>
#include <span>
#include <string>

#include <adverb/async.hpp>

using namespace adverb;

[[maybe_unused]] static void store(const async::connection& client,
                                   const async::datagram_endpoint& here,
                                   const datagram_destination& there, async::listener& listener,
                                   remote_buffer<std::byte, access_right::remote_read> remote,
                                   std::span<mutable_buffer> buffers,
                                   std::span<const inline_data> pieces) {
  const auto sending = client.perform(send(buffers[0], buffers[1]), send(pieces[0], pieces[1]));
  const auto reading = client.read(remote, buffers[0]);
  (void)client.post(send(buffers), send(pieces), read(remote, buffers));
  async::connection_request request = listener.take_request();
  const auto accepting = request.accept();
  const async::message named;
  (void)named.bytes(), (void)named.text(), (void)named.buffer(), (void)named.as<int>();
  (void)sending, (void)reading, (void)accepting, (void)here, (void)there;
#if ADVERB_MUST_FAIL == 1
  // case: list_of_buffers
  // expect: a step may start after the list of its buffers has gone: pass the buffers one by one,
  // or post the request
  (void)client.send(buffers);

  // case: list_of_buffers_to_fill
  // expect: a step may start after the list of its buffers has gone: pass the buffers one by one,
  // or post the request
  (void)client.read(remote, buffers);

  // case: list_of_inline_data
  // expect: a step may start after the list of its buffers has gone: pass the buffers one by one,
  // or post the request
  (void)client.perform(send(buffers[0]), send(pieces));

  // case: list_in_a_datagram
  // expect: a step may start after the list of its buffers has gone: pass the buffers one by one,
  // or post the request
  (void)here.send(there, buffers);

  // case: temporary_request
  // expect(gcc): as 'this' argument discards qualifiers
  // expect(clang): function has non-const lvalue ref-qualifier
  (void)listener.take_request().accept();

  // case: bytes_of_a_temporary_message
  // expect: the message would be destroyed at the end of the expression, with its bytes: give it a
  // name first
  (void)async::message{}.bytes();

  // case: text_of_a_temporary_message
  // expect: the message would be destroyed at the end of the expression, with its bytes: give it a
  // name first
  (void)async::message{}.text();

  // case: buffer_of_a_temporary_message
  // expect: the message would be destroyed at the end of the expression, with its bytes: give it a
  // name first
  (void)async::message{}.buffer();

  // case: message_as_a_type_with_a_destructor
  // expect: a message can only be copied into a trivially copyable type
  (void)async::message{}.as<std::string>();

  // case: post_beside_the_connection
  // expect: the type of the queue pair has no state: call .as<qp_state::...>()
  client.queue_pair().post(send(buffers[0])).check();
#endif
}
