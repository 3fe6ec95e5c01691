#!/usr/bin/env bash
# Four ranks of mpi_all_to_all on one machine get each byte in both ways to connect, and a rank that
# fails or dies ends the job.
source "$(dirname "$0")/../support/harness.bash"

if [[ ! -e $programs/mpi_all_to_all || $(mpirun --version 2>/dev/null) != *"Open MPI"* ]]; then
  skip_case "mpi_all_to_all" "Open MPI is not installed"
  exit 0
fi
mpi=(mpirun --allow-run-as-root --oversubscribe --mca pml ob1 --mca btl tcp,self)
program=$programs/mpi_all_to_all

# job NAME STATUS PATTERN ARGUMENT…: mpirun ends with such a status, and prints such a line.
job() {
  local status=0 problem=''
  "${mpi[@]}" "${@:4}" </dev/null >"$scratch/job.out" 2>&1 || status=$?
  if [[ ! $status =~ ^($2)$ ]]; then
    problem="mpirun ended with $status, not $2"
  elif ! has_line job "$3"; then
    problem="there is no line '$3'"
  fi
  verdict "$1" "$problem"
  rm "$scratch/job.out"
}

right='in [0-9.]+ s; each byte is right$'
job "endpoints" 0 "^4 ranks wrote 9830400 bytes $right" -n 4 "$program" -n 200
job "librdmacm, with one slot and an odd size" 0 "^3 ranks wrote 3000030 bytes $right" \
  -n 3 "$program" --connect cm -n 5 -s 100001 --slots 1

# Each rank has its own options. (The mpirun of Open MPI 5.0.7 does not survive a colon.)
seed='exec "$0" --seed $OMPI_COMM_WORLD_RANK'
job "other bytes than expected" 1 '^mpi_all_to_all: byte [0-9]+ of entry 0 from rank [01] is wrong$' \
  -n 2 bash -c "$seed" "$program"
size='exec "$0" --size $((100 << OMPI_COMM_WORLD_RANK)) --slots $((20 >> OMPI_COMM_WORLD_RANK))'
job "entries of other sizes" 1 '^mpi_all_to_all: rank [01] has entries of [0-9]+ bytes, not of [0-9]+$' \
  -n 2 bash -c "$size" "$program"
job "too many slots" 1 '^mpi_all_to_all: ibv_create_qp on .*; max_recv_wr is [0-9]+, the device allows [0-9]+$' \
  -n 2 "$program" --slots 1048576
job "a single rank" 2 '^mpi_all_to_all: a single rank has no peers; use mpirun -n 2$' -n 1 "$program"

killed='((OMPI_COMM_WORLD_RANK != 1)) || (sleep 2; kill -KILL $$) & exec "$0" --rounds 1000000000'
# Another rank may notice before mpirun does.
job "a rank that is killed" '137|1' 'signal 9 \(Killed\)|^mpi_all_to_all: ' -n 3 bash -c "$killed" "$program"

refuses "no bytes" 2 '--size: must be a number from 1 to 2147483648, not 0' mpi_all_to_all -s 0
refuses "no such way to connect" 2 '--connect: must be endpoints or cm, not tcp' mpi_all_to_all -c tcp
finish
