#!/usr/bin/env bash
# A connection that librdmacm cannot make, and a peer that is another program, end the program with one
# sentence about that.
source "$(dirname "$0")/support/cm.bash"

# These wait a while for a server to come, so they run beside the others.
clients=(cm_echo cm_client "rping -c -p 7471 -a")
processes=()
for program in "${clients[@]}"; do
  read -ra command <<<"$program"
  "$programs/${command[0]}" "${command[@]:1}" "$host" >"$scratch/${command[0]}" 2>&1 &
  processes+=($!)
done

for program in "${clients[@]}"; do
  read -ra command <<<"$program"
  refuses "$program, no such host" 1 'getaddrinfo on no.such.host.invalid:[0-9]+: ' \
    "${command[@]}" no.such.host.invalid
  refuses "$program, no RDMA device" 1 'rdma_resolve_(addr|route) .*ENODEV' "${command[@]}" 127.0.0.1
done
for program in cm_echo cm_server "rping -s"; do
  read -ra command <<<"$program"
  refuses "$program, not an address of this machine" 1 \
    'rdma_bind_addr .*192.0.2.1:7600.*(EADDRNOTAVAIL|ENODEV)' "${command[@]}" -p 7600 -a 192.0.2.1
done

: >"$scratch/server.out"
"$programs/cm_server" -p 7601 -a "$host" >"$scratch/server.out" 2>&1 &
taker=$!
wait_until_listening "$taker"
refuses "a port that is taken" 1 'rdma_bind_addr .*:7601.*(EADDRINUSE|EADDRNOTAVAIL)' \
  cm_echo -p 7601 -a "$host"
kill "$taker"
wait "$taker"

for number in "${!clients[@]}"; do
  name=${clients[number]%% *}
  collect "$name, no server" "${processes[number]}" \
    'rdma_connect on .*: ECONNREFUSED .*: nothing listens on that port' "$name" "$name"
done

patient=yes
run_both "$programs/rping" -s -p 7602 -- "$programs/cm_client" -p 7602
sed -i '/^sent /d' "$scratch/client.out"
fails_with client 1 "$client_status" cm_client 'the peer ended the connection'
verdict "a server of another kind" "$problem"
sed -i '/^listening on/d' "$scratch/server.out"
fails_with server 1 "$server_status" rping "the client's text has [0-9]+ bytes"
verdict "a client of another kind" "$problem"
finish
