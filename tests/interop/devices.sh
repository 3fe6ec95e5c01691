#!/usr/bin/env bash
# devices says the same as ibv_devinfo.
source "$(dirname "$0")/support/harness.bash"

"$programs/devices" >"$scratch/ours.out" || exit
ibv_devinfo -v >"$scratch/theirs.out" || exit

# agrees ROW ENTRY: the value of our row (the first, where several have its name) is that of an
# entry of theirs.
agrees() {
  local ours theirs problem=''
  ours=$(sed -n "s/^    $1  *//p" "$scratch/ours.out" | head -n 1)
  theirs=$(sed -n "s/^[[:space:]]*$2:[[:space:]]*//p" "$scratch/theirs.out" | head -n 1)
  if [[ -z $ours || $ours != "$theirs" ]]; then problem="ours is '$ours', theirs '$theirs'"; fi
  verdict "$1" "$problem"
}

agrees "firmware" fw_ver
agrees "node GUID" node_guid
agrees "system image GUID" sys_image_guid
agrees "ports" phys_port_cnt
agrees "link layer" link_layer
agrees "partition keys" pkey_tbl_len
agrees "GIDs, at most" gid_tbl_len
agrees "queue pairs" max_qp
agrees "work requests in a queue" max_qp_wr
agrees "elements in a work request" max_sge
agrees "reads and atomics at once, to a pair" max_qp_rd_atom
agrees "completion queues" max_cq
agrees "completions in a queue" max_cqe
agrees "memory regions" max_mr
agrees "protection domains" max_pd
agrees "address handles" max_ah
agrees "shared receive queues" max_srq
agrees "receives in a shared queue" max_srq_wr
agrees "multicast groups" max_mcast_grp

# GID[  1]: ::ffff:10.1.0.1, RoCE v2
while read -r index value; do
  problem=''
  grep -qE "^    GID $index +$value on [a-z0-9]+$" "$scratch/ours.out" ||
    problem="ours has no GID $index, $value, with its network interface"
  verdict "GID $index" "$problem"
done < <(sed -n 's/^[[:space:]]*GID\[ *\([0-9]*\)\]:[[:space:]]*/\1 /p' "$scratch/theirs.out")

"$programs/devices" "${SOFTRDMA_DEVICE:?}" >"$scratch/named.out"
verdict "one device by its name" \
  "$(diff "$scratch/ours.out" "$scratch/named.out" >/dev/null || echo "it is told otherwise")"
finish
