# shellcheck shell=bash
# Sourced by the other scripts: messages, the folder of the build trees, locks and temporary folders.

script=$(realpath "$0")
# The folder of the build trees.
builds=${ADVERB_BUILD:-$(realpath -m "${BASH_SOURCE[0]}/../../build")}

# `say TEXT` prints one step of the work.
say() {
  printf '\n== %s\n' "$*" >&2
}

# `die TEXT` prints the failure and its remedy, and ends the script.
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
  awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$script"
}

# lock NAME: blocks until no other script holds the lock. The script and the processes that it starts
# hold it until they end, or until unlock.
lock() {
  [[ $builds == /* ]] || misused "ADVERB_BUILD is not an absolute path: $builds"
  { mkdir -p "$builds" && [[ -w $builds ]]; } 2>/dev/null ||
    die "$builds cannot be written; ADVERB_BUILD can name another folder for the build trees"
  exec {lock}>"$builds/$1.lock"
  flock -n "$lock" && return
  say "Waiting for another run, which holds $builds/$1.lock"
  flock "$lock"
}

unlock() {
  exec {lock}>&-
}

# exit_on_signals: the script also runs its trap of EXIT when a signal ends it.
exit_on_signals() {
  trap 'exit 130' INT
  trap 'exit 143' TERM
  trap 'exit 129' HUP
}

# make_work [PARENT]: sets $work to a new folder in PARENT (default: $TMPDIR or /tmp), which is removed
# when the script ends.
make_work() {
  work=$(mktemp -d ${1:+--tmpdir="$1"})
  trap 'rm -rf "$work"' EXIT
  exit_on_signals
}
