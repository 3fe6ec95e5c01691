#!/usr/bin/env bash
# uc_pingpong talks to ibv_uc_pingpong, and to itself.
source "$(dirname "$0")/support/pingpong.bash"

pingpong_cases uc 1 4096 65536
option_cases uc "-m 256" "-m 4096 -l 3 -i 1 -d ${SOFTRDMA_DEVICE:?}"
checking_case uc
finish
