#!/usr/bin/env bash
# rstream talks to rdmacm-utils' rstream, in both roles, and to itself: many transfers in turn, and many
# in a row, blocking and polling, with each byte verified.
source "$(dirname "$0")/support/cm.bash"

ours=("$programs/rstream")
# A buffer whose length in bytes has one byte that is not 0, because rsockets reads the length while it
# arrives (docs/guide/remote_memory.md, "A stream of bytes"). 5,000 is no multiple of it, so transfers wrap.
transfers=("-S 64 -C 1 -I 200" "-S 1500000 -C 4" "-S 5000 -C 100 -B 3072" "-S 100000 -C 1 -I 20"
  "-S 1 -C 2000" "-S 65536 -C 50")
for mode in b n; do
  # A transfer that polls differs in its waits only.
  [[ $mode == b ]] || transfers=("${transfers[@]:0:3}")
  for arguments in "${transfers[@]}"; do
    read -ra each <<<"$arguments -T $mode -T v"
    served_by_theirs "theirs serves ours, ${each[*]}" rstream "${each[@]}" -- \
      "${ours[@]}" "${each[@]}" -s
    prints client '^custom +[0-9.km]+ +[0-9k]+ +[0-9]+ +[0-9.km]+ +[0-9.]+s +[0-9.]+ +[0-9.]+$'
    works "ours serves theirs, ${each[*]}" "${ours[@]}" "${each[@]}" -- rstream "${each[@]}" -s
    works "ours serves ours, ${each[*]}" "${ours[@]}" "${each[@]}" -- "${ours[@]}" "${each[@]}" -s
  done
done

# Both ends print the same sizes and numbers; times differ.
works "ours serves theirs, without sizes" "${ours[@]}" -I 1 -C 10 -p 7500 -- \
  rstream -I 1 -C 10 -p 7500 -s
columns=''
for end in server client; do
  while read -r name bytes xfers iterations total _; do
    [[ $name == custom ]] && columns+="$name $bytes $xfers $iterations $total;"
  done <"$scratch/$end.out"
done
problem=''
[[ $columns == 'custom 1000 10 1 19k;custom 1000 10 1 19k;' ]] || problem="they print $columns"
verdict "the table" "$problem"

# The other end dies.
for delay in 0.1 0.4; do
  : >"$scratch/server.out" >"$scratch/survivor"
  "${ours[@]}" -S 1000 -C 100000000 >"$scratch/survivor" 2>&1 &
  server=$!
  until [[ $(<"$scratch/survivor") == *'listening on'* ]] || ! kill -0 "$server"; do pause 0.02; done
  rstream -S 1000 -C 100000000 -s "$host" >"$scratch/client.out" 2>&1 &
  client=$!
  # It prints the title when it is connected.
  until [[ $(<"$scratch/survivor") == *usec/xfer* ]] || ! kill -0 "$server"; do pause 0.02; done
  pause "$delay"
  kill -KILL "$client"
  wait "$client" 2>/dev/null
  status=0
  problem=''
  wait "$server" || status=$?
  [[ $status -eq 1 && $(<"$scratch/survivor") == *'rstream: '* ]] ||
    problem="the server ended with $status: $(<"$scratch/survivor")"
  verdict "a client that is killed after $delay s" "$problem"
done

refuses "no server" 1 'ECONNREFUSED|Connection refused|UNREACHABLE|rejected' rstream -S 1 -s "$host"
both_ends_of "$programs/rstream" -S 64 -C 10 -I 1
refuses "a wrong size" 2 'must be a number of bytes or all' rstream -S x
refuses "a wrong mode" 2 'must be blocking, nonblocking or verify' rstream -T x
finish
