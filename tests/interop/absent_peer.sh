#!/usr/bin/env bash
# A peer that is absent, disconnects, stays silent or sends nonsense ends the program with one sentence
# about that.
source "$(dirname "$0")/../support/harness.bash"

# The addresses of a ping-pong program on this device; queue pair 0xabcdef does not exist. (The scripts
# that are handed to speaks_to use it.)
IFS=. read -ra octets <<<"${SOFTRDMA_ADDRESS:?}"
# shellcheck disable=SC2034
printf -v line '0000:abcdef:000000:00000000000000000000ffff%02x%02x%02x%02x' "${octets[@]}"

# speaks_to NAME PATTERN PROGRAM SCRIPT…: the server ends with status 1 and a sentence when its
# client is the shell: SCRIPT is run with the connection as file descriptor 3.
speaks_to() {
  local name=$1 pattern=$2 program=$3 process status=0 problem
  "$programs/$program" >"$scratch/server.out" 2>&1 &
  process=$!
  wait_until_listening "$process"
  (
    exec 3<>/dev/tcp/127.0.0.1/18515
    eval "$4"
  )
  wait "$process" || status=$?
  fails_with server 1 "$status" "$program" "$pattern"
  verdict "$name" "$problem"
}

# These take as long as our programs' patience, so they run beside the others.
"$programs/rc_pingpong" -p 18601 >"$scratch/silent" 2>&1 &
silent=$!
"$programs/rc_pingpong" -p 18605 127.0.0.1 >"$scratch/no_server" 2>&1 &
no_server=$!
wait_until_listening "$silent" 18601
exec 4<>/dev/tcp/127.0.0.1/18601

# measure PORT: two processes that exchange messages, for much longer than this test takes. Sets
# `server` and `client`.
measure() {
  local rows
  printf -v rows '2,%.0s' {1..2000}
  "$programs/latency" -e -p "$1" >/dev/null 2>"$scratch/server.$1" &
  server=$!
  wait_until_listening "$server" "$1"
  "$programs/latency" -e -p "$1" -n 500 -s "${rows}2" 127.0.0.1 \
    >"$scratch/rows" 2>"$scratch/client.$1" &
  client=$!
  until [[ $(<"$scratch/rows") == *p99*$'\n'*2* ]] || ! kill -0 "$client"; do pause 0.05; done
}

# When a message was on its way; when it arrived at a process whose memory was gone and whose queue
# pair was not yet (the kernel destroys the newest first); when an answer was waited for.
lost='transport retries exceeded|remote operation error|no completion arrived for'
: >"$scratch/rows"
measure 18602
kill "$server"
killed_server_of=$client
: >"$scratch/rows"
measure 18603
kill "$client"
killed_client_of=$server

refuses "no such host" 1 'cannot find the host no.such.host.invalid: ' \
  one_sided no.such.host.invalid
"$programs/one_sided" -p 18604 >/dev/null &
taker=$!
wait_until_listening "$taker" 18604
refuses "a port that is taken" 1 'cannot listen on TCP port 18604: .*; --port chooses another' \
  latency -p 18604
kill "$taker"

for program in rc_pingpong uc_pingpong ud_pingpong; do
  speaks_to "$program, closed half-way" 'the peer closed the connection after 9 of 52 bytes' \
    "$program" 'printf 0000:0000 >&3'
  speaks_to "$program, a malformed line" 'the peer sent the malformed address "0000:xyz' \
    "$program" 'printf "%s\0" "${line/abc/xyz}" >&3; read -r -t 5 -u 3'
  speaks_to "$program, no \"done\"" 'the peer did not send "done"' \
    "$program" 'printf "%s\0" "$line" >&3; head -c 52 <&3 >/dev/null; printf "gone\0" >&3'
  speaks_to "$program, closed before \"done\"" \
    'the peer closed the connection after 0 of 5 bytes|the peer is gone' \
    "$program" 'printf "%s\0" "$line" >&3; head -c 52 <&3 >/dev/null'
done
speaks_to "a line without its end" 'the peer sent the malformed address "0000:abcdef' \
  rc_pingpong 'printf "%s\n" "$line" >&3; read -r -t 5 -u 3'
for program in one_sided atomics memory_window; do
  speaks_to "$program, closed half-way" \
    'the peer closed the connection after 9 of 40 bytes|the peer is gone' \
    "$program" 'printf 0000:0000 >&3'
  speaks_to "$program, no endpoint" 'endpoint::decode: .*not an endpoint' \
    "$program" 'printf "%s\0" "$line" >&3; read -r -t 5 -u 3'
done

patient=yes
run_both "$programs/one_sided" -- "$programs/rc_pingpong"
fails_with client 1 "$client_status" rc_pingpong 'the peer (closed the connection after|is gone)'
verdict "a server of another kind" "$problem"

collect "no server" "$no_server" \
  'cannot connect to 127.0.0.1 port 18605: Connection refused; is the server' no_server rc_pingpong
collect "a server that is killed" "$killed_server_of" "$lost" client.18602 latency
collect "a client that is killed" "$killed_client_of" "$lost" server.18603 \
  latency
collect "a peer that says nothing" "$silent" 'the peer sent nothing for 10 seconds' silent \
  rc_pingpong
finish
