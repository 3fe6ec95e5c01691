#!/usr/bin/env bash
# Both ends of file_transfer report every failure in a sentence, also if the other end dies, and no file
# is left behind.
source "$(dirname "$0")/support/file_transfer.bash"

truncate -s "$large" large
start_receiver --once
start_sender large
until_under_way
truncate -s 2000000 large
go_on
end_sender
end_receiver
failed_with "a file that shrinks" 'large shrank while it was sent' \
  'large did not arrive: the sender gave up: large shrank while it was sent'

truncate -s "$large" large
start_receiver --once
start_sender large
until_under_way
echo more >>large
go_on
end_sender
end_receiver
failed_with "a file that grows" 'large grew while it was sent' \
  'large did not arrive: the sender gave up: large grew while it was sent'

truncate -s "$large" large
for end in sender receiver; do
  start_receiver --once
  start_sender large
  until_under_way
  kill -INT "${!end}"
  go_on
  end_sender
  end_receiver
  if [[ $end == sender ]]; then
    failed_with "Ctrl-C at the sender" interrupted 'did not arrive: the sender gave up: interrupted'
  else
    failed_with "Ctrl-C at the receiver" 'the receiver gave up: interrupted' interrupted
  fi
done

start_receiver --once
start_sender large
until_under_way
kill -KILL "$receiver"
end_receiver 2>/dev/null
end_sender
failed_with "a receiver that is killed" 'the receiver is gone' ''
rm -f "$folder"/.file_transfer.*

start_receiver --once
start_sender large
until_under_way
prlimit --pid "$receiver" --fsize=3000000
go_on
end_sender
end_receiver
failed_with "a write that fails" 'the receiver gave up: cannot write large: File too large' \
  'cannot write large: File too large'

if mount -t tmpfs -o size=1m tmpfs "$folder" 2>/dev/null; then
  start_receiver --once
  send large
  end_receiver
  failed_with "a full disk" \
    'the receiver gave up: cannot make room for large: No space left on device' \
    'cannot make room for large: No space left on device'
  umount "$folder"
else
  skip_case "file_transfer to a full disk" "this machine lets nothing be mounted"
fi

refuses "no receiver" 1 'rdma_connect .*nothing listens on that port' \
  file_transfer send large --to "$address"
refuses "no such host" 1 'getaddrinfo on no.such.host.invalid:[0-9]+: ' \
  file_transfer send large --to no.such.host.invalid
refuses "no such file" 1 'cannot open absent: No such file' \
  file_transfer send absent --to "$address"
mkfifo pipe
refuses "no file at all" 1 'pipe is not a regular file' file_transfer send pipe --to "$address"
refuses "no folder" 1 'cannot open the folder absent: No such file' file_transfer receive -d absent
refuses "an address that is none" 2 '--address takes a numeric address' \
  file_transfer receive -a nowhere

finish
