// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cerrno>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <adverb/core/detail/lack_of_memory.hpp>
#include <adverb/messages/detail/tcp_carrier.hpp>
#include <adverb/messages/detail/tcp_peers.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Has the kernel end a connection whose peer's machine is silent for a time.
ADVERB_FUNC void find_dead_machine(int descriptor, timeout limit, bool is_peer_blocking) noexcept {
  const auto set = [&](int level, int name, int value) {
    static_cast<void>(::setsockopt(descriptor, level, name, &value, sizeof value));
  };
  const int milliseconds = limit.in_milliseconds();
  // It must acknowledge the frames that probe it.
  if (!is_peer_blocking) return set(IPPROTO_TCP, TCP_USER_TIMEOUT, milliseconds);
  // TCP_USER_TIMEOUT would end a connection whose peer lives and reads nothing for so long. The
  // kernel of such a peer acknowledges probes of the kernel.
  constexpr int probes = 3;
  const int interval = std::clamp(milliseconds / (1'000 * (probes + 1)), 1, 32'767);
  set(IPPROTO_TCP, TCP_KEEPIDLE, interval);
  set(IPPROTO_TCP, TCP_KEEPINTVL, interval);
  set(IPPROTO_TCP, TCP_KEEPCNT, probes);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
}

ADVERB_FUNC greeted_carrier carrier_of(async::device_loop& loop, tcp_greeting& greeted,
                                       const handshake& mine,
                                       const messages::channel_options& options,
                                       on_failure policy) {
  policy.clear();
  greeted_carrier made{.carrier = nullptr, .of_peer = greeted.of_peer()};
  if (!made.of_peer) return made;
  greeted.answer(mine, policy);
  if (policy.failed()) return made;
  if (const timeout dead_after = mine.dead_after_with(*made.of_peer); !dead_after.is_endless())
    find_dead_machine(greeted.socket(), dead_after, made.of_peer->is_blocking);
  made.carrier = std::make_unique<tcp_carrier>(loop, greeted, mine, options.max_frames, policy);
  return made;
}

ADVERB_FUNC tcp_listener::tcp_listener(async::device_loop& loop, cm::socket_address address,
                                       const handshake& mine, timeout limit,
                                       async::waiter_list& waiters, greeting_filter filter,
                                       on_failure policy)
    : loop_{&loop}, mine_{mine}, limit_{limit}, waiters_{&waiters}, filter_{filter} {
  // First, because it may throw.
  loop_sockets* const sockets = loop.sockets(policy);
  if (sockets == nullptr) return;
  int descriptor = -1;
  const auto check = [&](const char* verb, int result) {
    if (result != -1) return true;
    const int number = errno;
    policy.report(number, verb, [&](failure_description& description) {
      description.object(
          [&](text_writer& writer) { writer.put(to_text(address)).put(" over TCP"); });
      if (number == EADDRINUSE)
        description.explain("a socket has this port already: \"ss -tanp\" shows it");
      else if (number == EACCES)
        description.explain(
            "ports below net.ipv4.ip_unprivileged_port_start are for privileged programs");
      else if (number == EADDRNOTAVAIL)
        description.explain(
            "possible causes: this is not an address of this machine, or \"ip address\" shows it "
            "as tentative or dadfailed");
    });
    if (descriptor != -1) ::close(descriptor);
    return false;
  };
  const auto open = [&] {
    return descriptor = ::socket(static_cast<int>(address.family()),
                                 SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  };
  // A machine without IPv6 has every address in IPv4.
  if (open() == -1 && errno == EAFNOSUPPORT && address.is_any()) {
    address = cm::socket_address::any_ipv4(address.port());
    open();
  }
  if (!check("socket", descriptor)) return;
  constexpr int yes = 1;
  constexpr int no = 0;
  static_cast<void>(::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes));
  if (address.family() == cm::address_family::ipv6)
    static_cast<void>(::setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no));
  if (!check("bind", ::bind(descriptor, address.native(), address.length()))) return;
  if (!check("listen", ::listen(descriptor, SOMAXCONN))) return;
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (!check("getsockname", ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&bound), &size)))
    return;
  port_ = address_in(reinterpret_cast<const sockaddr*>(&bound)).port();
  watch_socket(*sockets, descriptor, false, policy);
}

ADVERB_FUNC std::unique_ptr<tcp_greeting> tcp_listener::take() noexcept {
  if (ready_.empty()) return nullptr;
  std::unique_ptr<tcp_greeting> first = std::move(ready_.front());
  ready_.pop_front();
  return first;
}

ADVERB_FUNC void tcp_listener::socket_ready() {
  constexpr int most_in_a_turn = 16;
  for (int each = 0; each < most_in_a_turn; ++each) {
    const int accepted = ::accept4(descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (accepted != -1) {
      if (!has_memory_for([&] { add(accepted); })) ::close(accepted);
    } else if (errno == EAGAIN) {
      return;
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      // There is no event for room.
      pause_watching();
      return loop_->set_timer_after(pause_, default_duration<1'000>{100});
    }
  }
}

ADVERB_FUNC void tcp_listener::add(int descriptor) {
  // Nothing is allocated after this, and the descriptor is the caller's until then.
  greeting_.push_back(std::make_unique<tcp_greeting>(
      [](tcp_greeting& which) { static_cast<tcp_listener*>(which.owner())->greeted(which); },
      this));
  if (greeting_.size() > most_at_a_time) greeting_.pop_front();
  if (!greeting_.back()->accept(*loop_, descriptor, mine_, limit_)) greeting_.pop_back();
}

ADVERB_FUNC void tcp_listener::greeted(tcp_greeting& which) {
  const auto found = std::ranges::find(greeting_, &which, &std::unique_ptr<tcp_greeting>::get);
  if (which.of_peer() && filter_.takes(filter_.argument, *found)) {
    greeting_.erase(found);
    return;
  }
  if (!which.of_peer() || ready_.size() == most_at_a_time) {
    greeting_.erase(found);
    return;
  }
  ready_.splice(ready_.end(), greeting_, found);
  waiters_->resume_first();
}

}  // namespace adverb::inline ADVERB_ABI::detail
