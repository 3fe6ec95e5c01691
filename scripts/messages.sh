# shellcheck shell=bash
# Sourced by the other scripts: how they speak to whoever runs them.

# say TEXT: one step of the work.
say() {
  printf '\n== %s\n' "$*" >&2
}

# die TEXT: the sentence that says what is wrong and what to do about it.
die() {
  printf '%s: %s\n' "$0" "$*" >&2
  exit 1
}

# usage: prints the comment at the head of the script, which is its help.
usage() {
  awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"
}
