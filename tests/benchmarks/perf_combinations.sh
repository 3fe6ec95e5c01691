#!/usr/bin/env bash
# Every operation, every transport and both engines, with the options that change a loop: each kind
# of turn, and streams of single messages and of lists over one queue pair and several.
source "$(dirname "$0")/support/perf.bash"

for engine in classic extended; do
  measures send lat RC "$engine" -n 30 -s 64
  measures write lat UC "$engine" -n 30
  measures atomic lat RC "$engine" -n 30
  measures write bw RC "$engine" -n 30 -q 3 -l 5 -t 10 -s 5000
done
measures send lat UD classic -n 30 -s 64
measures send bw UD extended -n 30 -q 2 -s 64
measures send bw UC classic -n 30 -l 5 -I 64 -s 64
measures read bw RC classic -n 30 -s 5000 -e
measures read lat RC extended -n 30 -e
measures atomic bw RC classic -n 30 --atomic compare_and_swap
reports_are_right
finish
