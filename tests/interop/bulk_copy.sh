#!/usr/bin/env bash
# bulk_copy copies files and generated data whole, and each end reports the failure of the other.
source "$(dirname "$0")/support/async.bash"
cd "$scratch" || exit

# ends NAME STATUS PATTERN: the receiver has ended so, and printed such a line.
ends() {
  local status=0 problem=''
  wait "${processes[receiver]}" || status=$?
  [[ $status -eq $2 ]] || problem="it ended with $status"
  verdict "$1, the receiver" "$problem"
  prints receiver "$3"
}

for size in 0 1 1048576 5000001; do
  head -c "$size" /dev/urandom >from
  rm -f into
  start receiver bulk_copy --into into
  succeeds "a file of $size bytes" '^sent from: .* checksum [0-9a-f]{16}$' bulk_copy "$host" from
  ends "a file of $size bytes" 0 '^received into: .* checksum [0-9a-f]{16}$'
  problem=''
  cmp from into || problem="it arrived with other bytes"
  verdict "the content of $size bytes" "$problem"
done

start receiver bulk_copy
succeeds "64 MiB" '^sent generated data: 64.0 MiB in ' bulk_copy "$host" --generate 64
ends "64 MiB" 0 '^received data: 64.0 MiB in '

start receiver bulk_copy --limit 3
refuses "data that are too long" 1 'the receiver refused: the data are longer than --limit' \
  bulk_copy "$host" from
ends "data that are too long" 1 '^bulk_copy: the data are longer than --limit$'
start receiver bulk_copy --into into
refuses "a file that exists" 1 'the receiver refused: into already exists' bulk_copy "$host" from
ends "a file that exists" 1 '^bulk_copy: into already exists$'
start receiver bulk_copy --into nowhere/into
refuses "no folder" 1 'the receiver refused: cannot create nowhere/into.part: No such file' \
  bulk_copy "$host" from
ends "no folder" 1 '^bulk_copy: cannot create nowhere/into.part: No such file'

truncate -s 200000000 large
# under_way: a copy of which some has arrived. Its receiver is stopped until go_on.
under_way() {
  rm -f into
  start receiver bulk_copy --into into
  "$programs/bulk_copy" "$host" large >sender.out 2>&1 &
  sender=$!
  until [[ -s into.part || -e into ]] || ! kill -0 "$sender" 2>/dev/null; do pause 0.01; done
  kill -STOP "${processes[receiver]}"
}
go_on() {
  kill -CONT "${processes[receiver]}"
}
# leaves_nothing NAME STATUS PATTERN: the sender has ended so, and the receiver has no file.
leaves_nothing() {
  local status=0 problem=''
  wait "$sender" 2>/dev/null || status=$?
  [[ $status -eq $2 ]] || problem="it ended with $status"
  verdict "$1, the sender" "$problem"
  [[ -z $3 ]] || prints sender "$3"
  problem=''
  [[ ! -e into && ! -e into.part ]] || problem="a file is left"
  verdict "$1 leaves nothing" "$problem"
}
under_way
kill -INT "$sender"
go_on
ends "Ctrl-C at the sender" 1 'ECONNRESET|the sender has withdrawn the message'
leaves_nothing "Ctrl-C at the sender" 130 ''
under_way
kill -INT "${processes[receiver]}"
go_on
ends "Ctrl-C at the receiver" 130 '^listening'
leaves_nothing "Ctrl-C at the receiver" 1 '^bulk_copy: (.*ECONNRESET|work request)'
under_way
kill -KILL "$sender"
go_on
ends "a sender that is killed" 1 'ECONNRESET'
leaves_nothing "a sender that is killed" 137 ''
under_way
truncate -s 1000 large
go_on
ends "a file that shrinks" 1 'ECONNRESET|the sender has withdrawn the message'
leaves_nothing "a file that shrinks" 1 '^bulk_copy: large shrank while it was sent$'

refuses "no receiver" 1 'ECONNREFUSED|Connection refused' bulk_copy "$host" from
refuses "no such file" 1 'cannot open absent: No such file' bulk_copy "$host" absent
refuses "a folder" 1 '[.] is not a regular file' bulk_copy "$host" .
refuses "a wrong size" 2 'must be a number' bulk_copy "$host" --generate x
finish
