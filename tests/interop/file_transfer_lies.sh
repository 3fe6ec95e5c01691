#!/usr/bin/env bash
# A sender's message that breaks the protocol gets an answer, and no file.
source "$(dirname "$0")/support/file_transfer.bash"

# lied_to LIE PATTERN: the receiver notices, answers with a failure, and keeps nothing.
lied_to() {
  start_receiver --once
  sender_status=0
  "$programs/../tests/interop/file_transfer_liar" "$1" "$address" \
    2>"$scratch/sender.out" || sender_status=$?
  end_receiver
  fails_with sender 1 "$sender_status" file_transfer_liar "the receiver gave up: $2"
  verdict "the lie '$1' is answered" "$problem"
  failed_with "the lie '$1'" '' "$2"
}
lied_to checksum 'the checksum of file is wrong: the received bytes differ from the sent ones'
lied_to path '"../evil" is not the plain name of a file'
lied_to parent '"[.][.]" is not the plain name of a file'
lied_to nameless '"" is not the plain name of a file'
lied_to terminal '"a[?].2Jb" is not the plain name of a file'
lied_to more 'the sender sent other data than it announced'
lied_to huge 'cannot make room for file: No space left on device'
lied_to order 'the sender sent a message out of turn'
lied_to malformed 'the peer sent a malformed message'
start_receiver --once
sender_status=0
"$programs/../tests/interop/file_transfer_liar" version "$address" \
  2>"$scratch/sender.out" || sender_status=$?
end_receiver
fails_with sender 1 "$sender_status" file_transfer_liar 'this file_transfer uses another protocol version'
verdict "a sender of another version is told so" "$problem"
failed_with "a sender of another version" '' 'refused a program with another protocol version'

start_receiver --once
rping -c -C 1 -a "$address" -p 7472 >"$scratch/rping.txt" 2>&1
end_receiver
sender_status=1
failed_with "a program of another kind" '' 'refused a program with another protocol version'
finish
