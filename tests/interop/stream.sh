#!/usr/bin/env bash
# stream sends more blocks than its window and the receive queue hold, and they arrive as they were.
source "$(dirname "$0")/../support/harness.bash"

for arguments in "-s 1 -n 1000" "-s 4096 -n 1001" "-s 65536 -n 200" "-n 1"; do
  read -ra options <<<"$arguments"
  works "$arguments" "$programs/stream" "${options[@]}" -- "$programs/stream" "${options[@]}"
  blocks=${arguments##*-n }
  prints client "^  $blocks of $blocks blocks$"
  prints client "^sent $blocks blocks of [0-9]+ bytes in [0-9.]+ s$"
  prints server "^received $blocks blocks; the checksum [0-9a-f]{16} is right$"
done

# Other arguments on the other side: the blocks do not fit, or are fewer than are waited for.
# shellcheck disable=SC2034 # Of run_both.
patient=yes
run_both "$programs/stream" -s 64 -n 10 -- "$programs/stream" -s 65 -n 10
fails_with server 1 "$server_status" stream 'too short'
verdict "blocks that are too long" "$problem"
finish
