# shellcheck shell=bash
# Sourced by the tests of arguments.
source "$(dirname "${BASH_SOURCE[0]}")/../../support/harness.bash"

# refuses_argument PATTERN PROGRAM ARGUMENT…
refuses_argument() {
  local pattern=$1
  shift
  refuses "$*" 2 "$pattern" "$@"
}
