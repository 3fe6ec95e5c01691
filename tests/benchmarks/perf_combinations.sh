#!/usr/bin/env bash
# Every operation over every transport that has it, with both engines.
source "$(dirname "$0")/support/perf.bash"

for engine in classic extended; do
  for kind in lat bw; do
    for operation in send write read; do measures "$operation" "$kind" RC "$engine" -n 30 -s 64; done
    measures atomic "$kind" RC "$engine" -n 30
    for operation in send write; do measures "$operation" "$kind" UC "$engine" -n 30 -s 64; done
    measures send "$kind" UD "$engine" -n 30 -s 64
  done
done
measures atomic lat RC classic -n 30 --atomic compare_and_swap
reports_are_right
finish
