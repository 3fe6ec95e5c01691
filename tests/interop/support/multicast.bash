# shellcheck shell=bash
# Sourced by the tests of multicast groups.
source "$(dirname "${BASH_SOURCE[0]}")/../../support/harness.bash"

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
