#!/usr/bin/env bash
# latency prints a row for each size, whichever side has the sizes as arguments.
source "$(dirname "$0")/../support/harness.bash"

# has_rows SIZE…: the client's table has a row of two times for each size, in order.
has_rows() {
  local found
  found=$(awk '$1 ~ /^[0-9]+$/ && $2 > 0 && $3 >= $2 && NF == 3 { printf "%s ", $1 }' \
    "$scratch/client.out")
  local problem=''
  if [[ $found != "$* " ]]; then problem="the rows are those of '$found', not of '$*'"; fi
  verdict "the table" "$problem"
}

works "all sizes" "$programs/latency" -n 10 -- "$programs/latency" -n 10
has_rows 2 4 8 16 32 64 128 256 512 1024 2048 4096 8192 16384 32768 65536
works "some sizes, asleep" "$programs/latency" -e -- "$programs/latency" -e -n 10 -s 64,1
has_rows 64 1
works "sizes that only the client knows" "$programs/latency" -s 1 -- \
  "$programs/latency" -n 5 -s 1000000
has_rows 1000000
finish
