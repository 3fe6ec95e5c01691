#!/usr/bin/env bash
# cm_client and cm_server talk to rdma_server and rdma_client, and to each other.
source "$(dirname "$0")/support/cm.bash"

works "ours serves ours" "$programs/cm_server" -- "$programs/cm_client"
prints client "^received 16 bytes from $host:7471$"
prints server "^received 16 bytes from $host:[0-9]+$"
served_by_theirs "theirs serves ours" rdma_server -- "$programs/cm_client"
prints client "^received 16 bytes from $host:7471$"
works "ours serves theirs" "$programs/cm_server" -- rdma_client -s
prints server "^received 16 bytes from $host:[0-9]+$"

works "ours serves theirs, on another port of one address" "$programs/cm_server" -p 7500 -a "$host" \
  -- rdma_client -p 7500 -s
served_by_theirs "theirs serves ours, on another port of one address" rdma_server -p 7500 -s "$host" \
  -- "$programs/cm_client" -p 7500 -a "$host"
finish
