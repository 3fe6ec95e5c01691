#!/usr/bin/env bash
# devices prints the same as ibv_devinfo.
source "$(dirname "$0")/../support/harness.bash"

"$programs/devices" -v >"$scratch/ours.out" || exit
ibv_devinfo -v >"$scratch/theirs.out" || exit

# In the shell itself: a process for each value would take most of the time.
mapfile -t ours <"$scratch/ours.out"
mapfile -t theirs <"$scratch/theirs.out"

# value_in PREFIX LINE…: sets `value` to what follows the prefix in the first line that begins with it and a
# space, tab or colon. White space before a line or a value is no part of it.
value_in() {
  local prefix=$1 line
  value=''
  shift
  for line in "$@"; do
    line=${line#"${line%%[![:space:]]*}"}
    [[ $line == "$prefix"[:[:space:]]* ]] || continue
    value=${line#"$prefix"}
    value=${value#:}
    value=${value#"${value%%[![:space:]]*}"}
    return
  done
}

# agrees ROW ENTRY: the value of our row (the first, where several have its name) is that of an
# entry of theirs.
agrees() {
  local value our problem=''
  value_in "$1" "${ours[@]}"
  our=$value
  value_in "$2" "${theirs[@]}"
  if [[ -z $our || $our != "$value" ]]; then problem="ours is '$our', theirs '$value'"; fi
  verdict "$1" "$problem"
}

agrees "firmware" fw_ver
agrees "node GUID" node_guid
agrees "system image GUID" sys_image_guid
agrees "vendor" vendor_id
agrees "part" vendor_part_id
agrees "hardware version" hw_ver
agrees "completion vectors" num_comp_vectors
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
agrees "elements in an RDMA read" max_sge_rd
agrees "reads and atomics at once, from a pair" max_qp_init_rd_atom
agrees "reads and atomics at once, in all" max_res_rd_atom
agrees "memory windows" max_mw
agrees "elements in a shared receive" max_srq_sge
agrees "multicast groups" max_mcast_grp
agrees "queue pairs in a multicast group" max_mcast_qp_attach
agrees "multicast attachments" max_total_mcast_qp_attach
agrees "raw IPv6 queue pairs" max_raw_ipv6_qp
agrees "raw Ethertype queue pairs" max_raw_ethy_qp
agrees "fast memory regions" max_fmr
agrees "EE contexts" max_ee
agrees "reliable datagram domains" max_rdd
agrees "code of the acknowledge delay" local_ca_ack_delay
agrees "bytes in such a message" max_tso
agrees "indirection tables" max_rwq_indirection_tables
agrees "work queues in a table" max_rwq_indirection_table_size
agrees "work queues for receiving" max_wq_type_rq
agrees "code of the subnet timeout" subnet_timeout
agrees "initialization type reply" init_type_reply
agrees "service level of the subnet manager" sm_sl

# Our list has as many names as theirs has bits; it lacks names for those above the 32nd.
bits=$(sed -n 's/^[[:space:]]*device_cap_flags_ex:[[:space:]]*//p' "$scratch/theirs.out")
their_flags=0
for ((rest = ${bits:?}; rest != 0; rest &= rest - 1)); do ((++their_flags)); done
our_flags=$(sed -n '/^    device  /,/^    page sizes/p' "$scratch/ours.out" | sed '$d' | wc -l)
verdict "capabilities of the device" \
  "$([[ $our_flags -eq $their_flags && $our_flags -gt 0 ]] ||
    echo "ours has $our_flags, theirs $their_flags")"

# GID[  1]: ::ffff:10.1.0.1, RoCE v2
while read -r index value; do
  problem=''
  grep -qE "^    GID $index +$value on [a-z0-9]+$" "$scratch/ours.out" ||
    problem="ours has no GID $index, $value, with its network interface"
  verdict "GID $index" "$problem"
done < <(sed -n 's/^[[:space:]]*GID\[ *\([0-9]*\)\]:[[:space:]]*/\1 /p' "$scratch/theirs.out")

"$programs/devices" -v "${SOFTRDMA_DEVICE:?}" >"$scratch/named.out"
verdict "one device by its name" \
  "$(diff "$scratch/ours.out" "$scratch/named.out" >/dev/null || echo "it is told otherwise")"

"$programs/devices" >"$scratch/short.out"
verdict "without -v it is short" \
  "$([[ $(wc -l <"$scratch/short.out") -lt 30 ]] && grep -q '^    state *active$' "$scratch/short.out" ||
    echo "it is not")"
finish
