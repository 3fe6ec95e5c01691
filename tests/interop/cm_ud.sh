#!/usr/bin/env bash
# cm_ud talks to udaddy in both roles, and to itself, with one peer and with several.
source "$(dirname "$0")/../support/harness.bash"

own_address=${SOFTRDMA_ADDRESS:?"softrdma/run says what the device is like"}

# datagram_case NAME READY SERVER… -- CLIENT…: both end well. The server listens a moment after it
# has printed a line that matches.
datagram_case() {
  local name=$1 ready=$2 server=() problem='' status=0
  shift 2
  while [[ $1 != -- ]]; do
    server+=("$1")
    shift
  done
  shift
  rm -f "$scratch"/*.out
  : >"$scratch/server.out"
  "${server[@]}" >"$scratch/server.out" 2>&1 &
  local process=$!
  wait_for_line server "$ready" "$process"
  while kill -0 "$process" 2>/dev/null; do
    status=0
    "$@" >"$scratch/client.out" 2>&1 || status=$?
    # Refused, because the server does not listen yet.
    has_line client 'nothing listens on that port|UNREACHABLE' || break
    pause 0.1
  done
  if [[ $status -ne 0 ]]; then
    problem="the client ended with $status"
    kill "$process" 2>/dev/null
  fi
  status=0
  wait "$process" || status=$?
  if [[ $status -ne 0 ]]; then problem+=" the server ended with $status"; fi
  verdict "$name" "$problem"
}

ours=("$programs/cm_ud")
# Ours print line by line without it, and it cannot be put before a program with sanitizers.
theirs=(stdbuf -oL udaddy)

datagram_case "ours serves ours" '^listening' "${ours[@]}" -- "${ours[@]}" "$own_address"
prints server "^message of 100 bytes from ::ffff:$own_address qp 0x[0-9a-f]+$"
prints server '^answered 10 messages of 1 peers$'
prints client '^sent 10 messages to 1 peers and received as many answers$'
datagram_case "one pair sends to several peers" '^listening' \
  "${ours[@]}" -b "$own_address" -p 7175 -c 4 --size 1000 -- \
  "${ours[@]}" "$own_address" -b "$own_address" -p 7175 -c 4 --size 1000
prints client '^sent 40 messages to 4 peers and received as many answers$'

datagram_case "theirs serves ours" 'starting server' "${theirs[@]}" -b "$own_address" -- \
  "${ours[@]}" "$own_address"
prints server 'data transfers complete'
prints client "^answer of 100 bytes from ::ffff:$own_address"
datagram_case "ours serves theirs" '^listening' "${ours[@]}" -- "${theirs[@]}" -s "$own_address"
prints client 'data transfers complete'
prints client 'return status 0'
prints server '^answered 10 messages of 1 peers$'
datagram_case "theirs serves ours, three pairs" 'starting server' \
  "${theirs[@]}" -b "$own_address" -c 3 -C 5 -S 500 -- \
  "${ours[@]}" "$own_address" -c 3 -n 5 --size 500
datagram_case "ours serves theirs, three pairs" '^listening' \
  "${ours[@]}" -c 3 -n 5 --size 500 -- \
  "${theirs[@]}" -s "$own_address" -c 3 -C 5 -S 500
prints client 'return status 0'

both_ends_of "${ours[@]}" -n 2 -c 2
prints both '^server  answered 4 messages of 2 peers'
prints both '^client  sent 4 messages to 2 peers'

refuses "nobody listens" 1 'the peer returned no queue pair: nothing listens on that port' \
  cm_ud "$own_address" -p 7199
refuses "no address" 2 'the server is nowhere, which is not an IP address' cm_ud nowhere
refuses "too long" 2 '--size: must be a number from 1 to 4096, not 5000' cm_ud --size 5000
finish
