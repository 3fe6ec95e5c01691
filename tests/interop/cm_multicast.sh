#!/usr/bin/env bash
# cm_multicast talks to mckey in both roles, to itself, and to multicast, which does without
# librdmacm.
source "$(dirname "$0")/support/multicast.bash"

own_address=${SOFTRDMA_ADDRESS:?"tests/softrdma/run says what the device is like"}
ours=("$programs/cm_multicast" -b "$own_address")

group_case "ours sends to three of ours" '^listening' 3 "${ours[@]}" -n 5 -- \
  "${ours[@]}" -s -n 5 --size 1000
prints receiver1 "^message of 1000 bytes from ::ffff:$own_address qp 0x[0-9a-f]+$"
prints sender '^sent 5 messages of 1000 bytes to ::ffff:239.1.2.3$'
group_case "one that only sends" '^listening' 2 "${ours[@]}" -m 239.1.2.4 -- \
  "${ours[@]}" -m 239.1.2.4 -s --send-only
prints receiver2 '^message of 100 bytes from'
group_case "ours sends to ours without librdmacm" '^listening' 1 "$programs/multicast" -- \
  "${ours[@]}" -s
group_case "ours without librdmacm sends to ours" '^listening' 1 "${ours[@]}" -- \
  "$programs/multicast" -s

theirs=(mckey -m 239.1.2.3 -b "$own_address")
# Ours print line by line without it, and it cannot be put before a program with sanitizers.
line_by_line=(stdbuf -oL)
group_case "theirs sends to ours" '^listening' 2 "${ours[@]}" -- "${theirs[@]}" -s
prints receiver2 '^message of 100 bytes from'
group_case "ours sends to theirs" 'joined' 1 "${line_by_line[@]}" "${theirs[@]}" -- "${ours[@]}" -s
prints receiver1 'data transfers complete|receiving data transfers'

problem=''
"${limit[@]}" "$(dirname "$0")/../../examples/both_ends" "$programs/cm_multicast" -n 2 \
  >"$scratch/both.out" 2>&1 || problem="it failed"
verdict "both ends by one command" "$problem"
prints both '^receiver  message of 100 bytes'
prints both '^sender    sent 2 messages'

refuses "no address" 2 '--group is nowhere, which is no IP address' cm_multicast -m nowhere
refuses "no group" 2 '--group is 10.0.0.1, which is no multicast address' cm_multicast -m 10.0.0.1
refuses "a receiver that only sends" 2 '--send-only requires --send' cm_multicast --send-only
refuses "an address of nobody here" 1 'rdma_resolve_addr' cm_multicast -b 192.0.2.1
refuses "an own address of another family" 1 'rdma_resolve_addr' \
  cm_multicast -b "$own_address" -m ff0e::4321
finish
