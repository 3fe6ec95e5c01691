#!/usr/bin/env bash
# xrc_pingpong talks to ibv_xsrq_pingpong, and to itself, where the device has XRC. It reports a device
# without XRC.
source "$(dirname "$0")/../support/harness.bash"
device=${SOFTRDMA_DEVICE:?}

refuses "no clients" 2 '--clients: must be a number from 1 to 1024, not 0' xrc_pingpong -c 0

# A client without a server: it opens its XRC domain first.
"$programs/xrc_pingpong" 127.0.0.1 >"$scratch/client.out" 2>&1
if has_line client 'XRC domains'; then
  for role in "" 127.0.0.1; do
    # shellcheck disable=SC2086 # The server has no argument.
    refuses "no XRC, ${role:-server}" 1 "on $device: EOPNOTSUPP .*; $device has no XRC domains$" \
      xrc_pingpong $role
  done
  skip_case "xrc_pingpong" "$device has no XRC"
  finish
fi

ours=("$programs/xrc_pingpong")
theirs=(ibv_xsrq_pingpong -d "$device" -g "$gid_index")
for arguments in "-n 5" "-n 20 -s 65536" "-n 20 -e"; do
  read -ra each <<<"$arguments"
  works "theirs serves ours, $arguments" "${theirs[@]}" "${each[@]}" -- "${ours[@]}" "${each[@]}"
  works "ours serves theirs, $arguments" "${ours[@]}" "${each[@]}" -- "${theirs[@]}" "${each[@]}"
  works "ours serves ours, $arguments" "${ours[@]}" "${each[@]}" -- "${ours[@]}" "${each[@]}"
done
finish
