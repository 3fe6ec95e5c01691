#!/usr/bin/env bash
# Arguments that cannot be right anywhere are refused with one sentence and status 2, before a device
# is looked for: this test needs none.
source "$(dirname "$0")/support/arguments.bash"

for program in rc_pingpong uc_pingpong ud_pingpong srq_pingpong one_sided stream memory_window latency; do
  refuses_argument '--size: must be a number from 1 to 2147483648, not 0' "$program" -s 0
done
refuses_argument 'must be a number from .*, not -1' rc_pingpong -s -1
refuses_argument 'must be a number from .*, not 1k' rc_pingpong -s 1k
refuses_argument 'must be a number from .*, not 99999999999999999999' \
  rc_pingpong -s 99999999999999999999
refuses_argument '--size: must be a number from .*, not x' latency -s 2,x

refuses_argument '--iters: must be a number from 1 to .*, not 0' rc_pingpong -n 0
refuses_argument '--iters: must be a number from 1 to .*, not 0' latency -n 0
refuses_argument '--iters: must be a number from 1 to .*, not 0' atomics -n 0
refuses_argument '--rx-depth: must be a number from 1 to .*, not 0' uc_pingpong -r 0
refuses_argument '--port: must be a number from 1 to 65535, not 0' rc_pingpong -p 0
refuses_argument '--port: must be a number from 1 to 65535, not 65536' one_sided -p 65536
refuses_argument '--ib-port: must be a number from 1 to 255, not 0' rc_pingpong -i 0
refuses_argument '--gid-idx: must be a number from 0 to 255, not 256' ud_pingpong -g 256
refuses_argument '--mtu: must be 256, 512, 1024, 2048 or 4096, not 1000' rc_pingpong -m 1000
refuses_argument '--sl: must be a number from 0 to 15, not 16' rc_pingpong -l 16

# Versions of CLI11 differ in the mistake that they name first: each command line has one.
for program in cm_echo cm_server 'cm_client localhost' 'rping -s'; do
  read -ra command <<<"$program"
  refuses_argument '--port: must be a number from 1 to 65535, not 65536' "${command[@]}" -p 65536
done
for program in cm_echo cm_server; do
  refuses_argument '--address: must be an IP address, not nowhere' "$program" -a nowhere
done
refuses_argument 'HOST is required' cm_client
refuses_argument '--address: must be an IP address of this machine, not nowhere' rping -s -a nowhere
refuses_argument '--source: must be an IP address, not nowhere' rping -c -a 127.0.0.1 -I nowhere
refuses_argument '--client requires --address' rping -c
refuses_argument '--server.*--client|role' rping -v
refuses_argument '--server.*--client|role' rping -s -c -a 127.0.0.1
refuses_argument '--size: must be a number from 26 to 65535, not 25' rping -s -S 25
refuses_argument '--count: must be a number from 0 to .*, not -1' rping -s -C -1

refuses_argument 'not expected: --odp; --help lists the options' rc_pingpong --odp
refuses_argument 'not expected: --mtu' ud_pingpong --mtu 1024
refuses_argument 'not expected: two' rc_pingpong one two
refuses_argument '--size: .* missing' rc_pingpong -s
finish
