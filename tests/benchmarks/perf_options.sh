#!/usr/bin/env bash
# The effects of the options of adverb_perf.
source "$(dirname "$0")/support/perf.bash"

# has_rows SIZE…: the tables of the last client and server have a row for each size, in order.
has_rows() {
  local end found problem
  for end in client server; do
    found=$(awk '$1 ~ /^[0-9]+$/ { printf "%s ", $1 }' "$scratch/$end.out")
    problem=''
    if [[ $found != "$* " ]]; then problem="the rows are those of '$found', not of '$*'"; fi
    verdict "the table of the $end" "$problem"
  done
}

# has_json PATTERN: the last report matches.
has_json() {
  local file problem=''
  file=$(echo "$scratch"/reports/*-"$reports".json)
  if [[ ! $(<"$file") =~ $1 ]]; then problem="the report does not have '$1': $(<"$file")"; fi
  verdict "the report" "$problem"
}

works "all sizes" "$perf" write bw -a -n 1 -- "$perf" write bw -a -n 1
prints client '^write bw, RC, classic calls, [^ ]+, MTU [0-9]+, 1 queue pairs, depth 128'
has_rows 2 4 8 16 32 64 128 256 512 1024 2048 4096 8192 16384 32768 65536 131072 262144 524288 \
  1048576 2097152 4194304 8388608
works "all sizes of datagrams" "$perf" send lat -c UD -m 256 -a -n 5 -- \
  "$perf" send lat -c UD -m 256 -a -n 5
has_rows 2 4 8 16 32 64 128 256

measures send bw RC classic -n 200 -q 4 -l 8 -t 64 -s 16 -I 32
has_json '"queue_pairs":4,"tx_depth":64,"post_list":8,"inline_size":32,"events":false'
has_json '"size":16,"iterations":800,'
measures send bw RC classic -n 777 -r 7 -t 5 -Q 3 -s 128
has_json '"iterations":777,'
measures send lat RC classic -n 50 -t 16 -Q 10 -I 0
has_json '"inline_size":0,'
measures read bw RC classic -n 20 -m 512 -s 5000
has_json '"mtu":512,'
measures send bw RC extended -n 100 -s 1000 -e
has_json '"events":true,'
measures send bw RC classic -D 1 -s 64
has_json '"iterations":[1-9]'
measures send lat RC classic -D 1
has_json '"iterations":[1-9]'

# The JSON report on standard output is the only output.
works "JSON instead of a table" "$perf" send lat -n 20 -- "$perf" send lat -n 20 --json
prints client '^\{"benchmark":"send","kind":"lat",.*\}$'
problem=''
if has_line client '^[^{]'; then problem="there is more than the JSON"; fi
verdict "what else the client prints" "$problem"
finish
