#!/usr/bin/env bash
# cm_multicast talks to mckey in both roles, to itself, and to multicast, which does without
# librdmacm.
source "$(dirname "$0")/support/multicast.bash"

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

with_mckey "${ours[@]}"
by_one_command "$programs/cm_multicast"
refuses_groups cm_multicast
refuses "a receiver that only sends" 2 '--send-only requires --send' cm_multicast --send-only
refuses "an address of nobody here" 1 'rdma_resolve_addr' cm_multicast -b 192.0.2.1
refuses "an own address of another family" 1 'rdma_resolve_addr' \
  cm_multicast -b "$own_address" -m ff0e::4321
finish
