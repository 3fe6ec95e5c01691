#!/usr/bin/env bash
# rc_pingpong talks to ibv_rc_pingpong, and to itself.
source "$(dirname "$0")/support/pingpong.bash"

pingpong_cases rc 1 4096 65536
option_cases rc "-m 256" "-m 4096 -l 3 -i 1 -d ${SOFTRDMA_DEVICE:?}"
finish
