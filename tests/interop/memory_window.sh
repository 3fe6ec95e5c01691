#!/usr/bin/env bash
# memory_window writes through windows of every size, and only as long as they are granted.
source "$(dirname "$0")/../support/harness.bash"

for size in 1 4096 1048576; do
  works "$size bytes" "$programs/memory_window" -s "$size" -- "$programs/memory_window" -s "$size"
  prints client "^wrote $size bytes and invalidated the window$"
  prints client "^wrote $size bytes until the server invalidated the window$"
  prints client '^the server refused a later write$'
  prints server "^the client wrote $size bytes and invalidated the window$"
  prints server "^the client wrote $size bytes, then the server invalidated the window$"
  prints server '^no later write changed the memory$'
done

# The server's last message stays unacknowledged until a refused write has moved its queue pair to ERR.
: >"$scratch/server.out"
"$programs/memory_window" >"$scratch/server.out" 2>&1 &
server=$!
wait_until_listening "$server"
client_status=0 server_status=0
wait_for_line server 'then the server invalidated' "$server" |
  "$programs/../tests/interop/memory_window_late_ack" 127.0.0.1 >"$scratch/client.out" 2>&1 ||
  client_status=$?
wait "$server" || server_status=$?
problem=''
if [[ $client_status -ne 0 || $server_status -ne 0 ]]; then
  problem="client ended with $client_status, server with $server_status"
fi
verdict "a write that is refused before the last message is acknowledged" "$problem"
finish
