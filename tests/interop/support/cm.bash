# shellcheck shell=bash
# Sourced by the tests of the programs whose connections librdmacm makes.
source "$(dirname "${BASH_SOURCE[0]}")/../../support/harness.bash"

# shellcheck disable=SC2034 # Of run_both.
host=${SOFTRDMA_ADDRESS:?"softrdma/run says what the device is like"}

# wait_until_listening PROCESS: returns when our server has printed that it listens. Other servers print
# nothing, and our clients try again.
wait_until_listening() {
  until has_line server '^listening on '; do
    [[ ${silent_server:-} ]] && return 0
    kill -0 "$1" 2>/dev/null || return 0
    pause 0.01
  done
}

# served_by_theirs NAME SERVER… -- CLIENT…: works, where the server is not ours.
served_by_theirs() {
  local silent_server=yes
  works "$@"
}
