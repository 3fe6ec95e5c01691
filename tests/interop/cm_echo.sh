#!/usr/bin/env bash
# cm_echo serves one client after another, whatever becomes of each.
source "$(dirname "$0")/support/cm.bash"

# echoes NAME TEXT: a client of the server gets back what it sends.
echoes() {
  local problem='' echo
  echo=$("$programs/cm_echo" "$host" <<<"$2" 2>"$scratch/client.out") ||
    problem="the client ended with $?"
  if [[ $echo != "$2" ]]; then problem+=" it printed '$echo'"; fi
  verdict "$1" "$problem"
}

# The input of clients that stay connected.
exec {input}<> <(:)
# connect: a client that stays connected, as the process `client`.
connect() {
  : >"$scratch/client"
  "$programs/cm_echo" "$host" <&"$input" >"$scratch/client" 2>&1 &
  client=$!
  echo hello >&"$input"
  until [[ $(<"$scratch/client") == hello ]] || ! kill -0 "$client"; do pause 0.02; done
}

: >"$scratch/server.out"
"$programs/cm_echo" >"$scratch/server.out" 2>&1 &
server=$!
wait_until_listening "$server"
echoes "a line" "hello"
echoes "lines, of which one is empty" $'one\n\nthree'
printf -v longest '%4095s' end
echoes "the longest line" "$longest"
for number in {1..20}; do echoes "client $number" "number $number"; done

connect
kill -KILL "$client"
wait "$client" 2>/dev/null
echoes "after a client that was killed" "still there"

status=0
"$programs/cm_echo" "$host" <<<"$longest " >"$scratch/line.out" 2>&1 || status=$?
fails_with line 1 "$status" cm_echo 'a line has 4097 bytes, but the server takes at most 4096'
verdict "a line that is too long" "$problem"
rm "$scratch/line.out"
# A client that is no cm_echo sends other messages, and receives them back.
refuses "another kind of client" 1 'text number 0 came back changed' \
  rping -c -V -C 1 -p 7471 -a "$host"
echoes "after clients that failed" "still there"

connect
kill "$server"
wait "$server"
echo anyone >&"$input"
status=0
wait "$client" || status=$?
sed '/^hello$/d' "$scratch/client" >"$scratch/survivor.out"
fails_with survivor 1 "$status" cm_echo \
  'the peer ended the connection; see its error message|transport retries exceeded'
verdict "a server that is killed" "$problem"
rm "$scratch/survivor.out"

if [[ -e /proc/net/if_inet6 ]]; then
  : >"$scratch/server.out"
  "$programs/cm_echo" -a :: >"$scratch/server.out" 2>&1 &
  server=$!
  wait_until_listening "$server"
  echoes "a server on every address" "by IPv4"
  read -r address < <(awk -v interface="${SOFTRDMA_INTERFACE:?}" '$6 == interface { print $1 }' \
    /proc/net/if_inet6)
  host=$(sed 's/..../&:/g; s/:$//' <<<"$address")%$SOFTRDMA_INTERFACE
  echoes "a client over IPv6" "by IPv6"
  kill "$server"
  wait "$server"
else
  skip_case "cm_echo over IPv6" "this machine has no IPv6"
fi

status=0
timeout --preserve-status --signal=INT 1 "$programs/cm_echo" >/dev/null 2>&1 || status=$?
problem=''
if [[ $status -ne 130 ]]; then problem="the server ended with $status, not by the signal"; fi
verdict "Ctrl-C" "$problem"
finish
