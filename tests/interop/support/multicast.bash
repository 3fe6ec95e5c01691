# shellcheck shell=bash
# Sourced by the tests of multicast groups.
source "$(dirname "${BASH_SOURCE[0]}")/../../support/harness.bash"

own_address=${SOFTRDMA_ADDRESS:?"softrdma/run says what the device is like"}

# group_case NAME READY RECEIVERS RECEIVER… -- SENDER…: so many receivers get the messages of the sender
# once all have printed a line that matches.
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
    "${receiver[@]}" >"$scratch/receiver$number.out" 2>&1 &
    processes+=($!)
    wait_for_line "receiver$number" "$ready" $!
  done
  if ! "$@" >"$scratch/sender.out" 2>&1; then problem="the sender failed"; fi
  for number in "${processes[@]}"; do
    status=0
    wait "$number" || status=$?
    if [[ $status -ne 0 ]]; then problem+=" a receiver ended with $status"; fi
  done
  verdict "$name" "$problem"
}

# Sends by mckey until the receivers of the running case have received it: mckey ends without waiting for
# its messages to go out, and since Linux 6.4 Soft-RoCE sends them only later, if their pair still
# exists.
mckey_is_heard() {
  local attempt number
  for ((attempt = 0; attempt < 50; ++attempt)); do
    mckey -m 239.1.2.3 -b "$own_address" -s || continue
    for number in "${processes[@]}"; do
      ! kill -0 "$number" 2>/dev/null || continue 2
    done
    return 0
  done
}

# with_mckey PROGRAM ARGUMENT…: ours sends to mckey, and receives from it.
with_mckey() {
  local theirs=(mckey -m 239.1.2.3 -b "$own_address")
  group_case "theirs sends to ours" '^listening' 2 "$@" -n 1 -- mckey_is_heard
  prints receiver2 '^message of 100 bytes from'
  # Ours print line by line without stdbuf, and it cannot be put before a program with sanitizers.
  group_case "ours sends to theirs" 'joined' 1 stdbuf -oL "${theirs[@]}" -- "$@" -s
  prints receiver1 'data transfers complete|receiving data transfers'
}

# by_one_command PROGRAM: its two ends are started together.
by_one_command() {
  both_ends_of "$1" -n 2
  prints both '^receiver  message of 100 bytes'
  prints both '^sender    sent 2 messages'
}

# refuses_groups PROGRAM: what is no address of a group.
refuses_groups() {
  refuses "no address" 2 '--group is nowhere, which is not an IP address' "$1" -m nowhere
  refuses "no group" 2 '--group is 10.0.0.1, which is not a multicast address' "$1" -m 10.0.0.1
}
