#!/usr/bin/env bash
# one_sided writes and reads memory of every size, while the server does nothing.
source "$(dirname "$0")/../support/harness.bash"

for size in 1 4096 65536 8388608; do
  works "$size bytes" "$programs/one_sided" -s "$size" -- "$programs/one_sided" -s "$size"
  prints client "^wrote $size bytes$"
  prints client "^all $size bytes that were read back are right$"
  prints server "^all $size bytes that the client wrote are right$"
  prints server "^the client is done; this took [0-9.]+ ms of the server's processor time$"
done
finish
