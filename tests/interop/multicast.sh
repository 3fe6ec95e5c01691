#!/usr/bin/env bash
# multicast talks to mckey in both roles, and to itself, over IPv4 and IPv6.
source "$(dirname "$0")/support/multicast.bash"

ours=("$programs/multicast")

# Its sender comes at the end of this test.
"${ours[@]}" -m 239.9.9.9 -n 1 >"$scratch/late" 2>&1 &
late=$!
until [[ $(<"$scratch/late") == *listening* ]] || ! kill -0 "$late"; do pause 0.05; done

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

with_mckey "${ours[@]}"
by_one_command "$programs/multicast"
refuses_groups multicast
refuses "too long" 2 '--size: must be a number from 1 to 4096, not 5000' multicast -s --size 5000

# This is longer than our programs wait for a connected peer.
until ((SECONDS > 12)); do pause 0.2; done
"${ours[@]}" -s -m 239.9.9.9 -n 1 >/dev/null
problem=''
wait "$late" || problem="the receiver ended with $?: $(<"$scratch/late")"
verdict "a sender that comes late" "$problem"
finish
