#!/usr/bin/env bash
# A device, port, GID or limit that cannot be used is named in one sentence with the remedy.
source "$(dirname "$0")/../support/harness.bash"
device=${SOFTRDMA_DEVICE:?}

refuses "no such device" 1 "on nonesuch: .*available: .*$device" rc_pingpong -d nonesuch
refuses "no such device to tell of" 1 "on nonesuch: .*available: .*$device" devices nonesuch
refuses "no such port" 1 "$device:77: .*the device has one port, number 1" uc_pingpong -i 77
refuses "an empty GID" 1 "sgid index 99 is empty; usable: .*$gid_index \(" rc_pingpong -g 99
refuses "an empty GID, for datagrams" 1 "sgid index 99 is empty; usable: " ud_pingpong -g 99

patient=yes
run_both "$programs/rc_pingpong" -g "$gid_index" -n 1 -- "$programs/rc_pingpong" -g 0 -n 1
fails_with server 1 "$server_status" rc_pingpong \
  "sgid index $gid_index is .*, of another address family than the peer's fe80::.*; usable: "
verdict "a GID of another kind than the peer's" "$problem"

# Theirs announces none when it was not given one.
run_both "$programs/rc_pingpong" -n 1 -- ibv_rc_pingpong -n 1
fails_with server 1 "$server_status" rc_pingpong 'the peer announced no GID.*give it the option -g'
verdict "a peer without a GID" "$problem"

another_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if [[ $(id -u) -eq 0 ]] && "${another_user[@]}" test -x "$programs/rc_pingpong" 2>/dev/null; then
  prefix=("${another_user[@]}" bash -c 'ulimit -l 64; exec "$@"' -)
  refuses "memlock limit" 1 \
    'ibv_reg_mr .*1000000 bytes were requested, .*may lock 65536 .*memlock in /etc/security/limits.conf' \
    rc_pingpong -s 1000000
  prefix=()
else
  skip_case "memlock limit" "this takes root, setpriv, and programs that another user can read"
fi

# The next cases remove the device, which is allowed in a guest only.
if [[ ! -d /run/softrdma ]]; then
  skip_case "port down, no device" "this device is not ours to take down"
  finish
fi

flags=/sys/class/net/${SOFTRDMA_INTERFACE:?}/flags
up=$(<"$flags")
printf '0x%x\n' $((up & ~1)) >"$flags"
for program in {rc,uc,ud,srq}_pingpong one_sided stream atomics memory_window latency multicast; do
  refuses "port down, $program" 1 "port 1 of $device is down, not active: bring " "$program"
done
echo "$up" >"$flags"

if command -v rdma >/dev/null; then
  rdma link delete "$device"
  for program in devices rc_pingpong ud_pingpong one_sided; do
    refuses "no device, $program" 1 '/sys/class/infiniband_verbs lists no RDMA device: .*"rdma link add' "$program"
  done
else
  skip_case "no device" "this takes rdma, of iproute2"
fi
finish
