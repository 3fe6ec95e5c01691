#!/usr/bin/env bash
# cm_hello connects to itself, and reports failures.
source "$(dirname "$0")/support/cm.bash"

works "hello" "$programs/cm_hello" -- "$programs/cm_hello"
prints client '^hello, client$'
prints server '^hello, server$'
rm "$scratch"/*.out
both_ends_of "$programs/cm_hello"

refuses "nobody listens" 1 'nothing listens on that port' cm_hello "$host"
refuses "no such host" 1 'no host is named|no name server answers' cm_hello nowhere.invalid
: >"$scratch/server.out"
"$programs/cm_hello" >"$scratch/server.out" 2>&1 &
server=$!
wait_until_listening "$server"
"$programs/cm_echo" "$host" </dev/null >"$scratch/client.out" 2>&1 || true
status=0
wait "$server" || status=$?
sed '/^listening on /d' "$scratch/server.out" >"$scratch/left.out"
fails_with left 1 "$status" cm_hello 'the peer disconnected|flushed'
verdict "a client that leaves at once" "$problem"
finish
