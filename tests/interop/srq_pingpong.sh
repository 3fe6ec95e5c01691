#!/usr/bin/env bash
# srq_pingpong talks to ibv_srq_pingpong, and to itself.
source "$(dirname "$0")/support/pingpong.bash"

# shellcheck disable=SC2034 # Of option_cases.
one_receive="-q 1 -r 1"
pingpong_cases srq 1 4096 65536
option_cases srq "-m 256 -q 1" "-q 3 -r 3" "-q 5 -m 4096 -l 3 -i 1 -d ${SOFTRDMA_DEVICE:?}"

# Fewer messages than queue pairs.
works "few messages" "$programs/srq_pingpong" -n 2 -- "$programs/srq_pingpong" -n 2
works "theirs serves few messages" ibv_srq_pingpong -g "$gid_index" -n 2 -- \
  "$programs/srq_pingpong" -n 2
works "ours serves few messages" "$programs/srq_pingpong" -n 2 -- \
  ibv_srq_pingpong -g "$gid_index" -n 2

refuses "fewer receives than queue pairs" 2 \
  '--rx-depth is 15, but each of 16 queue pairs needs a receive' srq_pingpong -r 15
refuses "too many queue pairs" 2 '--num-qp: must be a number from 1 to 256, not 257' \
  srq_pingpong -q 257

# shellcheck disable=SC2034 # Of run_both.
patient=yes
run_both "$programs/srq_pingpong" -q 3 -- "$programs/srq_pingpong" -q 2
fails_with server 1 "$server_status" srq_pingpong 'the peer has 2 queue pairs, not 3'
verdict "another number of queue pairs" "$problem"
finish
