#!/usr/bin/env bash
# Arguments beyond what the device can do are refused with one sentence and status 2, before a peer is
# looked for.
source "$(dirname "$0")/support/arguments.bash"

largest=$(ibv_devinfo -v -d "${SOFTRDMA_DEVICE:?}" | sed -n 's/^[[:space:]]*max_msg_sz:[[:space:]]*//p')
larger=$((${largest:?} + 1))
for program in rc_pingpong uc_pingpong ud_pingpong srq_pingpong one_sided stream memory_window latency; do
  refuses_argument \
    "--size is $larger, but at most [0-9]+ is possible here|--size: must be a number from 1 to [0-9]+" \
    "$program" -s "$larger"
done
refuses_argument '--size is 4097, but at most 4096 is possible here' ud_pingpong -s 4097
refuses_argument '--rx-depth is 2000000000, but at most [0-9]+ is possible' \
  rc_pingpong -r 2000000000
finish
