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
  # Its client, which waits until the server listens, is not run.
  problem=''
  "$(dirname "$0")/../../examples/both_ends" "$programs/$server" >"$scratch/both" 2>&1 && problem="it succeeded"
  grep -q "port 7471 is in use" "$scratch/both" || problem="the failure of the server is not shown"
  verdict "$server, both ends by one command, whose server fails" "$problem"
  interrupt server
  refuses "$server, no server" 1 'ECONNREFUSED|Connection refused' "$server" "$host"
done
finish
