#!/usr/bin/env bash
# Runs the code blocks of the documents that can run: the fragments, the programs, which print what
# the page states, and the shell scripts, which find the examples in the PATH.
set -u
cd "${ADVERB_PROGRAMS:?}" || exit 1
PATH=$PWD/../../examples:$PATH
status=0
while read -r kind name expected; do
  case $kind in
    program) printed=$(./"$name" 2>&1) && [[ $printed == "$expected" ]] ;;
    script) printed=$(bash -eu "blocks/$name.sh" 2>&1) ;;
    fragments) printed=$(./fragments 2>&1) ;;
  esac || {
    status=1
    printf '%s %s failed' "$kind" "$name"
    [[ $expected ]] && printf ', or printed something else than "%s"' "$expected"
    printf ':\n'
  }
  printf '%s\n' "$printed"
done <to_run
exit "$status"
