#!/usr/bin/env bash
# ud_pingpong talks to ibv_ud_pingpong, and to itself.
source "$(dirname "$0")/support/pingpong.bash"

pingpong_cases ud 1 1024 4096
option_cases ud "-l 3 -i 1 -d ${SOFTRDMA_DEVICE:?}"
checking_case ud
finish
