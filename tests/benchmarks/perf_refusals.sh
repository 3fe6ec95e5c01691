#!/usr/bin/env bash
# The messages of adverb_perf for impossible arguments, for ends whose arguments differ, and after
# an interrupt.
source "$(dirname "$0")/support/perf.bash"

# differs PATTERN SERVER-OPTION CLIENT-OPTION…: both ends report the difference.
differs() {
  local pattern=$1 problem theirs ours
  read -ra theirs <<<"$2"
  read -ra ours <<<"$3"
  patient=yes run_both "$perf" "${theirs[@]}" -- "$perf" "${ours[@]}"
  fails_with client 1 "$client_status" adverb_perf "$pattern"
  verdict "the client when sides differ in $2 and $3" "$problem"
  fails_with server 1 "$server_status" adverb_perf 'the peer has .*: give both sides the same'
  verdict "the server when sides differ in $2 and $3" "$problem"
}
differs 'the peer has send lat, this side has write bw: give' "send lat" "write bw"
differs 'the peer has --connection RC, this side has --connection UC' "send lat" "send lat -c UC"
differs 'the peer has --size 64, this side has --size 2: give' "send lat -s 64" "send lat"
differs 'the peer has --iters 10, this side has --duration 1: give' \
  "send lat -n 10" "send lat -D 1"
differs 'the peer has --qp 1, this side has --qp 2: give' "send bw" "send bw -q 2"

refuses_argument() {
  local pattern=$1
  shift
  refuses "$*" 2 "$pattern" adverb_perf "$@"
}
refuses_argument 'OPERATION: must be send, write, read or atomic, not bind' bind lat
refuses_argument 'MEASURE: must be lat or bw, not latency' send latency
refuses_argument 'OPERATION is required' -s 2
refuses_argument 'a UD queue pair can only send: read needs RC' read lat -c UD
refuses_argument 'a UC queue pair can send and write: atomic needs RC' atomic bw -c UC
refuses_argument '--size is 4097, but at most 4096 is possible here' send lat -c UD -s 4097
refuses_argument '--size is 8388609, but at most [0-9]+ is possible here' write bw -s 8388609
refuses_argument 'an atomic operation has 8 bytes' atomic lat -s 16
refuses_argument 'latency is measured with one queue pair' send lat -q 2
refuses_argument '--post_list is 200, but --tx-depth only 100' send bw -l 200 -t 100
refuses_argument '--iters is 10, which is no multiple of --post_list 4' send bw -l 4 -n 10
refuses_argument 'write lat polls memory, without --events' write lat -e
refuses_argument '--tx-depth is 2000000000, but at most [0-9]+ is possible' send bw -t 2000000000
refuses_argument '--engine: must be classic or extended, not fast' send lat --engine fast
refuses_argument '--duration: must be a number from 1 to .*, not 0' send lat -D 0
refuses_argument 'not expected: --frobnicate; --help lists the options' send lat --frobnicate

refuses "a report that cannot be written" 1 'cannot write the results to /nowhere/report' \
  adverb_perf send lat --json=/nowhere/report

# One end is interrupted while both measure: it reports the interrupt and its results until then,
# and both end.
"$perf" send lat -a -D 1 >"$scratch/server.out" 2>&1 &
server=$!
wait_until_listening "$server"
"$perf" send lat -a -D 1 "--json=$scratch/interrupted.json" 127.0.0.1 >"$scratch/client.out" 2>&1 &
client=$!
# There are results as soon as the first size has its row.
until has_line client '^ +2 ' || ! kill -0 "$client" 2>/dev/null; do pause 0.1; done
kill -INT "$client"
client_status=0 problem=''
wait "$client" || client_status=$?
wait "$server"
if [[ $client_status -ne 1 ]]; then problem="the client ended with $client_status"; fi
if ! has_line client '^adverb_perf: interrupted$'; then problem="the client does not say why"; fi
if [[ ! $(<"$scratch/interrupted.json") =~ \"iterations\":[1-9] ]]; then problem="no report"; fi
verdict "an interrupted client" "$problem"
finish
