#!/usr/bin/env bash
# atomics counts in the server's memory, and both sides find what they should.
source "$(dirname "$0")/../support/harness.bash"

for count in 1 200; do
  works "$count additions" "$programs/atomics" -n "$count" -- "$programs/atomics" -n "$count"
  prints client "^fetch-and-add: $count times 3, each returned what the previous one left$"
  prints client "^compare-and-swap: found the expected $((3 * count)) and replaced it$"
  prints client "^compare-and-swap again: found 1000000007 and left it$"
  prints server "^the client left the counter at 1000000007, as expected$"
done
finish
