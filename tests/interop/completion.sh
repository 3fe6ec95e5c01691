#!/usr/bin/env bash
# examples/completion.bash completes the options of an example, and of a command of one. This test needs
# no device.
source "$(dirname "$0")/../support/harness.bash"
source "$(dirname "$0")/../../examples/completion.bash"

# completes EXPECTED PROGRAM WORD…: the options that complete the last word.
completes() {
  local expected=$1 problem=''
  shift
  COMP_WORDS=("$programs/$1" "${@:2}") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  [[ $(complete -p "$1") == *' -F _adverb_options '* ]] || problem="nothing completes $1"
  _adverb_options "$programs/$1" "${!#}"
  [[ ${COMPREPLY[*]} == "$expected" ]] || problem="instead of '$expected': '${COMPREPLY[*]}'"
  verdict "$*" "$problem"
}
completes '--ib-dev --ib-port --iters' latency --i
completes '--version' latency --size 2 --v
completes '--port' file_transfer send --p
completes '' file_transfer --p
completes '' latency h
completes '' latency --no-such
finish
