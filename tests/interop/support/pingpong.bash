# shellcheck shell=bash
# Sourced by the tests of the ping-pong programs.
source "$(dirname "${BASH_SOURCE[0]}")/../../support/harness.bash"

# pingpong_cases TRANSPORT SIZE…: ours against theirs in both roles, and against ours, of each size,
# polling and sleeping, with what arrives being checked.
pingpong_cases() {
  local transport=$1 size mode arguments ours theirs
  shift
  for size in "$@"; do
    for mode in polling sleeping; do
      arguments=(-n 20 -c -s "$size")
      if [[ $mode == sleeping ]]; then arguments+=(-e); fi
      ours=("$programs/${transport}_pingpong" "${arguments[@]}")
      theirs=("ibv_${transport}_pingpong" -g "$gid_index" "${arguments[@]}")
      works "theirs serves ours, $size bytes, $mode" "${theirs[@]}" -- "${ours[@]}"
      prints client "^$size bytes of the last message are correct$"
      works "ours serves theirs, $size bytes, $mode" "${ours[@]}" -- "${theirs[@]}"
      prints server "^$size bytes of the last message are correct$"
      works "ours serves ours, $size bytes, $mode" "${ours[@]}" -- "${ours[@]}"
      prints server "^$((2 * 20 * size)) bytes in .* seconds = .* Mbit/s$"
      prints client "^20 iters in .* seconds = .* usec/iter$"
    done
  done
}

# option_cases TRANSPORT OPTION…: the options that are left, each given to both sides. Needs
# $one_receive for a program that has more than one queue pair.
option_cases() {
  local transport=$1 option host arguments
  shift
  for option in "$@"; do
    read -ra arguments <<<"-n 10 -c $option"
    works "theirs serves ours with $option" \
      "ibv_${transport}_pingpong" -g "$gid_index" "${arguments[@]}" -- \
      "$programs/${transport}_pingpong" "${arguments[@]}"
    works "ours serves theirs with $option" \
      "$programs/${transport}_pingpong" "${arguments[@]}" -- \
      "ibv_${transport}_pingpong" -g "$gid_index" "${arguments[@]}"
  done

  works "the first GID" "$programs/${transport}_pingpong" -n 10 -g 0 -- \
    "$programs/${transport}_pingpong" -n 10 -g 0
  read -ra arguments <<<"-n 10 ${one_receive:--r 1}"
  works "one receive at a time" "$programs/${transport}_pingpong" "${arguments[@]}" -- \
    "$programs/${transport}_pingpong" "${arguments[@]}"
  if [[ -e /proc/net/if_inet6 ]]; then
    host=::1
    works "over IPv6" "$programs/${transport}_pingpong" -n 10 -- \
      "$programs/${transport}_pingpong" -n 10
  else
    skip_case "${transport}_pingpong over IPv6" "this machine has no IPv6"
  fi
}

# checking_case TRANSPORT: -c finds what is wrong, here the end of a message that did not come. For
# transports whose sender gets no failure if its answer does not fit at the other end.
checking_case() {
  local transport=$1 patient=yes problem
  run_both "$programs/${transport}_pingpong" -n 1 -c -s 1024 -- \
    "$programs/${transport}_pingpong" -n 1 -s 100
  grep -v iter "$scratch/server.out" | grep -v bytes.in >"$scratch/sentence.out"
  fails_with sentence 1 "$server_status" "${transport}_pingpong" \
    'byte 100 of the last message is 0, not 123'
  verdict "other bytes than expected" "$problem"
  rm "$scratch/sentence.out"
}
