#!/usr/bin/env bash
# rping talks to rdma-core's rping, in both roles, and to itself.
source "$(dirname "$0")/support/cm.bash"

ours=("$programs/rping")
for arguments in "-C 1 -S 26" "-C 20" "-C 10 -S 65535"; do
  read -ra each <<<"$arguments"
  served_by_theirs "theirs serves ours, $arguments" rping -s "${each[@]}" -- \
    "${ours[@]}" -c -V "${each[@]}" -a
  works "ours serves theirs, $arguments" "${ours[@]}" -s "${each[@]}" -- \
    rping -c -V "${each[@]}" -a
  works "ours serves ours, $arguments" "${ours[@]}" -s "${each[@]}" -- \
    "${ours[@]}" -c -V "${each[@]}" -a
done

last='rdma-ping-2: CDEFGHIJKLMNOPQRSTUVWXYZ\[\\\]\^_`abcdefghijklmnopqrst$'
served_by_theirs "theirs serves ours, with texts" rping -s -v -- "${ours[@]}" -c -v -C 3 -a
prints client "^ping data: $last"
prints server "^server ping data: $last"
works "ours serves theirs, with texts" "${ours[@]}" -s -v -a "$host" -p 7500 -- \
  rping -c -v -C 3 -p 7500 -a
prints client "^ping data: $last"
prints server "^server ping data: $last"

# A server for one client after another, of which one dies and one requests too much.
: >"$scratch/server.out" >"$scratch/endless"
"${ours[@]}" -s -P >"$scratch/server.out" 2>&1 &
server=$!
wait_until_listening "$server"
"${ours[@]}" -c -v -a "$host" >"$scratch/endless" &
endless=$!
until [[ $(<"$scratch/endless") == *rdma-ping-3* ]] || ! kill -0 "$endless"; do pause 0.05; done
kill -KILL "$endless"
wait "$endless" 2>/dev/null
refuses "a text that is too long for the server" 1 'the server ended the connection' \
  rping -c -S 65 -C 1 -a "$host"
problem=''
for client in "${ours[0]}" rping; do
  "$client" -c -V -C 5 -a "$host" >"$scratch/client.out" 2>&1 ||
    problem+=" $client ended with $?"
done
verdict "clients of a persistent server" "$problem"
prints server "^rping: the client's text has 65 bytes, but there is room for 64; give both sides"
kill "$server"
wait "$server"
finish
