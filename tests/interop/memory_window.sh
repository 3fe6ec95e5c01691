#!/usr/bin/env bash
# memory_window writes through windows of every size, and only as long as they are granted.
source "$(dirname "$0")/../support/harness.bash"

for size in 1 4096 1048576; do
  works "$size bytes" "$programs/memory_window" -s "$size" -- "$programs/memory_window" -s "$size"
  prints client "^wrote $size bytes and invalidated the window$"
  prints client "^wrote $size bytes until the server invalidated the window$"
  prints client '^the server refused a later write$'
  prints server "^the client wrote $size bytes and invalidated the window$"
  prints server "^the client wrote $size bytes, then the server invalidated the window$"
  prints server '^no later write changed the memory$'
done
finish
