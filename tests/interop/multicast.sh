#!/usr/bin/env bash
# multicast talks to mckey in both roles, and to itself, over IPv4 and IPv6.
source "$(dirname "$0")/../support/harness.bash"

own_address=${SOFTRDMA_ADDRESS:?"tests/softrdma/run says what the device is like"}

# wait_for_line END PATTERN PROCESS: until one of them has printed such a line, or has ended.
wait_for_line() {
  until has_line "$1" "$2"; do
    kill -0 "$3" 2>/dev/null || return 0
    pause 0.02
  done
}

# group_case NAME READY RECEIVERS RECEIVER… -- SENDER…: as many receivers as said get what the sender
# sends once all have printed a line that matches.
group_case() {
  local name=$1 ready=$2 count=$3 receiver=() processes=() number problem='' status
  shift 3
  while [[ $1 != -- ]]; do
    receiver+=("$1")
    shift
  done
  shift
  rm -f "$scratch"/*.out
  for ((number = 1; number <= count; ++number)); do
    : >"$scratch/receiver$number.out"
    "${limit[@]}" "${receiver[@]}" >"$scratch/receiver$number.out" 2>&1 &
    processes+=($!)
    wait_for_line "receiver$number" "$ready" $!
  done
  if ! "${limit[@]}" "$@" >"$scratch/sender.out" 2>&1; then problem="the sender failed"; fi
  for number in "${processes[@]}"; do
    status=0
    wait "$number" || status=$?
    if [[ $status -ne 0 ]]; then problem+=" a receiver ended with $status"; fi
  done
  verdict "$name" "$problem"
}

ours=("$programs/multicast")

# Its sender comes at the end of this test.
"${limit[@]}" "${ours[@]}" -m 239.9.9.9 -n 1 >"$scratch/late" 2>&1 &
late=$!

group_case "ours sends to ours" '^listening' 1 "${ours[@]}" -- "${ours[@]}" -s
prints receiver1 "^message of 100 bytes from ::ffff:$own_address qp 0x[0-9a-f]+$"
prints sender '^sent 10 messages of 100 bytes to ::ffff:239.1.2.3$'
group_case "ours sends to three of ours, which answer" '^listening' 3 "${ours[@]}" -a -n 5 -- \
  "${ours[@]}" -s -n 5 --answers 3 --size 1000
prints receiver3 '^message of 1000 bytes'
prints sender "^answer of 4 bytes from ::ffff:$own_address qp 0x[0-9a-f]+$"
group_case "ours sends to ours over IPv6" '^listening' 2 "${ours[@]}" -a -m ff0e::4321 -- \
  "${ours[@]}" -s --answers 2 -m ff0e::4321
prints receiver1 '^message of 100 bytes from fe80::'

theirs=(mckey -m 239.1.2.3 -b "$own_address")
# Ours print line by line without it, and it cannot be put before a program with sanitizers.
line_by_line=(stdbuf -oL)
group_case "theirs sends to ours" '^listening' 2 "${ours[@]}" -- "${theirs[@]}" -s
prints receiver2 '^message of 100 bytes from'
group_case "ours sends to theirs" 'joined' 1 "${line_by_line[@]}" "${theirs[@]}" -- "${ours[@]}" -s
prints receiver1 'data transfers complete|receiving data transfers'

problem=''
"${limit[@]}" "$(dirname "$0")/../../examples/both_ends" "${ours[@]}" -n 2 \
  >"$scratch/both.out" 2>&1 || problem="it failed"
verdict "both ends by one command" "$problem"
prints both '^receiver  message of 100 bytes'
prints both '^sender    sent 2 messages'

refuses "no address" 2 '--group is nowhere, which is no IP address' multicast -m nowhere
refuses "no group" 2 '--group is 10.0.0.1, which is no multicast address' multicast -m 10.0.0.1
refuses "too long" 2 '--size: must be a number from 1 to 4096, not 5000' multicast -s --size 5000

# Longer than our programs' patience with a peer that they know to be there.
until ((SECONDS > 12)); do pause 0.2; done
"${ours[@]}" -s -m 239.9.9.9 -n 1 >/dev/null
problem=''
wait "$late" || problem="the receiver ended with $?: $(<"$scratch/late")"
verdict "a sender that comes late" "$problem"
finish
