# shellcheck shell=bash
# Sourced by the tests that are shell scripts: runs programs against each other, and counts what fails.
# Starting a process is slow where processors are emulated, so the shell does what it can by itself.
set -u

programs=${ADVERB_PROGRAMS:?"the folder of the programs that are tested"}
PATH=$PATH:/usr/sbin:/sbin
# The index of the GID that the device sends from: rdma-core's programs do not find it by
# themselves.
gid_index=${SOFTRDMA_GID_INDEX:?"softrdma/run says what the device is like"}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Nothing is ever to be read from here.
exec {silence}<> <(:)
passed=0
failed=0

pause() {
  read -r -t "$1" -u "$silence"
}

# verdict NAME PROBLEM: counts a case, which has passed if there is no problem. Prints the problem
# with the output of the programs.
verdict() {
  if [[ -z $2 ]]; then
    passed=$((passed + 1))
    return
  fi
  failed=$((failed + 1))
  printf 'FAILED: %s: %s\n' "$1" "$2"
  local output name lines
  for output in "$scratch"/*.out; do
    name=${output##*/}
    mapfile -t lines <"$output"
    if ((${#lines[@]})); then printf "  ${name%.out}: %s\n" "${lines[@]}"; fi
  done
}

# If a program waits for ever, support/each_script ends this script.
trap 'verdict "the case after $passed" "no end in line ${BASH_LINENO[*]}"; jobs -l; finish' TERM

# The end of every test.
finish() {
  printf '%d cases passed, %d failed\n' "$passed" "$failed"
  [[ $failed -eq 0 && $passed -gt 0 ]]
  exit
}

# skip_case NAME WHY: counted and shown by tests/run.
skip_case() {
  echo "adverb-skip: interop: $1: $2"
}

# is_listening PORT: whether anyone listens on the TCP port.
is_listening() {
  local port table local_address state
  printf -v port '%04X' "$1"
  for table in /proc/net/tcp /proc/net/tcp6; do
    while read -r _ local_address _ state _; do
      if [[ $state == 0A && ${local_address##*:} == "$port" ]]; then return 0; fi
    done <"$table"
  done 2>/dev/null
  return 1
}

# wait_until_listening PROCESS [PORT]: until someone listens on the port, or the process has ended.
wait_until_listening() {
  until is_listening "${2:-18515}"; do
    kill -0 "$1" 2>/dev/null || return 0
    pause 0.01
  done
}

# run_both SERVER… -- CLIENT…: both ends, the client with the address of the server behind its
# arguments ($host, if set). Sets server_status and client_status.
run_both() {
  local server=()
  while [[ $1 != -- ]]; do
    server+=("$1")
    shift
  done
  shift
  : >"$scratch/server.out" >"$scratch/client.out"
  "${server[@]}" >"$scratch/server.out" 2>&1 &
  local process=$!
  wait_until_listening "$process"
  server_status=0
  while true; do
    client_status=0
    "$@" "${host:-127.0.0.1}" >"$scratch/client.out" 2>&1 || client_status=$?
    # A server of others may start more slowly than our client has patience.
    [[ ${silent_server:-} && $client_status -ne 0 ]] || break
    has_line client 'nothing listens|ECONNREFUSED' && kill -0 "$process" 2>/dev/null || break
  done
  # A server whose client failed may have nobody to wait for.
  if [[ $client_status -ne 0 && ! ${patient:-} ]]; then kill "$process" 2>/dev/null; fi
  wait "$process" || server_status=$?
}

# has_line END PATTERN: whether what a client or server printed has a line that matches.
has_line() {
  local line
  while IFS= read -r line; do
    if [[ $line =~ $2 ]]; then return 0; fi
  done <"$scratch/$1.out"
  return 1
}

# wait_for_line END PATTERN PROCESS: until one of them has printed such a line, or has ended.
wait_for_line() {
  until has_line "$1" "$2"; do
    kill -0 "$3" 2>/dev/null || return 0
    pause 0.02
  done
}

# works NAME SERVER… -- CLIENT…: both ends end well, and neither finds fault with what it got.
works() {
  local name=$1 problem=''
  shift
  run_both "$@"
  if [[ $client_status -ne 0 || $server_status -ne 0 ]]; then
    problem="client ended with $client_status, server with $server_status"
  elif has_line client 'invalid data' || has_line server 'invalid data'; then
    problem="wrong bytes were received"
  fi
  verdict "$name" "$problem"
}

# prints END PATTERN: what the last client or server printed has a line that matches.
prints() {
  local problem=''
  has_line "$1" "$2" || problem="the $1 did not print '$2'"
  verdict "what the $1 prints" "$problem"
}

# both_ends_of PROGRAM ARGUMENT…: our example works with both its ends started by one command. Their
# output is `both`.
both_ends_of() {
  local problem=''
  "$(dirname "${BASH_SOURCE[0]}")/../../examples/both_ends" "$@" \
    >"$scratch/both.out" 2>&1 || problem="it failed"
  verdict "both ends by one command" "$problem"
}

# fails_with END STATUS ACTUAL PROGRAM PATTERN: whether a failure was reported rightly: with this
# exit status, and one sentence that begins with the program's name and matches the pattern. The
# program's ordinary output, which is indented, may precede it. Sets `problem`.
fails_with() {
  local end=$1 status=$2 actual=$3 program=$4 pattern=$5 line sentences=()
  problem=''
  while IFS= read -r line; do
    if [[ $line != ' '* ]]; then sentences+=("$line"); fi
  done <"$scratch/$end.out"
  if [[ $actual -ne $status ]]; then
    problem="the exit status is $actual, not $status"
  elif [[ ${#sentences[@]} -ne 1 ]]; then
    problem="there are ${#sentences[@]} sentences"
  elif [[ ${sentences[0]} != "$program: "* ]]; then
    problem="the sentence does not begin with the program's name"
  elif [[ ! ${sentences[0]} =~ $pattern ]]; then
    problem="the sentence does not say '$pattern'"
  fi
}

# collect NAME PROCESS PATTERN FILE PROGRAM: a program in the background, which writes to that file of
# $scratch, fails with status 1 and one sentence.
collect() {
  local status=0 problem
  wait "$2" || status=$?
  mv "$scratch/$4" "$scratch/$4.out"
  fails_with "$4" 1 "$status" "$5" "$3"
  verdict "$1" "$problem"
  rm "$scratch/$4.out"
}

# refuses NAME STATUS PATTERN PROGRAM ARGUMENT…: the program fails with one sentence. It is run by
# the command in $prefix, if there is one.
prefix=()
refuses() {
  local name=$1 status=$2 pattern=$3 program=$4 actual=0 problem
  shift 4
  "${prefix[@]}" "$programs/$program" "$@" >"$scratch/program.out" 2>&1 || actual=$?
  fails_with program "$status" "$actual" "$program" "$pattern"
  verdict "$name" "$problem"
  rm -f "$scratch/program.out"
}
