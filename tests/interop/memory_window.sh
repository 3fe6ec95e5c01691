#!/usr/bin/env bash
# memory_window writes through windows of every size, and only as long as they are granted.
source "$(dirname "$0")/../support/harness.bash"

for size in 1 4096 1048576; do
  works "$size bytes" "$programs/memory_window" -s "$size" -- "$programs/memory_window" -s "$size"
  prints client "^wrote $size bytes and gave the window back$"
  prints client "^wrote $size bytes until the window was taken back$"
  prints client '^a write after that was refused$'
  prints server "^the client wrote $size bytes and gave the window back$"
  prints server "^the client wrote $size bytes and the window was taken back$"
  prints server '^nothing was written after that$'
done
finish
