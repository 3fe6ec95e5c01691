#!/usr/bin/env bash
# file_transfer brings files of any size whole, one after the other, and overwrites nothing unasked.
source "$(dirname "$0")/support/file_transfer.bash"

for size in 0 1 $((block - 1)) $block $((block + 1)) 5000000; do
  head -c "$size" /dev/urandom >"of_$size"
  start_receiver --once
  send "of_$size"
  end_receiver
  arrives "a file of $size bytes" "of_$size"
done
problem=''
[[ $(<"$scratch/sender.txt") =~ ^"sent of_5000000: 4.8 MiB in "[0-9.]+" s, "[0-9.]+" "[KMG]?i?B/s,\ checksum\ ([0-9a-f]{32})$ ]] ||
  problem="it printed $(<"$scratch/sender.txt")"
verdict "what the sender prints" "$problem"
problem=''
[[ $(<"$scratch/receiver.txt") == *$'\n'"received of_5000000: "*"checksum ${BASH_REMATCH[1]}" ]] ||
  problem="it printed $(<"$scratch/receiver.txt")"
verdict "what the receiver prints" "$problem"

# Without end: one sender after the other.
start_receiver
send of_0 "$sources/of_5000000" of_1
receiver_status=0
arrives "three files, one by its path" of_0 of_5000000 of_1
send of_1
fails_with sender 1 "$sender_status" file_transfer \
  'the receiver gave up: of_1 already exists: --force overwrites it'
verdict "what is there is not overwritten" "$problem"
sender_status=0
arrives "and stays as it was" of_0 of_5000000 of_1
truncate -s "$large" large
start_sender large
until_under_way
kill -KILL "$sender"
go_on
end_sender 2>/dev/null
wait_for_line receiver 'large did not arrive' "$receiver"
sender_status=0
arrives "the files after a sender was killed" of_0 of_5000000 of_1
send "of_$block"
arrives "the next file" of_0 of_5000000 of_1 "of_$block"
kill -INT "$receiver"
end_receiver
problem=''
has_line receiver '^file_transfer: large did not arrive: the sender is gone' || problem="it does not say so"
verdict "a sender that is killed" "$problem"
problem=''
[[ $receiver_status -eq 1 ]] && has_line receiver '^file_transfer: interrupted$' || problem="it ended with $receiver_status"
verdict "a receiver that waits is interrupted" "$problem"

start_receiver --once --force
echo old >"$folder/of_1"
send of_1
end_receiver
arrives "with --force it is overwritten" of_1

start_receiver --once
start_sender large
until_under_way
pause 1
go_on
end_sender
end_receiver
arrives "a receiver that pauses holds up the sender" large

if command -v script >/dev/null; then
  start_receiver --once
  script -qec "stty cols 100; '$program' send large --to $address" "$scratch/bar.txt" >/dev/null
  sender_status=$?
  end_receiver
  arrives "on a terminal" large
  problem=''
  [[ $(<"$scratch/bar.txt") =~ large\ \[=+\ +\]\ +[0-9]+\ %\ \ [0-9.]+\ [KMG]iB/s\ \ 0:[0-9]{2}\ left ]] ||
    problem="there is no bar"
  verdict "the bar on a terminal" "$problem"
else
  skip_case "file_transfer on a terminal" "script is not installed"
fi
finish
