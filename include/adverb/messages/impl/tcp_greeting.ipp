// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <span>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <adverb/cm/detail/explain_call.hpp>
#include <adverb/messages/detail/tcp_greeting.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC bool tcp_greeting::connect(async::device_loop& loop, const cm::socket_address& address,
                                       const handshake& mine, timeout limit) {
  peer_ = address;
  // First, because it may throw.
  loop_sockets* const sockets = loop.sockets(why_);
  if (sockets == nullptr) return false;
  const int descriptor =
      ::socket(static_cast<int>(address.family()), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor == -1) {
    fail(errno, "socket");
    return false;
  }
  if (::connect(descriptor, address.native(), address.length()) == -1 && errno != EINPROGRESS) {
    const int number = errno;
    ::close(descriptor);
    fail(number, "connect");
    return false;
  }
  return start(loop, *sockets, descriptor, true, mine, limit);
}

ADVERB_FUNC bool tcp_greeting::accept(async::device_loop& loop, int descriptor,
                                      const handshake& mine, timeout limit) {
  loop_sockets* const sockets = loop.sockets(why_);
  if (sockets != nullptr) return start(loop, *sockets, descriptor, false, mine, limit);
  ::close(descriptor);
  return false;
}

ADVERB_FUNC bool tcp_greeting::start(async::device_loop& loop, loop_sockets& sockets,
                                     int descriptor, bool is_connecting, const handshake& mine,
                                     timeout limit) {
  watch_socket(sockets, descriptor, is_connecting, why_);
  if (why_) return false;
  // A frame is not to wait for the acknowledgement of the one before.
  constexpr int yes = 1;
  static_cast<void>(::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes));
  is_connecting_ = is_connecting;
  at_ = is_connecting ? phase::connecting : phase::receiving;
  mine_ = mine;
  if (!limit.is_endless()) loop.set_timer_after(timer_, limit);
  return true;
}

ADVERB_FUNC void tcp_greeting::socket_ready() {
  if (at_ == phase::connecting) {
    int number = 0;
    socklen_t size = sizeof number;
    static_cast<void>(::getsockopt(descriptor(), SOL_SOCKET, SO_ERROR, &number, &size));
    if (number != 0) {
      fail(number, "connect");
      return finish();
    }
    if (const int failed = send(descriptor(), mine_); failed != 0) {
      fail(failed, "send");
      return finish();
    }
    at_ = phase::receiving;
    watch_for_writing(false);
    return;
  }
  if (at_ == phase::receiving) receive();
}

ADVERB_FUNC int tcp_greeting::send(int descriptor, const handshake& part) {
  const cm::private_data data = part.encode();
  const std::span<const std::byte> bytes = data.bytes();
  const ssize_t sent = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(bytes.size())) return 0;
  return sent == -1 ? errno : EIO;
}

ADVERB_FUNC void tcp_greeting::answer(const handshake& mine, on_failure policy) {
  policy.clear();
  if (is_connecting_) return;
  if (const int failed = send(greeted_, mine); failed != 0)
    policy.report(failed, "send", [](failure_description& description) {
      description.explain("the peer has ended its connection over TCP");
    });
}

ADVERB_FUNC void tcp_greeting::receive() {
  const std::span<std::byte> rest = std::span{received_}.subspan(received_size_);
  const ssize_t got = ::recv(descriptor(), rest.data(), rest.size(), 0);
  if (got == -1) {
    if (errno == EAGAIN || errno == EINTR) return;
    fail(errno, "recv");
    return finish();
  }
  if (got == 0) {
    fail(ECONNRESET, "recv", "the peer closed the connection before the end of its handshake");
    return finish();
  }
  received_size_ += static_cast<std::size_t>(got);
  if (received_size_ < received_.size()) return;
  of_peer_ = handshake::decode(std::span<const std::byte>{received_});
  if (of_peer_ && !mine_.agrees_with(*of_peer_)) of_peer_.reset();
  // A peer without a version in common learns this end's.
  if (!is_connecting_ && !of_peer_) static_cast<void>(send(descriptor(), mine_));
  finish();
}

ADVERB_FUNC void tcp_greeting::expired() {
  fail(ETIMEDOUT, "connect",
       at_ == phase::connecting ? "no answer came within connect_timeout"
                                : "the peer sent no handshake within connect_timeout; possible "
                                  "causes: it is no messages::channel, or its program is busy");
  finish();
}

ADVERB_FUNC void tcp_greeting::finish() {
  at_ = phase::done;
  timer_.stop();
  greeted_ = release_socket();
  if (!of_peer_ && greeted_ != -1) ::close(std::exchange(greeted_, -1));
  done_(*this);
}

ADVERB_FUNC void tcp_greeting::fail(int number, const char* verb, const char* sentence) {
  on_failure{why_}.report(number, verb, [&](failure_description& description) {
    if (!peer_.is_empty())
      description.object([&](text_writer& writer) { writer.put(to_text(peer_)).put(" over TCP"); });
    if (sentence != nullptr) {
      description.explain(sentence);
    } else if (number == ECONNREFUSED) {
      description.explain(
          "possible causes: nothing listens on this port, or a firewall rejects it");
    } else if (number == EHOSTUNREACH) {
      description.explain("possible causes: no neighbour answers, or a firewall rejects it");
    } else if (number == EINVAL && lacks_scope(peer_)) {
      description.explain([&](text_writer& writer) { explain_lack_of_scope(writer, peer_); });
    }
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail
