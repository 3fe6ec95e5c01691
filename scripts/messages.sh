# shellcheck shell=bash
# Sourced by the other scripts: how they speak to whoever runs them, and wait for each other.

# say TEXT: one step of the work.
say() {
  printf '\n== %s\n' "$*" >&2
}

# die TEXT: the sentence that says what is wrong and what to do about it.
die() {
  printf '%s: %s\n' "$0" "$*" >&2
  exit 1
}

# misused TEXT: the sentence about a command line that cannot be right.
misused() {
  printf '%s: %s; --help shows how it is used\n' "$0" "$*" >&2
  exit 2
}

# usage: prints the comment at the head of the script, which is its help.
usage() {
  awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"
}

# lock FILE: blocks until no other script holds the lock. The script and the processes that it starts
# hold it until they end, or until unlock.
lock() {
  mkdir -p "$(dirname "$1")"
  exec {lock}>"$1"
  flock -n "$lock" && return
  say "Waiting for another run, which holds $1"
  flock "$lock"
}

unlock() {
  exec {lock}>&-
}
