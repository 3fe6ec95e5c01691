#!/usr/bin/env bash
# async_echo and async_echo_asio serve 64 clients of either kind, and go on when clients fail or vanish.
source "$(dirname "$0")/support/async.bash"

for server in async_echo async_echo_asio; do
  start server "$server"
  for client in async_echo async_echo_asio; do
    succeeds "$server, 64 clients of $client" '^64 clients received 10 echoes each$' \
      "$client" "$host" --clients 64
  done
  refuses "$server, a client of another kind" 1 'text number 0 came back changed' \
    rping -c -V -C 1 -p 7471 -a "$host"
  vanish async_echo "$host" --clients 16
  succeeds "$server, after clients that vanished" '^1 clients received' async_echo "$host"
  interrupt server
  refuses "$server, no server" 1 'ECONNREFUSED|Connection refused' "$server" "$host"
done
finish
