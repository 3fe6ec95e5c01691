#!/usr/bin/env bash
# async_kv stores what its clients put. Neither end accepts what the other must not send.
source "$(dirname "$0")/support/async.bash"

start server async_kv --memory 8300
succeeds "a value that was put" '^red$' async_kv "$host" colour=red
succeeds "a value that another client put" '^red$' async_kv "$host" colour
succeeds "another value of the key" '^blue$' async_kv "$host" colour=blue colour
succeeds "an empty value" '^$' async_kv "$host" nothing= nothing
refuses "a key that was not put" 1 'the server has no place for size' async_kv "$host" size

clients=()
for number in {1..16}; do
  "$programs/async_kv" "$host" "key$number=value$number" "key$number" >"$scratch/$number" 2>&1 &
  clients+=($!)
done
wait "${clients[@]}"
problem=''
for number in {1..16}; do
  [[ $(<"$scratch/$number") == "value$number"$'\n'"value$number" ]] ||
    problem+=" client $number printed '$(<"$scratch/$number")'"
done
verdict "16 clients at a time" "$problem"

printf -v longest '%4091s' end
succeeds "the longest question" 'end$' async_kv "$host" "long=$longest"
refuses "a question that is too long" 1 'ERANGE .*4097 bytes .*4096 bytes of the region' \
  async_kv "$host" "long=$longest."
refuses "a full store" 1 'the server has no place for more=' async_kv "$host" "more=$longest"
refuses "a client of another kind" 1 'the server did not echo' async_echo "$host"
vanish async_kv "$host" colour size
succeeds "after clients that failed" '^blue$' async_kv "$host" colour
interrupt server

# This server answers with the question, which is no place.
start server async_echo
refuses "an answer of another length" 1 'the server has no place for colour' async_kv "$host" colour
refuses "a place that cannot be read" 1 'remote_buffer::decode: EACCES .*the peer grants' \
  async_kv "$host" aaaaaaaaaaaaaaaaaaaaaaaa
refuses "a place at the end of the address space" 1 'remote_buffer::decode: EPROTO .*wraps around' \
  async_kv "$host" $'\xff\xff\xff\xff\xff\xff\xff\xffddddddddkkkkdddd'
refuses "a place that is too large" 1 'memory_region::slice .*ERANGE' \
  async_kv "$host" dddddddddddddddddddddddd
interrupt server
finish
