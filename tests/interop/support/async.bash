# shellcheck shell=bash
# Sourced by the tests of the examples with asynchronous connections.
source "$(dirname "${BASH_SOURCE[0]}")/cm.bash"

declare -A processes

# start NAME PROGRAM ARGUMENT…: a server, until it listens. Its output goes to NAME.
start() {
  : >"$scratch/$1.out"
  "$programs/$2" "${@:3}" >>"$scratch/$1.out" 2>&1 &
  processes[$1]=$!
  wait_for_line "$1" '^listening on ' $!
}

# interrupt NAME: Ctrl-C ends a server in order.
interrupt() {
  local status=0 problem=''
  kill -INT "${processes[$1]}"
  wait "${processes[$1]}" || status=$?
  if [[ $status -ne 130 ]]; then problem="it ended with $status"; fi
  verdict "Ctrl-C" "$problem"
  rm "$scratch/$1.out"
}

# succeeds NAME PATTERN PROGRAM ARGUMENT…: a client ends well, and prints such a line.
succeeds() {
  local status=0 problem=''
  "$programs/$3" "${@:4}" >"$scratch/client.out" 2>&1 || status=$?
  if [[ $status -ne 0 ]]; then
    problem="the client ended with $status"
  elif ! has_line client "$2"; then
    problem="the client did not print '$2'"
  fi
  verdict "$1" "$problem"
  rm "$scratch/client.out"
}

# vanish PROGRAM ARGUMENT…: clients that are killed, each a little later than the one before.
vanish() {
  local each client
  for each in {1..9}; do
    "$programs/$1" "${@:2}" >/dev/null 2>&1 &
    client=$!
    pause "0.0$each"
    kill -KILL "$client"
    wait "$client"
  done 2>/dev/null
}
