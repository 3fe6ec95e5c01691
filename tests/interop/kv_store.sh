#!/usr/bin/env bash
# kv_store stores what its clients put, whole, while clients read it and clients are killed.
source "$(dirname "$0")/support/async.bash"

# letters LETTER COUNT
letters() {
  local text
  printf -v text "%$2s" ''
  echo "${text// /$1}"
}

start server kv_store
succeeds "a value that was put" '^red [(]version 1[)]$' kv_store "$host" colour=red colour
succeeds "a value that another client put" '^red [(]version 1[)]$' kv_store "$host" colour
succeeds "another value of the key" '^blue=1 [(]version 2[)]$' kv_store "$host" colour=blue=1 colour
succeeds "an empty value" '^ [(]version 1[)]$' kv_store "$host" nothing= nothing
refuses "a key that was not put" 1 'the server has no value for size' kv_store "$host" size
refuses "an empty key" 1 'the server has no value for' kv_store "$host" ''
refuses "no key" 1 'refused: a value needs a key' kv_store "$host" =red
long=$(letters c 32739)
succeeds "the longest value" "^$long [(]version 1[)]$" kv_store "$host" "long=$long" long
refuses "a value that is too long" 1 'ERANGE .*32745 bytes' kv_store "$host" "long=$long."

# Two clients put without end, and two read: no value is a mixture of both. Clients that put others are
# killed.
a=$(letters a 30000) b=$(letters b 30000)
"$programs/kv_store" "$host" "big=$a" >"$scratch/first.out"
writers=() readers=()
for text in "$a" "$b"; do
  "$programs/kv_store" "$host" "big=$text" --repeat 1000000 >"$scratch/put.out" 2>&1 &
  writers+=($!)
done
for number in 1 2; do
  ("$programs/kv_store" "$host" big --repeat 60 2>"$scratch/torn$number" | tr -s ab | sed 's/ .*//' |
    sort | uniq -c >"$scratch/values$number") &
  readers+=($!)
done
vanish kv_store "$host" "big=$b" big "big=$a" --repeat 300
wait "${readers[@]}"
for number in 1 2; do
  problem=''
  read -r -d '' -a values <"$scratch/values$number"
  total=0
  for ((each = 0; each < ${#values[@]}; each += 2)); do
    total=$((total + values[each]))
    [[ ${values[each + 1]} == [ab] ]] || problem="a value is a mixture: ${values[each + 1]}"
  done
  ((total == 60)) || problem+=" there are $total values"
  verdict "values that change, reader $number" "$problem"
done
# Nearly always, one of the 120 reads has met a change.
while [[ $(cat "$scratch"/torn[12]) != *'torn records again'* ]] && kill -0 "${writers[@]}"; do
  "$programs/kv_store" "$host" big --repeat 60 2>"$scratch/torn1" >/dev/null || break
done
kill -KILL "${writers[@]}"
wait "${writers[@]}" 2>/dev/null
problem=''
[[ $(cat "$scratch"/torn[12]) == *'torn records again'* ]] || problem="no read met a change"
verdict "records that were torn" "$problem"
succeeds "after clients that were killed" '^blue=1 [(]version 2[)]$' kv_store "$host" colour
interrupt server
refuses "no server" 1 'ECONNREFUSED|Connection refused' kv_store "$host" colour
refuses "the last port" 2 '--port must be below 65535' kv_store --port 65535
finish
