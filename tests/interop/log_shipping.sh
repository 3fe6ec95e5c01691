#!/usr/bin/env bash
# log_shipping brings every record once and in order, from several clients at once; a client that is
# killed loses what was not shipped, and no other.
source "$(dirname "$0")/support/async.bash"
cd "$scratch" || exit

start server log_shipping --into all.log
seq 1 5000 | sed 's/^/record /' >lines
succeeds "the lines of a file" '^shipped 5000 records$' log_shipping "$host" <lines
wait_for_line server "^5000 records, $(($(wc -c <lines) - 5000)) bytes\$" "${processes[server]}"
problem=''
cmp lines all.log || problem="other bytes"
verdict "the content" "$problem"

succeeds "an empty log" '^shipped 0 records$' log_shipping "$host" </dev/null
succeeds "generated records" '^shipped 5000 records$' log_shipping "$host" --generate 5000

clients=()
for _ in 1 2 3 4; do
  "$programs/log_shipping" "$host" --generate 2000 >/dev/null 2>&1 &
  clients+=($!)
done
vanish log_shipping "$host" --generate 1000000
problem=''
for client in "${clients[@]}"; do
  wait "$client" || problem="a client failed"
done
verdict "four clients beside others that are killed" "$problem"
# This client is killed when records of it have arrived, those of the others being written.
until (($(grep -cE '^[0-9]+ records, ' "$scratch/server.out") >= 7)); do pause 0.05; done
: >before
"$programs/log_shipping" "$host" --generate 1000000 >/dev/null 2>&1 &
client=$!
until [[ all.log -nt before ]] || ! kill -0 "$client" 2>/dev/null; do pause 0.02; done
kill -KILL "$client"
wait "$client" 2>/dev/null
wait_for_line server '^the log ended after [1-9][0-9]* records: ' "${processes[server]}"
problem=''
# A client that is killed before it connects leaves no line.
whole=$(grep -cE '^[0-9]+ records, ' "$scratch/server.out")
[[ $whole -eq 7 ]] || problem="$whole logs were whole, not 7"
verdict "the logs of clients that are killed are not whole" "$problem"
refuses "an input that cannot be read" 1 'the input cannot be read' log_shipping "$host" <.
succeeds "a client after them" '^shipped 10 records$' log_shipping "$host" --generate 10
interrupt server

for delay in 0.02 0.1 0.3; do
  start server log_shipping
  "$programs/log_shipping" "$host" --generate 1000000 >client.out 2>&1 &
  client=$!
  pause "$delay"
  kill -KILL "${processes[server]}"
  status=0
  problem=''
  wait "$client" 2>/dev/null || status=$?
  [[ $status -eq 1 ]] || problem="the client ended with $status"
  # Its port is free when it has ended.
  wait "${processes[server]}" 2>/dev/null
  verdict "a server that is killed after $delay s" "$problem"
done

both_ends_of "$programs/log_shipping" --generate 100
refuses "no server" 1 'ECONNREFUSED|Connection refused|UNREACHABLE|rejected' log_shipping "$host" --generate 1
refuses "a wrong number" 2 'must be a number' log_shipping "$host" --generate x
finish
